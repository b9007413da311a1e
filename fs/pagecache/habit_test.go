package pagecache

import (
	"strings"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

func TestHabit(t *testing.T) {
	const size = 100 << 20
	start := time.Unix(1e9, 0)
	read := func(h *Habit, off, n int64, paged bool) { h.Note(off, n, size, paged, start) }
	for _, tc := range []struct {
		name   string
		reads  func(h *Habit)
		cached bool
	}{
		{"nothing", func(h *Habit) {}, false},
		{"stream once", func(h *Habit) {
			for off := int64(0); off < size; off += 1 << 20 {
				read(h, off, 1<<20, false)
			}
		}, false},
		{"stream twice", func(h *Habit) {
			for off := int64(0); off < 2*size; off += 1 << 20 {
				read(h, off%size, 1<<20, false)
			}
		}, true},
		{"mapped", func(h *Habit) { read(h, 0, 4096, true) }, true},
		{"random, small, each once", func(h *Habit) {
			for i := int64(0); i < 100; i++ {
				read(h, i*7919*4096%size, 4096, false)
			}
		}, false},
		{"the same small runs", func(h *Habit) {
			for i := int64(0); i < 100; i++ {
				read(h, i%16*7919*4096%size, 4096, false)
			}
		}, true},
	} {
		h := &Habit{}
		tc.reads(h)
		direct := flagsOf(h, IOAuto, "1")&fuse.FOPEN_DIRECT_IO != 0
		if direct == tc.cached {
			t.Errorf("%s: direct = %v, want cached = %v", tc.name, direct, tc.cached)
		}
	}
}

// flagsOf opens without a materialised file.
func flagsOf(h *Habit, mode IO, now string) uint32 {
	_, _, flags := h.Opened(mode, now, nil, false)
	return flags
}

func TestHabitForgets(t *testing.T) {
	h := &Habit{}
	start := time.Unix(1e9, 0)
	h.Note(0, 4096, 1<<30, true, start)
	h.Note(0, 4096, 1<<30, false, start.Add(HabitWindow/2))
	if !h.cached {
		t.Error("forgot a mapping within the window")
	}
	h.Note(0, 1<<20, 1<<30, false, start.Add(2*HabitWindow))
	if h.cached {
		t.Error("still cached after the window, with no page read")
	}
}

func TestKeepCache(t *testing.T) {
	for _, tc := range []struct{ name, do, want string }{
		// In do, a capital letter opens the file, in that state of its bytes. The small letter is
		// the first READ of the newest such handle. "-" ends the oldest handle, and "m" reads by a
		// mapping.
		{"unchanged", "A m - A - A -", "direct keep keep"},
		{"changed", "A m - A - B b - B - A -", "direct keep cached keep cached"},
		{"changed before the mapping is seen", "A - B m - B", "direct direct keep"},
		{"changed while open", "A m B b - - B b - B", "direct cached cached keep"},
		{"old handle still maps", "A m - A B m B", "direct keep cached cached"},
		{"the kernel has not dropped the pages yet", "A m - B B B b B",
			"direct cached cached cached keep"},
		{"nor those of the state before", "A m - B - C b C c C",
			"direct cached cached cached keep"},
		{"dropped by another open of the same bytes", "A m - B B b - B",
			"direct cached cached keep"},
		{"opened and not read", "A m - B - B - B b B", "direct cached cached cached keep"},
	} {
		if got := playKeeping(tc.do); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// playKeeping does as TestKeepCache describes, and returns how the opens were answered.
func playKeeping(do string) string {
	h, drops := &Habit{}, map[string]string{}
	var got []string
	for _, step := range strings.Fields(do) {
		state := strings.ToUpper(step)
		switch {
		case step == "-":
			h.Released(false)
		case step == "m":
			h.Note(0, 4096, 1<<30, true, time.Unix(1e9, 0))
		case step != state:
			h.NoteDropped(drops[state])
		default:
			flags := flagsOf(h, IOAuto, state)
			drops[state] = state
			switch {
			case flags&fuse.FOPEN_DIRECT_IO != 0:
				got = append(got, "direct")
			case flags&fuse.FOPEN_KEEP_CACHE != 0:
				drops[state] = ""
				got = append(got, "keep")
			default:
				got = append(got, "cached")
			}
		}
	}
	return strings.Join(got, " ")
}

func TestDirectAlways(t *testing.T) {
	h := &Habit{reading: reading{cached: true}}
	if flagsOf(h, IODirect, "A")&fuse.FOPEN_DIRECT_IO == 0 {
		t.Error("--io=direct opens through the page cache")
	}
	h = &Habit{}
	if flagsOf(h, IOCached, "A")&fuse.FOPEN_DIRECT_IO != 0 {
		t.Error("--io=cached passes the page cache by")
	}
}

func TestParseIO(t *testing.T) {
	for _, s := range []string{"auto", "cached", "direct"} {
		if io, err := ParseIO(s); err != nil || string(io) != s {
			t.Errorf("ParseIO(%q) = %q, %v", s, io, err)
		}
	}
	if _, err := ParseIO("fast"); err == nil {
		t.Error("ParseIO takes an unknown mode")
	}
}

// TestRereads checks when a file is worth it.
func TestRereads(t *testing.T) {
	const size, mib = 100 << 20, 1 << 20
	type reads struct{ off, n, count, step int64 }
	for _, tc := range []struct {
		name   string
		reads  []reads
		mapped bool
		want   bool
	}{
		{"once", []reads{{0, mib, 100, mib}}, false, false},
		{"twice", []reads{{0, mib, 100, mib}, {0, mib, 100, mib}}, false, true},
		{"twice, but mapped too", []reads{{0, mib, 100, mib}, {0, mib, 100, mib}}, true, false},
		{"the first half four times", []reads{{0, mib, 50, mib}, {0, mib, 50, mib},
			{0, mib, 50, mib}, {0, mib, 50, mib}}, false, false},
		{"small reads", []reads{{0, 4096, 25600, 4096}, {0, 4096, 25600, 4096}}, false, false},
	} {
		h := &Habit{}
		h.Opened(IOAuto, "A", nil, false)
		for _, r := range tc.reads {
			for i := range r.count {
				h.Note(r.off+i*r.step, r.n, size, false, time.Unix(1e9, 0))
			}
		}
		if tc.mapped {
			h.NoteMapping()
		}
		if got := h.Rereads("A"); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
		if h.Rereads("B") {
			t.Errorf("%s: worth it though it has just changed", tc.name)
		}
	}
	for _, size := range []int64{1, 63, 64, 65, 1 << 20, 1<<20 + 1, 1<<63 - 1} {
		if size >= 1<<20 && parts(0, size, size) != ^uint64(0) {
			t.Errorf("a read of all %d bytes covers %#x", size, parts(0, size, size))
		}
	}
}

package pagecache

import (
	"strings"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// TestModes checks the kernel's rules: no passthrough open beside a handle of another kind, and the
// other way round.
func TestModes(t *testing.T) {
	for _, tc := range []struct{ name, do, want string }{
		// In do, a capital letter opens the file in that state of its bytes, with its materialised
		// file if '+' follows. A small letter ends a handle of that state.
		{"never materialised", "A A a A", "direct direct direct"},
		{"materialised", "A+ A+ a A+", "through through through"},
		{"after another handle", "A A+ a a A+", "direct direct through"},
		{"one of two other handles ends", "A A a A+", "direct direct direct"},
		{"the file is not found, its handles are", "A+ A", "through through"},
		{"changed", "A+ B", "through renewed"},
		{"changed, and materialised again", "A+ B+ B", "through renewed renewed"},
		{"changed, after the last handle", "A+ A+ a a B B b b B+",
			"through through direct direct through"},
		{"changed while direct", "A B B+", "direct direct direct"},
		{"changed back is not possible, but holds", "A+ B A+", "through renewed through"},
	} {
		if got := playModes(tc.do); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// testBacking is a backing file of bytes with this fingerprint.
type testBacking string

func (b testBacking) Fingerprint() string { return string(b) }
func (b testBacking) Use()                {}

// playModes opens and ends handles as TestModes describes, and returns what became of the opens.
func playModes(do string) string {
	h := &Habit{}
	files := map[string]Backing{"A": testBacking("A"), "B": testBacking("B")}
	open := map[string][]bool{} // whether handles pass through
	var got []string
	for _, step := range strings.Fields(do) {
		state, ready := strings.CutSuffix(step, "+")
		if lower := strings.ToUpper(state); lower != state {
			h.Released(open[lower][0])
			open[lower] = open[lower][1:]
			continue
		}
		var m Backing
		if ready {
			m = files[state]
		}
		how, backing, flags := h.Opened(IOAuto, state, m, false)
		switch {
		case how == NewInode:
			got = append(got, "renewed")
			continue
		case how == Passthrough && backing == files[state] && flags&fuse.FOPEN_PASSTHROUGH != 0 &&
			flags&fuse.FOPEN_DIRECT_IO == 0:
			got = append(got, "through")
		case how == AsUsual && flags&fuse.FOPEN_PASSTHROUGH == 0:
			got = append(got, "direct")
		}
		open[state] = append(open[state], how == Passthrough)
	}
	return strings.Join(got, " ")
}

// TestOpenSkipsPageCacheWhileMaterialising checks that an open does not fill the page cache while
// the file is being materialised.
func TestOpenSkipsPageCacheWhileMaterialising(t *testing.T) {
	h := &Habit{reading: reading{cached: true}}
	if _, _, flags := h.Opened(IOAuto, "A", nil, true); flags&fuse.FOPEN_DIRECT_IO == 0 {
		t.Error("fills the page cache")
	}
	if _, _, flags := h.Opened(IOAuto, "A", nil, false); flags&fuse.FOPEN_DIRECT_IO != 0 {
		t.Error("passes the page cache by without need")
	}
}

package fs

import (
	"strings"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// TestModes checks the kernel's rules: no passthrough open beside a handle of another kind, and the other way round.
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
		{"changed, after the last handle", "A+ A+ a a B B b b B+", "through through direct direct through"},
		{"changed while direct", "A B B+", "direct direct direct"},
		{"changed back is not possible, but holds", "A+ B A+", "through renewed through"},
	} {
		if got := playModes(tc.do); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// playModes opens and ends handles as TestModes describes, and returns what became of the opens.
func playModes(do string) string {
	h, table := &habit{}, &materials{}
	files := map[string]*material{"A": {table: table, print: "A", backing: 1}, "B": {table: table, print: "B", backing: 2}}
	open := map[string][]bool{} // whether handles pass through
	var got []string
	for _, step := range strings.Fields(do) {
		state, ready := strings.CutSuffix(step, "+")
		if lower := strings.ToUpper(state); lower != state {
			h.released(open[lower][0])
			open[lower] = open[lower][1:]
			continue
		}
		var m *material
		if ready {
			m = files[state]
		}
		how, backing, flags := h.opened(IOAuto, state, m, false)
		switch {
		case how == renewed:
			got = append(got, "renewed")
			continue
		case how == through && backing == files[state] && flags&fuse.FOPEN_PASSTHROUGH != 0 && flags&fuse.FOPEN_DIRECT_IO == 0:
			got = append(got, "through")
		case how == asUsual && flags&fuse.FOPEN_PASSTHROUGH == 0:
			got = append(got, "direct")
		}
		open[state] = append(open[state], how == through)
	}
	return strings.Join(got, " ")
}

// TestOpenSkipsPageCacheWhileMaterialising checks that an open does not fill the page cache while the file is being materialised.
func TestOpenSkipsPageCacheWhileMaterialising(t *testing.T) {
	h := &habit{cached: true}
	if _, _, flags := h.opened(IOAuto, "A", nil, true); flags&fuse.FOPEN_DIRECT_IO == 0 {
		t.Error("fills the page cache")
	}
	if _, _, flags := h.opened(IOAuto, "A", nil, false); flags&fuse.FOPEN_DIRECT_IO != 0 {
		t.Error("passes the page cache by without need")
	}
}

// throughFS opens every file as a passthrough one, or as a direct one if there is no backing file.
type throughFS struct {
	fuse.RawFileSystem
	notes   *requestNotes
	backing int32
}

func (f throughFS) Open(cancel <-chan struct{}, _ *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	out.OpenFlags = fuse.FOPEN_DIRECT_IO
	if f.backing != 0 {
		out.OpenFlags = passthroughFlags
		f.notes.passTo(&fuse.Context{Cancel: cancel}, f.backing)
	}
	return fuse.OK
}

// TestBackingNumber: the answer to an OPEN has the number of the backing file and the flags that
// the node chose. Nothing of the request stays noted.
func TestBackingNumber(t *testing.T) {
	for backing, flags := range map[int32]uint32{1: passthroughFlags, 1 << 30: passthroughFlags, 0: fuse.FOPEN_DIRECT_IO} {
		var out fuse.OpenOut
		var notes requestNotes
		cancel := make(chan struct{})
		wire{throughFS{fuse.NewDefaultRawFileSystem(), &notes, backing}, &notes}.Open(cancel, &fuse.OpenIn{}, &out)
		if out.BackingID != backing || out.OpenFlags != flags {
			t.Errorf("backing %d: %d, flags %#x", backing, out.BackingID, out.OpenFlags)
		}
		if note := notes.of(&fuse.Context{Cancel: cancel}); note != (requestNote{}) {
			t.Errorf("%+v is noted of a request that has ended", note)
		}
	}
}

package known

import (
	"slices"
	"testing"

	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/writing"
)

// TestMoveAwaited: a .npy whose header is awaited is not open yet, but has data. It gets its
// new path.
func TestMoveAwaited(t *testing.T) {
	var all States
	npy := view.Headed()
	w := writing.New(writing.Mount{}, all.Writings()).Open(func() string { return "g/a" }, nil, npy)
	if all.HasOpen("g/a") || !all.HasData("g/a") || all.HasData("g") {
		t.Error("what is awaited counts as open, or does not count as data")
	}
	if below := all.Below("g"); !slices.Equal(below, []string{"g/a"}) {
		t.Errorf("below the group something is known of %q", below)
	}
	all.MoveAwaited("g/a", "g/b", npy)
	if w.Path() != "g/b" || all.HasData("g/a") || !all.HasData("g/b") {
		t.Errorf("after the move it is at %q", w.Path())
	}
	if n := all.Len(); n != 1 {
		t.Errorf("%d paths have a state, expected 1", n)
	}
}

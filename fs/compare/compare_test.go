package compare_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/compare"
	"github.com/zarrfs/zarrfs/fs/known"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore/hierarchytest"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

var (
	rsync = program.Process{PID: 2, Start: "rsync", Mover: true}
	cp    = program.Process{PID: 3, Start: "cp", Mover: true}
)

// arriving is a file that a program renames onto a view. What else happens while it is compared
// happens at its first read.
type arriving struct {
	*strings.Reader
	meanwhile func()
}

func (a arriving) ReadAt(p []byte, off int64) (int, error) {
	if off == 0 {
		a.meanwhile()
	}
	return a.Reader.ReadAt(p, off)
}

// TestFileWhileAnotherProgramBegins compares a.raw with the array that came by a.npy, while the
// array is cut to no rows. If a program that copies the same array has cut it, the file is to be
// written. If it was any other program, the file differs.
func TestFileWhileAnotherProgramBegins(t *testing.T) {
	ctx := t.Context()
	raw := view.Plain()
	for _, tc := range []struct {
		name     string
		cuts, by bool // the array is cut, by a program that copies it
		has      bool
		err      error
	}{
		{name: "nobody", has: true},
		{name: "a program that copies", cuts: true, by: true},
		{name: "another program", cuts: true, err: syscall.EBUSY},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, _ := hierarchytest.Open(t, memstore.New(), map[string]string{
				"zarr.json": hierarchytest.Group, "a/zarr.json": hierarchytest.Array})
			states := new(known.States)
			f := compare.New(ctx, h, alias.NewTraces(states.Traces()), states.Views())
			arr, err := h.OpenArray(ctx, "a")
			if err != nil {
				t.Fatal(err)
			}
			size := arr.Live().Size()
			f.Made("a", view.Headed(), rsync)
			file := arriving{strings.NewReader(strings.Repeat("\x00", int(size))), func() {
				if tc.by {
					f.Begins("a", raw, cp)
				}
				if tc.cuts {
					if err := arr.SetSize(ctx, 0); err != nil {
						t.Error(err)
					}
				}
			}}
			has, err := f.File(file, size, "a", raw, rsync)
			if has != tc.has || !errors.Is(err, tc.err) {
				t.Errorf("found %v, %v, expected %v, %v", has, err, tc.has, tc.err)
			}
		})
	}
}

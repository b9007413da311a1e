package compare_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/compare"
	"github.com/zarrfs/zarrfs/fs/known"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/zarrcore/hierarchytest"
	"github.com/zarrfs/zarrfs/zarrcore/store"
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
// array is truncated to no rows. If a program that copies the same array did that, the file is to
// be written. If it was any other program, the file differs.
func TestFileWhileAnotherProgramBegins(t *testing.T) {
	ctx := t.Context()
	raw := view.Plain()
	for _, tc := range []struct {
		name     string
		cuts, by bool // the array is truncated, by a program that copies it
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

// lastRead is a store that knows whether the last chunk of the array was opened.
type lastRead struct {
	*memstore.Driver
	opened atomic.Bool
}

func (r *lastRead) Open(ctx context.Context, key string) (store.Object, error) {
	if key == "a/c/1/1" {
		r.opened.Store(true)
	}
	return r.Driver.Open(ctx, key)
}

// TestArrives copies a.npy and then a.raw onto an array of four chunks, 60,000 bytes each. If the
// first file changes the array, the second one is compared with it, otherwise it is written. The
// whole array is read only if the first file begins as the array does.
func TestArrives(t *testing.T) {
	ctx := t.Context()
	head, err := npy.Header("'<i2'", false, []int64{4, 60_000})
	if err != nil {
		t.Fatal(err)
	}
	other, err := npy.Header("'<i2'", false, []int64{60_000, 4})
	if err != nil {
		t.Fatal(err)
	}
	row := strings.Repeat("\x00\x00", 60_000)
	array := strings.NewReplacer("[4, 6]", "[4, 60000]", "[2, 3]", "[2, 30000]").
		Replace(hierarchytest.Array)
	for _, tc := range []struct {
		name    string
		text    string // what comes of a.npy before it changes the array
		changes bool   // it changes the array
		whole   bool   // all of the array is read before that
		with    view.View
	}{
		{"the same", string(head) + row, false, true, nil},
		{"the same beginning", string(head) + row, true, true, view.Headed()},
		{"only a header", string(head), true, true, view.Headed()},
		{"another beginning", string(head) + "x" + row, true, false, view.Headed()},
		{"another shape", string(other) + row, true, false, view.Headed()},
		{"no header", "", true, false, view.Headed()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			driver := &lastRead{Driver: memstore.New()}
			h, _ := hierarchytest.Open(t, driver, map[string]string{
				"zarr.json": hierarchytest.Group, "a/zarr.json": array})
			states := new(known.States)
			f := compare.New(ctx, h, alias.NewTraces(states.Traces()), states.Views())
			running, at := new(compare.Running), func() string { return "a" }
			if c, err := running.Begin(f, at, cp, view.Headed()); c != nil || err != nil {
				t.Fatalf("the first file is compared: %v", err)
			}
			if driver.opened.Load() {
				t.Error("all of the array was read before anything came")
			}
			if tc.text != "" {
				f.Arrives("a", view.Headed(), []byte(tc.text))
			}
			if whole := driver.opened.Load(); whole != tc.whole {
				t.Errorf("all of the array was read: %v, expected %v", whole, tc.whole)
			}
			arr, err := h.OpenArray(ctx, "a")
			if err != nil {
				t.Fatal(err)
			}
			if tc.changes {
				if _, err := arr.Live().WriteAt(ctx, []byte("x"), arr.Live().Size()-1); err != nil {
					t.Fatal(err)
				}
			}
			if with := f.Begins("a", view.Plain(), cp); with != tc.with {
				t.Errorf("a.raw is compared with %v, expected %v", with, tc.with)
			}
		})
	}
}

package fs

import (
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/texts"
	"github.com/zarrfs/zarrfs/zarrcore/hierarchytest"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// TestLinesOnFullDisk writes lines to a store that has no room. They are kept after the last close,
// can be read, and are stored when there is room: by the next fsync, by umount, or by themselves.
// If the mount ends before, they are in a file.
func TestLinesOnFullDisk(t *testing.T) {
	const want = "\"new\"\n\"lines\"\n"
	for _, c := range []struct {
		name string
		// what happens when nobody has the file open any more
		end func(t *testing.T, f *filesystem, room func())
	}{
		{"fsync", func(t *testing.T, f *filesystem, room func()) {
			w := openLines(t, f)
			if err := w.Take(true); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("fsync without room: %v", err)
			}
			room()
			if err := w.Take(true); err != nil {
				t.Errorf("fsync with room: %v", err)
			}
			f.wholes.Close(w)
		}},
		{"umount", func(t *testing.T, f *filesystem, room func()) {
			if err := f.wholes.Store(); !errors.Is(err, syscall.ENOSPC) ||
				!strings.Contains(err.Error(), `"s"`) {
				t.Errorf("umount without room: %v", err)
			}
			room()
			if err := f.wholes.Store(); err != nil {
				t.Errorf("umount with room: %v", err)
			}
		}},
		{"by itself", func(t *testing.T, f *filesystem, room func()) {
			room()
			for end := time.Now().Add(time.Minute); f.wholes.Find("s",
				jsonlView) != nil; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("not stored by itself")
				}
			}
		}},
		{"rescue", func(t *testing.T, f *filesystem, room func()) {
			files, err := (&Mount{fs: f}).Rescue(t.TempDir())
			if err != nil || len(files) != 1 || !strings.HasSuffix(files[0], "-s.jsonl") {
				t.Fatalf("rescued: %q, %v", files, err)
			}
			if got, err := os.ReadFile(files[0]); err != nil || string(got) != want {
				t.Errorf("rescued: %q, %v", got, err)
			}
			room()
			if err := f.wholes.Store(); err != nil {
				t.Error(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, full := fullFilesystem(t)
			full.Store(true)
			w := openLines(t, f)
			if err := errors.Join(w.SetSize(0), w.Write([]byte(want), 0, false, func([]byte) error {
				return nil
			})); err != nil {
				t.Fatal(err)
			}
			if err := w.Take(false); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("close: %v", err)
			}
			if err := f.Unsaved("s"); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("user.zarrfs.error says %v", err)
			}
			f.wholes.Close(w)
			p := make([]byte, 100)
			if n, err := f.wholes.Find("s", jsonlView).Read(p, 0); err != nil ||
				string(p[:n]) != want {
				t.Errorf("what is not stored reads as %q, %v", p[:n], err)
			}
			c.end(t, f, func() { full.Store(false) })
			if got := readAll(t, f, "s", "jsonl"); string(got) != want {
				t.Errorf("stored: %.100q", got)
			}
			if w := f.wholes.Find("s", jsonlView); w != nil {
				t.Error("kept though it is stored")
			}
			if err := f.Unsaved("s"); err != nil {
				t.Errorf("user.zarrfs.error says %v of what is stored", err)
			}
		})
	}
}

// fullFilesystem is the file system of stringObjects, in a store that has no room while full is
// set.
func fullFilesystem(t *testing.T) (f *filesystem, full *atomic.Bool) {
	t.Helper()
	full = new(atomic.Bool)
	d := storetest.Faulty(memstore.New(),
		storetest.InjectorFunc(func(op storetest.Op) (fault storetest.Fault) {
			if op.Kind == storetest.OpStage && full.Load() {
				fault.Err = syscall.ENOSPC
			}
			return fault
		}))
	h, s := hierarchytest.Open(t, d, stringObjects())
	return newFilesystem(h, "",
		&Options{Name: "test", Store: s, Scratch: Scratch{Dir: t.TempDir()}}), full
}

func openLines(t *testing.T, f *filesystem) *texts.File {
	t.Helper()
	w, err := f.wholes.Open(pathstate.At("s"), jsonlView)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

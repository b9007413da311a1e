package transient

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/fs/pathstate"
)

// state is a state for tests.
type state struct{ Named }

func (s *state) Join(o *state) { s.Named.Join(o.Named) }

// newFiles returns the transients of no mount.
func newFiles(t *testing.T) *Files {
	var table pathstate.Table[state, *state]
	files := pathstate.PartsOf(&table, func(s *state) *Named { return &s.Named })
	return New(context.Background(), Options{Scratch: t.TempDir()}, States{Files: files})
}

// TestAnnouncedFileIsHeld opens a file that is to become an array twice. If one of the openings is
// refused, or both, the file ends with the last close. What is announced under its name then is
// another file.
func TestAnnouncedFileIsHeld(t *testing.T) {
	for _, refused := range [][2]bool{{true, false}, {false, true}, {true, true}, {false, false}} {
		all := newFiles(t)
		announce := func() bool {
			return all.Announce(pathstate.At("g"), "a.npy", func() bool { return true })
		}
		announce()
		first := all.Find("g", "a.npy")
		announce()
		if x := all.Find("g", "a.npy"); x != first {
			t.Fatal("another one has its name, and it was not gone")
		}
		for range 2 {
			if !all.Hold(first) {
				t.Fatal("it is not there")
			}
		}
		if all.LetGo(first, refused[0]) {
			t.Errorf("refused %v: it went with the first, and is open still", refused)
		}
		if gone, want := all.LetGo(first, refused[1]), refused != [2]bool{}; gone != want ||
			(all.Find("g", "a.npy") == nil) != want {
			t.Errorf("refused %v: it went with the last: %t", refused, gone)
		}
		all.Drop(first)
		announce()
		if all.Hold(first) {
			t.Errorf("refused %v: another one's name was taken for its own", refused)
		}
	}
}

// renamedFile is an announced file that is renamed, with its place as known to its node.
type renamedFile struct {
	*File
	all    *Files
	place  atomic.Pointer[Spot]
	moving sync.WaitGroup
}

func newRenamedFile(t *testing.T, at Spot) *renamedFile {
	f := &renamedFile{all: newFiles(t)}
	f.place.Store(&at)
	f.all.Announce(pathstate.At(at.Dir), at.Name, func() bool { return true })
	f.File = f.all.Find(at.Dir, at.Name)
	return f
}

func (f *renamedFile) rename(to Spot) { f.all.Rename(f.File, to, func() { f.place.Store(&to) }) }

// begin begins a rename, and waits a moment so that it can be done.
func (f *renamedFile) begin(to Spot) {
	done := make(chan struct{})
	f.moving.Go(func() {
		defer close(done)
		f.rename(to)
	})
	select {
	case <-done:
	case <-time.After(20 * time.Millisecond):
	}
}

// TestFindAtRenamedBack: a file that is to be renamed once the look at it has begun, and renamed
// back before that has ended, is found.
func TestFindAtRenamedBack(t *testing.T) {
	here, there := Spot{"g", "a.npy"}, Spot{"h", "b.npy"}
	f := newRenamedFile(t, here)
	looks := 0
	where := func() Spot {
		before := *f.place.Load()
		if looks++; looks == 1 {
			f.begin(there)
			return before
		}
		f.begin(here)
		return *f.place.Load()
	}
	if f.all.FindAt(where) != f.File {
		t.Error("it was not found")
	}
	f.moving.Wait()
}

// TestFindAtWhileRenamed: a file that is renamed to and fro all the time is found at its place
// every time.
func TestFindAtWhileRenamed(t *testing.T) {
	here, there := Spot{"g", "a.npy"}, Spot{"h", "b.npy"}
	f := newRenamedFile(t, here)
	var over atomic.Bool
	f.moving.Go(func() {
		for !over.Load() {
			f.rename(there)
			f.rename(here)
		}
	})
	where := func() Spot {
		at := *f.place.Load()
		runtime.Gosched() // the renamer goes on, if it can
		return at
	}
	for range 1000 {
		if f.all.FindAt(where) != f.File {
			t.Error("it was not found")
			break
		}
	}
	over.Store(true)
	f.moving.Wait()
}

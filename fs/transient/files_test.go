package transient

import (
	"context"
	"testing"

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

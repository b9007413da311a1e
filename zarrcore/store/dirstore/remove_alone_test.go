package dirstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// TestRemoveAloneBesideOthers: another program makes a folder with a file in a directory that is
// removed. The directory comes back with it.
func TestRemoveAloneBesideOthers(t *testing.T) {
	dir := t.TempDir()
	s := store.New(open(t, dir, ways["beneath"]), "")
	isOwn := func(name string) bool { return name == "zarr.json" }
	made := filepath.Join(dir, "g/n")
	ended, kept := make(chan bool), 0
	go func() {
		defer close(ended)
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
			if err := s.Put(t.Context(), "g/zarr.json", []byte("{}")); err != nil {
				t.Error(err)
			}
			err := s.Dirs().RemoveAlone(t.Context(), "g", isOwn)
			if err != nil && !errors.Is(err, store.ErrNotEmpty) {
				t.Error(err)
			}
		}
	}()
	for going := true; going; {
		select {
		case <-ended:
			going = false
		default:
		}
		if os.Mkdir(made, 0o755) != nil {
			continue
		}
		kept++
		if !isThereSoon(made) {
			t.Errorf("folder %d is gone", kept)
			continue
		}
		for os.Remove(made) != nil { // it is away for a moment
			if !isThereSoon(made) {
				t.Fatalf("folder %d is gone", kept)
			}
		}
	}
	t.Logf("%d folders were made and kept", kept)
}

// isThereSoon reports whether a name is there, or is again within a second.
func isThereSoon(path string) bool {
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return err == nil
		}
	}
	return false
}

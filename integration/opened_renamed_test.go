package integration

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestOpenedWhileRenamed: an array, or its group, is renamed back and forth by one mount. Or other
// arrays are renamed onto it. Other programs of that mount open the array and ask for its size. It
// exists under that name or it does not, but it is never stale. An array that is replaced always
// exists.
func TestOpenedWhileRenamed(t *testing.T) {
	for _, c := range []struct {
		what, from, to string
		files          []string
		replaced       bool
	}{
		{"array", "g/a.npy", "g/b.npy", []string{"g/a.raw"}, false},
		{"group", "g", "h", []string{"g/a.raw"}, false},
		{"file", "g/a.npy", "g/b.npy", []string{"g/a.npy", "g/b.npy"}, false},
		{"replaced", "g/b.npy", "g/a.npy", []string{"g/a.npy", "g/a.raw"}, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			base := filepath.Join(t.TempDir(), "s.zarr")
			run(t, zarrfs(t), "create", base, "--group")
			run(t, zarrfs(t), "create", base, "g/a", "--shape", "100", "--dtype", "u8")
			d := started(t, base)
			var seen opens
			var renames atomic.Int64
			end := time.Now().Add(raceTime())
			goesOn := func() bool {
				return time.Now().Before(end) || seen.opened.Load() == 0 && !t.Failed()
			}
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					for goesOn() {
						for _, file := range c.files {
							openAndStat(t, d.path(file), &seen)
						}
					}
				})
			}
			for goesOn() {
				there := os.Rename(d.path(c.from), d.path(c.to))
				back := error(nil)
				if c.replaced {
					back = writeFile(d.path(c.from), npyOfSevens(100))
				} else {
					back = os.Rename(d.path(c.to), d.path(c.from))
				}
				if there == nil && back == nil {
					renames.Add(1)
				}
			}
			wg.Wait()
			t.Logf("renames: %d, opened: %d, not there: %d, stale: %d",
				renames.Load(), seen.opened.Load(), seen.missing.Load(), seen.stale.Load())
			if seen.stale.Load() > 0 || renames.Load() == 0 {
				t.Errorf("stale %d times, although only this mount renames", seen.stale.Load())
			}
			if c.replaced && seen.missing.Load() > 0 {
				t.Errorf("missing %d times, although it was replaced", seen.missing.Load())
			}
		})
	}
}

// opens counts the results of opening files.
type opens struct{ opened, missing, stale atomic.Int64 }

// openAndStat opens the file for writing, asks for its size by name, reads it, and counts the
// answers.
func openAndStat(t *testing.T, path string, seen *opens) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		seen.opened.Add(1)
		f.Close()
	}
	_, statErr := os.Stat(path)
	_, readErr := os.ReadFile(path)
	for _, err := range []error{err, statErr, readErr} {
		switch {
		case errors.Is(err, syscall.ESTALE):
			seen.stale.Add(1)
		case os.IsNotExist(err):
			seen.missing.Add(1)
		case err != nil:
			t.Error(err)
		}
	}
}

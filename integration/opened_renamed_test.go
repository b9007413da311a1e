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

// TestOpenedWhileRenamed: an array, or its group, is renamed there and back by one mount. Other
// programs of that mount open the array for writing, or ask for its size. It is there under that
// name, or it is not. Rarely it is stale: a rename came between a look and the open, and again after
// the kernel had looked a second time. The kernel does not look a third time.
func TestOpenedWhileRenamed(t *testing.T) {
	for _, c := range []struct{ what, from, to, file string }{
		{"array", "g/a.npy", "g/b.npy", "g/a.raw"},
		{"group", "g", "h", "g/a.raw"},
	} {
		t.Run(c.what, func(t *testing.T) {
			base := filepath.Join(t.TempDir(), "s.zarr")
			run(t, zarrfs(t), "create", base, "--group")
			run(t, zarrfs(t), "create", base, "g/a", "--shape", "100", "--dtype", "u1")
			d := started(t, base)
			var opened, renames, stale atomic.Int64
			end := time.Now().Add(raceTime())
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					for time.Now().Before(end) || opened.Load() == 0 && !t.Failed() {
						openAndStat(t, d.path(c.file), &opened, &stale)
					}
				})
			}
			for time.Now().Before(end) || opened.Load() == 0 && !t.Failed() {
				there := os.Rename(d.path(c.from), d.path(c.to))
				back := os.Rename(d.path(c.to), d.path(c.from))
				if there == nil && back == nil {
					renames.Add(2)
				}
			}
			wg.Wait()
			bad := stale.Load()
			t.Logf("renames: %d, opened: %d, stale: %d", renames.Load(), opened.Load(), bad)
			if bad > 5+opened.Load()/50 || renames.Load() == 0 {
				t.Errorf("stale %d times, though only this mount renames", bad)
			}
		})
	}
}

// openAndStat opens the file for writing, asks for its size by name, and counts what comes of it.
func openAndStat(t *testing.T, path string, opened, stale *atomic.Int64) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		opened.Add(1)
		f.Close()
	}
	_, statErr := os.Stat(path)
	for _, err := range []error{err, statErr} {
		switch {
		case errors.Is(err, syscall.ESTALE):
			stale.Add(1)
		case err != nil && !os.IsNotExist(err):
			t.Error(err)
		}
	}
}

package fs

import (
	"context"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Tests mount the program through integration/mounttest. Those of this package cannot: what they
// need of a mount, no other process can have. Their stores are in memory, hang, fail, or count
// requests. Some add a view, or look at the mount's tables while it serves. So they are served by
// the process that uses the mount. Such a process can wait for itself for ever: a fault then shows
// as a test that hangs, and the mount stays. What another process can test belongs in integration.

// mounted returns the folder of a mount of a store.
func mounted(t *testing.T, s *store.Store) (dir string) {
	t.Helper()
	return mountedOf(t, s, nil)
}

// mountedOf is mounted with these views listed.
func mountedOf(t *testing.T, s *store.Store, listed []string) (dir string) {
	t.Helper()
	h, err := zarrcore.Open(context.Background(), s, &zarrcore.Options{ScratchDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	m, err := New(h, dir, &Options{Name: "test", Store: s, Views: listed})
	if err != nil {
		t.Skipf("SKIPPED: cannot mount: %v", err)
	}
	t.Cleanup(func() {
		if err := unmounted(m); err != nil {
			t.Errorf("unmount: %v", err)
			m.Detach()
		}
		m.Wait()
		h.Close()
	})
	return dir
}

// unmounted unmounts. A `zarrfs status` of another test asks every mount of the machine, and holds
// it for a moment.
func unmounted(m *Mount) (err error) {
	for range 100 {
		if err = m.Unmount(); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

package dirstore

import (
	"os"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// No way through a driver, in particular none of the refusals, leaves a file open.
func TestNoLeaks(t *testing.T) {
	dir := hostile(t)
	for name, way := range ways {
		d := open(t, dir, way)
		s := store.New(d, dir)
		s.Put(t.Context(), "obj", []byte("inside")) // makes the staging folder, which is held open
		before := openFiles(t)
		for range 10 {
			for _, e := range escapes {
				s.ReadAll(t.Context(), e.key, 1000)
				s.Stat(t.Context(), e.key)
				s.List(t.Context(), e.key, func(store.Entry) error { return nil })
				s.Delete(t.Context(), e.key+"-none", store.If{})
			}
			s.Open(t.Context(), "g")
			s.Put(t.Context(), "g", nil)
			s.Put(t.Context(), "obj", []byte("inside"))
		}
		if after := openFiles(t); after > before {
			t.Errorf("%s: %d files open before, %d after", name, before, after)
		}
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(entries)
}

package integration

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// TestFortranWhileResized: elements of axis 0 are counted up through the .npy, in Fortran order,
// while the .raw is truncated and extended.
func TestFortranWhileResized(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.zarr")
	put(t, store, "zarr.json", `{"zarr_format": 3, "node_type": "group"}`)
	put(t, store, "a/zarr.json", `{"zarr_format": 3, "node_type": "array", "shape": [96, 4],
		"data_type": "uint8", "fill_value": 0,
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [16, 2]}},
		"chunk_key_encoding": {"name": "default"},
		"codecs": [{"name": "transpose", "configuration": {"order": [1, 0]}}, {"name": "bytes"}]}`)
	dir := mount(t, store)
	stop := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		for i := int64(0); ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := os.Truncate(filepath.Join(dir, "a.raw"), 4*(96+i%64)); err != nil {
				t.Errorf("truncate: %v", err)
			}
			time.Sleep(200 * time.Microsecond)
		}
	})
	var bad int
	var mu sync.Mutex
	for w := range int64(2) {
		work.Go(func() {
			f, err := os.OpenFile(filepath.Join(dir, "a.npy"), os.O_RDWR, 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() {
				if err := f.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			}()
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				at := 128 + w + 2*int64(i%48)
				b, p := []byte{byte(i%250 + 1)}, make([]byte, 1)
				if _, err := f.WriteAt(b, at); err != nil {
					mu.Lock()
					if bad++; bad < 6 {
						t.Errorf("write %d: %v", i, err)
					}
					mu.Unlock()
					continue
				}
				if _, err := f.ReadAt(p, at); err != nil || p[0] != b[0] {
					mu.Lock()
					if bad++; bad < 6 {
						t.Errorf("write %d: read %d, %v, expected %d", i, p, err, b)
					}
					mu.Unlock()
				}
			}
		})
	}
	time.Sleep(2 * time.Second)
	close(stop)
	work.Wait()
}

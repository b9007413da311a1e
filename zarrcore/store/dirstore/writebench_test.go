package dirstore

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Workload: objects are written again, from as many goroutines as a flush has: many small ones, or
// few big ones. ZARRFS_BENCH_DIR names a folder on the medium to measure. "plain" is what a program
// without locks does: write beside, rename.

var writeShapes = []struct {
	name           string
	objects, bytes int
}{{"4096x7KiB", 4096, 7 << 10}, {"256x4MiB", 256, 4 << 20}}

func BenchmarkWrite(b *testing.B) {
	for _, shape := range writeShapes {
		keys := make([]string, shape.objects)
		for i := range keys {
			keys[i] = fmt.Sprintf("array/c/%d/%d", i>>6, i&63)
		}
		data := bytes.Repeat([]byte("zarr"), shape.bytes/4)
		for _, synced := range []bool{false, true} {
			name := shape.name + map[bool]string{false: "", true: "/synced"}[synced]
			b.Run(name+"/plain", func(b *testing.B) {
				benchWrite(b, keys, plainWriter(synced, data))
			})
			b.Run(name+"/store", func(b *testing.B) {
				benchWrite(b, keys, storeWriter(b, synced, data))
			})
		}
	}
}

// batchObjects is how many objects a flush syncs together.
const batchObjects = 256

func benchWrite(b *testing.B, keys []string, write func(dir string, keys []string) error) {
	for b.Loop() {
		b.StopTimer()
		dir, err := os.MkdirTemp(os.Getenv("ZARRFS_BENCH_DIR"), "zarrfs-bench-")
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := write(dir, keys); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		os.RemoveAll(dir)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(keys)), "µs/object")
}

// inBatches calls do for each batch of keys, two at a time.
func inBatches(keys []string, do func(batch []string) error) error {
	var wg sync.WaitGroup
	var next atomic.Int64
	errs := make([]error, 2)
	for i := range errs {
		wg.Go(func() {
			for errs[i] == nil {
				at := int(next.Add(batchObjects)) - batchObjects
				if at >= len(keys) {
					return
				}
				errs[i] = do(keys[at:min(at+batchObjects, len(keys))])
			}
		})
	}
	wg.Wait()
	if errs[0] != nil {
		return errs[0]
	}
	return errs[1]
}

func plainWriter(synced bool, data []byte) func(string, []string) error {
	return func(dir string, keys []string) error {
		return inBatches(keys, func(batch []string) error {
			for _, key := range batch {
				if err := plainWrite(filepath.Join(dir, key), data, synced); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func plainWrite(path string, data []byte, synced bool) error {
	temp := path + ".partial"
	f, err := os.Create(temp)
	if os.IsNotExist(err) {
		os.MkdirAll(filepath.Dir(path), 0o777)
		f, err = os.Create(temp)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if synced {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	return os.Rename(temp, path)
}

func storeWriter(b *testing.B, synced bool, data []byte) func(string, []string) error {
	return func(dir string, keys []string) error {
		d, err := Open(dir, &Options{NoSync: !synced})
		if err != nil {
			return err
		}
		defer d.Close()
		s := store.New(d, dir)
		return inBatches(keys, func(batch []string) error {
			return commitAll(b.Context(), s, batch, data)
		})
	}
}

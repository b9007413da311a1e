package zarrcore_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// A rewritten array is one whose chunks are replaced all the time: each element
// is the number of the write that stored its chunk.
type rewritten struct {
	fixture
	d      *memstore.Driver
	stored []atomic.Uint64 // the last write of each chunk that has ended
}

func (f *rewritten) rewrite(chunk int, n uint64) error {
	b := make([]byte, 0, f.chunk[0]*8+4)
	for range f.chunk[0] {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	if f.checksum {
		b = withChecksum(b)
	}
	if err := store.New(f.d, "").Put(context.Background(), fmt.Sprintf("%s/c/%d", f.path, chunk),
		b); err != nil {
		return err
	}
	f.stored[chunk].Store(n)
	return nil
}

// check opens the array, reads a stretch and looks at its elements. Within a chunk all are of one
// write. That write is the last one that ended before the array was opened, or a later one.
func (f *rewritten) check(h *zarrcore.Hierarchy, rng *rand.Rand) error {
	floor := make([]uint64, len(f.stored))
	for i := range floor {
		floor[i] = f.stored[i].Load()
	}
	a, err := h.OpenArray(context.Background(), f.path)
	if err != nil {
		return err
	}
	r := a.NewReader()
	defer r.Close()
	off, n := int64(0), a.Size()
	if rng.IntN(2) == 0 {
		off = rng.Int64N(n/8) * 8
		n = min(n-off, 8+rng.Int64N(1000)*8)
	}
	got, err := read(r, off, n)
	if err != nil {
		return err
	}
	first := map[int64]uint64{}
	for i := int64(0); i < n; i += 8 {
		chunk, v := (off+i)/8/f.chunk[0], binary.LittleEndian.Uint64(got[i:])
		if w, ok := first[chunk]; !ok {
			first[chunk] = v
		} else if v != w {
			return fmt.Errorf("%s: chunk %d is of writes %d and %d", f.path, chunk, w, v)
		}
		if v < floor[chunk] {
			return fmt.Errorf("%s: chunk %d is of write %d, expected %d or later", f.path, chunk, v,
				floor[chunk])
		}
	}
	return nil
}

// TestRewrittenWhileRead: a program that opens an array sees what was stored before, and whole
// chunks only, while others write, read and close. In the end no memory is left in use.
func TestRewrittenWhileRead(t *testing.T) {
	d := group(t)
	arrays := []*rewritten{
		{fixture: fixture{path: "bands", shape: []int64{300_000}, chunk: []int64{100_000},
			checksum: true}},
		{fixture: fixture{path: "cached", shape: []int64{3000}, chunk: []int64{100},
			checksum: true}},
		{fixture: fixture{path: "plain", shape: []int64{3000}, chunk: []int64{100}}},
	}
	h := open(t, d, &zarrcore.Options{CacheSize: 4 << 20, ScratchDir: t.TempDir()})
	stop := time.Now().Add(time.Second)
	var wg sync.WaitGroup
	for _, f := range arrays {
		f.element, f.format, f.separator, f.d = elements[3], 3, "/", d
		f.stored = make([]atomic.Uint64, f.shape[0]/f.chunk[0])
		put(t, d, f.path+"/zarr.json", []byte(f.documents()["zarr.json"]))
		wg.Go(func() {
			for n := uint64(1); time.Now().Before(stop); n++ {
				if err := f.rewrite(int(n)%len(f.stored), n); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Millisecond)
			}
		})
		for i := range 2 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(i), 0))
				for time.Now().Before(stop) && !t.Failed() {
					if err := f.check(h, rng); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	h.Close()
	for deadline := time.Now().Add(time.Second); h.Status().MemoryUsed != 0 ||
		h.Status().ScratchUsed != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("memory in use after Close: %+v", h.Status())
		}
	}
}

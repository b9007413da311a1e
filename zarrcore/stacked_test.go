package zarrcore_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// TestStackedDecodesOnce: a reader of chunks one behind the other has each decoded once. Reads here
// and there decode their own chunks only. A corrupt object is an error of the read that needs it.
func TestStackedDecodesOnce(t *testing.T) {
	const chunks, size = 60, 1 << 10
	d := stackOf(t, chunks, size)
	put(t, d, "a/c/59", []byte("short"))
	var inOrder, apart []int64
	for n := range int64(chunks - 1) { // up to the one that is corrupt
		inOrder = append(inOrder, n)
	}
	for n := int64(0); n < chunks; n += 7 {
		apart = append(apart, n)
	}
	for name, read := range map[string][]int64{"in order": inOrder, "apart": apart} {
		h := open(t, d, nil)
		a := openArray(t, h, "a")
		for _, n := range read {
			p, err := a.ReadStacked(t.Context(), n*size, size)
			if err != nil {
				t.Fatalf("%s: chunk %d: %v", name, n, err)
			}
			p.Release()
		}
		want := int64(len(read))
		if n := h.Status().ChunksDecoded; n != want && (name != "in order" || n != want+1) {
			t.Errorf("%s: %d chunks were decoded of %d", name, n, len(read))
		}
		if _, err := a.ReadStacked(t.Context(), 59*size, size); err == nil {
			t.Errorf("%s: a chunk that is corrupt has no error", name)
		}
	}
}

// held lets objects of a store wait when they are opened.
type held struct {
	from   string // the first one
	opened chan string
	let    chan struct{} // closed when they may go on
}

// Inject implements storetest.Injector.
func (h *held) Inject(op storetest.Op) (none storetest.Fault) {
	name := path.Base(op.Key)
	if op.Kind == storetest.OpOpen && len(name) == len(h.from) && name >= h.from {
		h.opened <- name
		<-h.let
	}
	return none
}

// await waits until so many objects are opened.
func (h *held) await(t *testing.T, objects int) {
	t.Helper()
	for n := range objects {
		select {
		case <-h.opened:
		case <-time.After(time.Minute):
			t.Fatalf("%d objects are opened, expected %d", n, objects)
		}
	}
}

// readInOrder reads the first 100 chunks of an array of 200, half of them at once.
func readInOrder(t *testing.T, a *zarrcore.Array) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	n := a.Size() / 4
	for _, off := range []int64{0, n} {
		p, err := a.ReadStacked(ctx, off, n)
		if err != nil {
			t.Fatalf("byte %d: %v", off, err)
		}
		p.Release()
	}
}

// TestStackedLoadsAhead: what follows a reader in order is loaded before it is asked for. The
// reader does not wait for it. Once objects may have changed, no more of them are loaded.
func TestStackedLoadsAhead(t *testing.T) {
	hold := &held{"100", make(chan string, 100), make(chan struct{})}
	let := sync.OnceFunc(func() { close(hold.let) })
	defer let()
	d := stackOf(t, 200, 1<<10)
	h := open(t, storetest.Faulty(d, hold), nil)
	readInOrder(t, openArray(t, h, "a"))
	hold.await(t, min(runtime.GOMAXPROCS(0), 50))
	put(t, d, "a/c/199", make([]byte, 1<<10))
	openArray(t, h, "a") // looks at the objects
	let()
	time.Sleep(50 * time.Millisecond) // in which others would be loaded
	if n := len(hold.opened); n > 0 {
		t.Errorf("%d more chunks are loaded, although they may have changed", n)
	}
}

// TestStackedAheadHangs: the store hangs on all that follows readers in order. A large read of
// another array has its memory after a while.
func TestStackedAheadHangs(t *testing.T) {
	const arrays, size = 40, 1 << 10
	d := group(t)
	for i := range arrays {
		putStack(t, d, fmt.Sprint("a", i), 200, size)
	}
	putStack(t, d, "large", 90, 8*size)
	hold := &held{"100", make(chan string, arrays*100), make(chan struct{})}
	defer close(hold.let)
	h := open(t, storetest.Faulty(d, hold), &zarrcore.Options{CacheSize: 2 << 20})
	for i := range arrays {
		readInOrder(t, openArray(t, h, fmt.Sprint("a", i)))
	}
	hold.await(t, arrays/2)
	large := openArray(t, h, "large")
	p, err := large.ReadStacked(t.Context(), 0, large.Size())
	must(t, err)
	p.Release()
}

// TestReadsHang: the store hangs on reads of one array, for which all memory of the cache is taken.
// After a while a read of another array has its memory, and an interrupted one ends.
func TestReadsHang(t *testing.T) {
	t.Parallel()
	const reads, size = 32, 64 << 10
	d := group(t)
	for _, name := range []string{"a", "other"} {
		putStack(t, d, name, 200, size)
	}
	hold := &held{"100", make(chan string, 200), make(chan struct{})}
	h := open(t, storetest.Faulty(d, hold), &zarrcore.Options{CacheSize: reads * (2*size + 1<<10)})
	hung, other := openArray(t, h, "a"), openArray(t, h, "other")
	var all sync.WaitGroup
	defer all.Wait()
	defer close(hold.let)
	for i := range reads {
		all.Go(func() {
			p, err := hung.ReadStacked(context.Background(), int64(100+i)*size, size)
			must(t, err)
			p.Release()
		})
	}
	hold.await(t, reads)
	interrupted, end := context.WithTimeout(t.Context(), time.Millisecond)
	defer end()
	_, err := other.ReadStacked(interrupted, 0, size)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("found %v, expected that it waits until it is interrupted", err)
	}
	p, err := other.ReadStacked(t.Context(), 0, size)
	must(t, err)
	p.Release()
}

// stackOf returns a store with array a, of so many chunks of size bytes.
func stackOf(t *testing.T, chunks, size int) *memstore.Driver {
	t.Helper()
	d := group(t)
	putStack(t, d, "a", chunks, size)
	return d
}

// putStack adds such an array.
func putStack(t *testing.T, d *memstore.Driver, name string, chunks, size int) {
	t.Helper()
	put(t, d, name+"/zarr.json", fmt.Appendf(nil, `{"zarr_format": 3, "node_type": "array",
		"shape": [%d], "data_type": "uint8", "chunk_key_encoding": {"name": "default"},
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [%d]}},
		"fill_value": 0, "codecs": [{"name": "bytes"}]}`, chunks*size, size))
	for n := range chunks {
		put(t, d, fmt.Sprint(name, "/c/", n), make([]byte, size))
	}
}

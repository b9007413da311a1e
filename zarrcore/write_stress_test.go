package zarrcore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// An arena is an array that many write, read, truncate, extend and store at the same time. Each of
// its first elements has one writer, which counts it up; those behind them come and go.
type arena struct {
	t      *testing.T
	driver store.Driver
	acked  []atomic.Uint64 // what was last written to each element, when WriteAt had returned
	begun  []atomic.Uint64 // and before it was called
	sick   atomic.Bool
	calls  atomic.Uint64
	stop   chan struct{}
	work   sync.WaitGroup
}

const (
	arenaStays = 96  // elements that are never truncated
	arenaMost  = 192 // elements there are at most
)

// Inject implements storetest.Injector: while the store is sick, about each 40th
// call fails.
func (a *arena) Inject(op storetest.Op) storetest.Fault {
	f := storetest.Fault{}
	n := a.calls.Add(1) * 0x9e3779b97f4a7c15
	if n>>60 == 0 {
		f.Delay = 50 * time.Microsecond
	}
	if a.sick.Load() && op.Kind != storetest.OpStat && op.Kind != storetest.OpList &&
		n>>32%40 == 0 {
		f.Err = errSick
	}
	return f
}

// TestWriteStress runs writers, readers, flushers and a goroutine that truncates and extends, in
// one hierarchy, or writers in two. The store fails now and then.
func TestWriteStress(t *testing.T) {
	for name, codecs := range map[string]string{
		"plain": `{"name": "bytes", "configuration": {"endian": "little"}}`,
		"sharded": `{"name": "sharding_indexed",
			"configuration": {"chunk_shape": [4],
			"codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
			{"name": "crc32c"}],
			"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}`,
	} {
		for _, two := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, two hierarchies %v", name, two), func(t *testing.T) {
				stress(t, codecs, two)
			})
		}
	}
}

func stress(t *testing.T, codecs string, two bool) {
	a := &arena{t: t, acked: make([]atomic.Uint64, arenaStays),
		begun: make([]atomic.Uint64, arenaStays), stop: make(chan struct{})}
	a.driver = storetest.Faulty(memstore.New(), a)
	must(t, writable(t, 3, a.driver).CreateFromDocument(t.Context(), "a", []byte(`{"zarr_format": 3,
		"node_type": "array", "shape": [96],
		"data_type": "uint64", "fill_value": 0,
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [16]}},
		"chunk_key_encoding": {"name": "default"}, "codecs": [`+codecs+`]}`)))
	hierarchies := []*zarrcore.Hierarchy{a.open(), nil}
	if hierarchies[1] = hierarchies[0]; two {
		hierarchies[1] = a.open()
	}
	a.sick.Store(true)
	for w := range 4 {
		a.go_(func(r *rand.Rand) { a.write(hierarchies[w%2], w, r) })
	}
	for i := range 2 {
		a.go_(func(r *rand.Rand) { a.read(hierarchies[i], i == 0 && !two, r) })
		a.go_(func(r *rand.Rand) { a.flush(hierarchies[i], r) })
	}
	if !two { // to another hierarchy a truncation would be a conflict
		a.go_(func(r *rand.Rand) { a.resize(hierarchies[0], r) })
	}
	time.Sleep(1500 * time.Millisecond)
	close(a.stop)
	a.work.Wait()
	a.sick.Store(false)
	for _, h := range hierarchies {
		must(t, h.Flush(t.Context(), true))
	}
	got := whole(t, openArray(t, reopened(t, a.driver), "a"))
	for i := range a.acked {
		if v := binary.LittleEndian.Uint64(got[8*i:]); v != a.acked[i].Load() {
			t.Errorf("element %d is %d, expected %d", i, v, a.acked[i].Load())
		}
	}
}

func (a *arena) open() *zarrcore.Hierarchy {
	h, err := zarrcore.Open(a.t.Context(), store.New(a.driver, ""),
		&zarrcore.Options{DirtySize: 700, ScratchDir: a.t.TempDir()})
	must(a.t, err)
	a.t.Cleanup(func() { h.Close() })
	return h
}

// go_ does work over and over until stop.
func (a *arena) go_(work func(r *rand.Rand)) {
	a.work.Go(func() {
		for r := rand.New(rand.NewPCG(rand.Uint64(), 1)); ; {
			select {
			case <-a.stop:
				return
			default:
				work(r)
			}
		}
	})
}

// ok reports that a call has succeeded. It may fail because the store is sick.
func (a *arena) ok(what string, err error) bool {
	if err != nil && !errors.Is(err, errSick) {
		a.t.Errorf("%s: %v", what, err)
	}
	return err == nil
}

func (a *arena) array(h *zarrcore.Hierarchy) *zarrcore.Array {
	arr, err := h.OpenArray(context.Background(), "a")
	if !a.ok("open", err) {
		return nil
	}
	return arr
}

// write counts up the elements of one writer, one at a time.
func (a *arena) write(h *zarrcore.Hierarchy, w int, r *rand.Rand) {
	arr := a.array(h)
	for range 20 {
		if arr == nil {
			return
		}
		i := w + 4*r.IntN(arenaStays/4)
		v := a.acked[i].Load() + 1
		a.begun[i].Store(v)
		p := binary.LittleEndian.AppendUint64(nil, v)
		if n, err := arr.WriteAt(context.Background(), p, int64(8*i)); !a.ok("write", err) ||
			n != 8 {
			_, err = arr.Accept(context.Background(), p, int64(8*i))
			if err != nil {
				a.t.Errorf("accept: %v", err)
				return
			}
		}
		a.acked[i].Store(v)
	}
}

// read looks at all elements: none may be older than what was acknowledged before.
// Those that come and go are their own number, or fill.
func (a *arena) read(h *zarrcore.Hierarchy, all bool, r *rand.Rand) {
	var floor [arenaStays]uint64
	for i := range floor {
		floor[i] = a.acked[i].Load()
	}
	arr := a.array(h)
	if arr == nil {
		return
	}
	p := make([]byte, 8*arenaMost)
	arr = arr.Live()
	n, err := arr.ReadAt(context.Background(), p, 0)
	if n < 8*arenaStays || err != nil && errors.Is(err, errSick) {
		a.ok("read", err)
		return
	}
	for i := range n / 8 {
		v := binary.LittleEndian.Uint64(p[8*i:])
		switch {
		case i >= arenaStays && v != 0 && v != uint64(i):
			a.t.Errorf("element %d, which comes and goes, is %d", i, v)
		case i < arenaStays && all && (v < floor[i] || v > a.begun[i].Load()):
			a.t.Errorf("element %d is %d, expected between %d and %d", i, v, floor[i],
				a.begun[i].Load())
		}
	}
}

func (a *arena) flush(h *zarrcore.Hierarchy, r *rand.Rand) {
	if arr := a.array(h); arr != nil {
		a.ok("flush", arr.Flush(context.Background(), r.IntN(2) == 0))
	}
	time.Sleep(time.Duration(r.IntN(2000)) * time.Microsecond)
}

// resize truncates, extends, and appends by writing.
func (a *arena) resize(h *zarrcore.Hierarchy, r *rand.Rand) {
	arr := a.array(h)
	if arr == nil {
		return
	}
	size := int64(8 * (arenaStays + r.IntN(arenaMost-arenaStays)))
	a.ok("resize", arr.SetSize(context.Background(), size))
	if i := size / 8; i < arenaMost {
		_, err := arr.WriteAt(context.Background(),
			binary.LittleEndian.AppendUint64(nil, uint64(i)), size)
		a.ok("append", err)
		fresh := make([]byte, 8)
		if _, err := arr.Live().ReadAt(context.Background(), fresh, size); err == nil {
			if v := binary.LittleEndian.Uint64(fresh); v != 0 && v != uint64(i) {
				a.t.Errorf("element %d is %d after it was appended", i, v)
			}
		}
	}
	time.Sleep(time.Duration(r.IntN(1000)) * time.Microsecond)
}

// TestBothWaysAtOnce: the elements of an array in Fortran order are written through
// both ways to see it at the same time, and stored by both.
func TestBothWaysAtOnce(t *testing.T) {
	h, _, d := hooked(t)
	a := described(t, h, "a", numbers("[24, 24]", "[8, 6]", inFortran))
	f, _ := a.Transposed()
	var work sync.WaitGroup
	for way, x := range []*zarrcore.Array{a, f} {
		work.Go(func() {
			for i := range 24 * 24 {
				if (i/24+i%24)%2 == way {
					_, err := x.WriteAt(t.Context(), []byte{byte(way + 1)}, int64(i))
					if err == nil && i%50 == 0 {
						err = x.Flush(t.Context(), i%100 == 0)
					}
					p := make([]byte, 1)
					if err == nil {
						_, err = x.ReadAt(t.Context(), p, int64(i))
					}
					if err != nil || p[0] != byte(way+1) {
						t.Errorf("element %d is %d, %v; expected %d", i, p[0], err, way+1)
					}
				}
			}
		})
	}
	work.Wait()
	must(t, h.Flush(t.Context(), true))
	for i, got := range whole(t, openArray(t, reopened(t, d), "a")) {
		if expect := byte((i/24+i%24)%2 + 1); got != expect {
			t.Fatalf("element %d is %d, expected %d", i, got, expect)
		}
	}
}

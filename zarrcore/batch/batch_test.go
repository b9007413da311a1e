package batch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/band"
	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/dirty"
	"github.com/zarrfs/zarrfs/zarrcore/durable"
	"github.com/zarrfs/zarrfs/zarrcore/generation"
	"github.com/zarrfs/zarrfs/zarrcore/merge"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// plainBytes is an array of 4 objects of 4 bytes, whose fill value is 9.
const plainBytes = `{"zarr_format": 3, "node_type": "array", "shape": [16], "data_type": "uint8",
	"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
	"chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
	"fill_value": 9, "codecs": [{"name": "bytes"}]}`

// A source has dirty bytes of plainBytes, and forgets those that are stored.
type source struct {
	gen    *generation.Array
	dirty  *dirty.Set
	mem    *chunk.Memory
	shared *object.Shared
	frozen func(n int64) // is called once an object is frozen
	merges func(n int64) // is called once the stored object is open

	mu    sync.Mutex
	ended map[int64]error
}

func (s *source) Freeze(j *Job) {
	g := s.gen
	j.Gen, j.Key = g, g.Objects.Key(j.Number)
	j.Opener = func() object.Opener {
		return object.Opener{Keys: g.Objects.Keys, Chains: g.Chains, Fill: g.Meta.Fill,
			Lengths: object.NewLengths(g.Rows()), Shared: s.shared}
	}
	j.Made = &merge.Object{
		Array: merge.Array{Objects: g.Objects, Grid: g.Grid, Element: g.Meta.Fill, Fill: g.Fill,
			Plain: g.Plain, Memory: s.mem, Count: new(object.Counters)},
		Number: j.Number, CutIn: func(chunk int64) int64 {
			s.merges(j.Number)
			return g.Grid.BytesOf(chunk)
		},
	}
	f, err := s.dirty.Freeze(j.Number)
	if f != nil {
		j.Made.Frozen = []*dirty.Frozen{f}
	}
	j.Err = cmp.Or(j.Err, err)
	s.frozen(j.Number)
}

func (s *source) Stored() *meta.Array { return s.gen.Meta }

func (s *source) Replace(_ *Job, commit func() error) error { return commit() }

func (s *source) End(j *Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended[j.Number] = j.Err
	if j.Err != nil {
		j.Thaw()
		return
	}
	for _, f := range j.Made.Frozen {
		f.Stored()
	}
}

// dirtied returns a writer of plainBytes, its source and its store. The first two bytes of each
// object are dirty.
func dirtied(t *testing.T) (*Writer, *source, *store.Store) {
	t.Helper()
	return dirtiedIn(t, memstore.New())
}

// dirtiedIn is dirtied in a store of that driver.
func dirtiedIn(t *testing.T, d store.Driver) (*Writer, *source, *store.Store) {
	t.Helper()
	st := store.New(d, "s")
	ctx := t.Context()
	if err := st.Put(ctx, "a/zarr.json", []byte(plainBytes)); err != nil {
		t.Fatal(err)
	}
	m, err := meta.ParseArray(3, map[string][]byte{meta.NameV3: []byte(plainBytes)})
	if err != nil {
		t.Fatal(err)
	}
	gen, err := generation.New(*m, "a", 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	mem := chunk.NewMemory(1 << 20)
	s := &source{
		gen: gen, dirty: dirty.NewPool(1<<20, band.NewScratch(t.TempDir(), 0)).NewSet(), mem: mem,
		shared: object.NewShared(mem), frozen: func(int64) {}, merges: func(int64) {},
		ended: map[int64]error{},
	}
	for n := range int64(4) {
		if _, err := s.dirty.Write(n, 4, 0, []byte{byte(n), 7}); err != nil {
			t.Fatal(err)
		}
	}
	cat := catalog.New(ctx, st, catalog.Options{Log: slog.New(slog.DiscardHandler)})
	home, err := cat.Home(ctx, "a", "a", 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(home.Close)
	return &Writer{
		Source: s, Home: home, Path: "a", Store: st, Durable: new(durable.Dirs),
		Count: new(object.Counters), Workers: 2, Room: chunk.NewSemaphore(1),
		ChunkBytes: batchBytes / 2, // two objects in a batch
	}, s, st
}

// expectObject fails unless the store has these bytes under a key.
func expectObject(t *testing.T, st *store.Store, key string, want []byte) {
	t.Helper()
	got, _, err := st.ReadAll(context.Background(), key, 100)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s holds %v, %v; expected %v", key, got, err, want)
	}
}

// TestWrite: objects of several batches are stored, each over what was stored before.
func TestWrite(t *testing.T) {
	w, s, st := dirtied(t)
	if err := st.Put(t.Context(), "a/c/3", []byte{1, 2, 3, 4}); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(t.Context(), []int64{0, 1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	expectObject(t, st, "a/c/0", []byte{0, 7, 9, 9})
	expectObject(t, st, "a/c/2", []byte{2, 7, 9, 9})
	expectObject(t, st, "a/c/3", []byte{3, 7, 3, 4})
	if !s.dirty.IsEmpty() || len(s.ended) != 4 {
		t.Errorf("%d bytes are still dirty, and %d of 4 objects have ended",
			s.dirty.Bytes(), len(s.ended))
	}
}

// TestLargeObjects: objects that use all memory for encoding are made one after the other, and
// others at once.
func TestLargeObjects(t *testing.T) {
	for _, c := range []struct{ room, atOnce int64 }{{1, 1}, {7, 1}, {1 << 20, 2}} {
		var now, most atomic.Int64
		w, s, _ := dirtiedIn(t, storetest.Faulty(memstore.New(), storetest.InjectorFunc(
			func(op storetest.Op) (none storetest.Fault) {
				if op.Kind != storetest.OpStage || op.Key == "a/zarr.json" {
					return none
				}
				now.Add(1)
				defer now.Add(-1)
				for range 100 { // the other one may come
					most.Store(max(most.Load(), now.Load()))
					time.Sleep(time.Millisecond)
				}
				return none
			})))
		w.Room = chunk.NewSemaphore(c.room) // an object takes 8 bytes
		if err := w.Write(t.Context(), []int64{0, 1}); err != nil || len(s.ended) != 2 {
			t.Errorf("%v, %d of 2 objects have ended", err, len(s.ended))
		}
		if most.Load() != c.atOnce {
			t.Errorf("with %d bytes: %d objects at once, expected %d", c.room, most.Load(),
				c.atOnce)
		}
	}
}

// TestReplacedMeanwhile: if another program replaces an object during its merge, the object is
// merged again, with the bytes of that program.
func TestReplacedMeanwhile(t *testing.T) {
	w, s, st := dirtied(t)
	var once sync.Once
	s.merges = func(n int64) {
		if n == 1 {
			once.Do(func() { st.Put(t.Context(), "a/c/1", []byte{5, 5, 5, 5}) })
		}
	}
	if err := st.Put(t.Context(), "a/c/1", []byte{4, 4, 4, 4}); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(t.Context(), []int64{0, 1}); err != nil {
		t.Fatal(err)
	}
	expectObject(t, st, "a/c/1", []byte{1, 7, 5, 5})
}

// TestRemovedMeanwhile: if the array is removed while it is stored, nothing counts as stored, the
// bytes are dirty again, and nothing is left in the store.
func TestRemovedMeanwhile(t *testing.T) {
	w, s, st := dirtied(t)
	s.frozen = func(n int64) {
		if n == 1 {
			st.Delete(t.Context(), "a/zarr.json", store.If{})
		}
	}
	if err := w.Write(t.Context(), []int64{0, 1}); !errors.Is(err, catalog.ErrOrphan) {
		t.Errorf("expected ErrOrphan, found %v", err)
	}
	for n, err := range s.ended {
		if !errors.Is(err, catalog.ErrOrphan) {
			t.Errorf("object %d ended with %v", n, err)
		}
	}
	if got := s.dirty.Bytes(); got != 8 {
		t.Errorf("%d bytes are dirty, expected 8", got)
	}
	if _, err := st.Stat(t.Context(), "a/c/0"); err == nil {
		t.Error("an object is left of an array that was removed")
	}
}

// TestRewrite: an object is stored again without what is taken of it, unless another program has
// replaced it.
func TestRewrite(t *testing.T) {
	w, s, st := dirtied(t)
	if err := st.Put(t.Context(), "a/c/0", []byte{1, 2, 3, 4}); err != nil {
		t.Fatal(err)
	}
	info, err := st.Stat(t.Context(), "a/c/0")
	if err != nil {
		t.Fatal(err)
	}
	job := func() *Job {
		j := &Job{Number: 0}
		s.Freeze(j)
		j.Thaw()
		j.Made.Frozen, j.Made.CutIn = nil, func(int64) int64 { return 2 }
		return j
	}
	taken := 0
	take := func(*object.Reader) error { taken++; return nil }
	if done, err := w.Rewrite(t.Context(), job(), "other", take); done || err != nil || taken > 0 {
		t.Errorf("of another version: %v, %v, taken %d times", done, err, taken)
	}
	done, err := w.Rewrite(t.Context(), job(), info.Version, take)
	if !done || err != nil || taken != 1 {
		t.Errorf("of that version: %v, %v, taken %d times", done, err, taken)
	}
	expectObject(t, st, "a/c/0", []byte{1, 2, 9, 9})
}

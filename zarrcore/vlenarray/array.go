package vlenarray

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/lines"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/scan"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// ErrNotVlen is wrapped by the error of Open for an array whose elements have a fixed size.
var ErrNotVlen = errors.New("elements of a fixed size")

// maxElements is the most elements of an array whose elements have no
// fixed size.
const maxElements = 1 << 36

// chunkShare: the elements of one chunk take at most this part of the
// memory budget, or leastChunk bytes if that is more.
const (
	chunkShare = 4
	leastChunk = 64 << 20
)

// A Array is an array whose elements have no fixed size. Its elements are
// numbered in C order. It stands for the array as it was when it was opened:
// once objects have changed, reads that notice it fail with ErrChanged. All
// methods may be called concurrently.
type Array struct {
	*state
	source *epochSource
	index  *lines.Index
	home   *catalog.Home // where it is being stored; nil while it is not
}

// A state is one generation of such an array.
type state struct {
	a       *place                      // reaches its objects
	chain   *codec.Vlen                 // of the largest object
	chains  *object.Chains[*codec.Vlen] // of all objects
	moved   atomic.Pointer[place]       // where it was renamed to last; nil: it was not
	readers atomic.Int64
	cuts    atomic.Uint64 // Table.cuts before its document was last found to be the same
	opened  time.Time     // guarded by Table.mu
	ahead   passage

	mu     sync.Mutex
	source *epochSource  // of the last epoch
	index  *lines.Index  // of the last epoch
	count  *recount      // nil: nothing was counted, or there is too much to look at
	behind chan struct{} // closed when the count in the background ends; nil: none goes on
}

// Open returns the array at path as it is stored now.
func (t *Table) Open(ctx context.Context, path string) (*Array, error) {
	for {
		moves := t.moves.Load()
		if err := t.away.Wait(ctx, path); err != nil {
			return nil, err
		}
		s, err := t.stateAt(ctx, path)
		if t.moves.Load() != moves {
			continue // it may be what a rename has put there for a while
		}
		if err != nil {
			return nil, err
		}
		s.a.watch.Refresh(ctx)
		return s.array(), nil
	}
}

// Reopen opens the array again, as it is now, where it is now.
func (v *Array) Reopen(ctx context.Context) (*Array, error) {
	return v.a.t.Open(ctx, v.here().path)
}

// stateAt returns the current generation of the array at path.
func (t *Table) stateAt(ctx context.Context, path string) (*state, error) {
	cuts := t.cuts.Load()
	n, err := t.Catalog.Array(ctx, path)
	if err != nil {
		return nil, err
	}
	if s := t.current(path, n.Version); s != nil {
		return s, nil
	}
	s, err := t.newState(n)
	if err != nil {
		return nil, &catalog.Error{Op: "open", Path: path, Err: err}
	}
	s.cuts.Store(cuts)
	return t.adopt(s), nil
}

// array returns the array in the present epoch.
func (s *state) array() *Array {
	v := &Array{state: s}
	v.source, v.index = s.current()
	return v
}

// newState binds the array that n describes.
func (t *Table) newState(n *catalog.Node) (*state, error) {
	m := *n.Meta
	if !catalog.IsVlen(&m) {
		return nil, fmt.Errorf("%w: type %s", ErrNotVlen, m.Type.NumPy())
	}
	a := &place{t: t, id: t.NextID(), path: n.Path, meta: &m, version: n.Version}
	s := &state{a: a}
	var err error
	if s.chains, s.chain, err = object.NewChains(&m, codec.BindVlen); err != nil {
		return nil, err
	}
	if err := s.cut(a); err != nil {
		return nil, err
	}
	if a.grid.Size() > maxElements {
		return nil, fmt.Errorf("%d elements of no fixed size, expected at most %d: %w",
			a.grid.Size(), int64(maxElements), errors.ErrUnsupported)
	}
	a.lengths = object.NewLengths(a.rows())
	a.watch = scan.NewWatch(t.Store, a.objects.Keys, t.Fresh, func() {
		t.Store.Ahead().Forget(a.path)
		a.watch.NewEpoch()
	})
	return s, nil
}

// cut sets the grids of an array with these codecs, which is a's or one with
// another length of axis 0.
func (s *state) cut(a *place) (err error) {
	items := *a.meta
	items.Type.Size = 1
	if a.objects, err = object.NewLayout(&items, a.path, s.chain, false); err != nil {
		return err
	}
	a.grid = a.objects.ChunkGrid()
	return s.chains.BindAll(a.objects.Keys)
}

// countsEpoch marks the epoch of chunks that are decoded to be counted.
const countsEpoch = 1 << 63

// current returns the array in the present epoch, and the index of its lines.
func (s *state) current() (*epochSource, *lines.Index) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if epoch := s.a.watch.Epoch(); s.index == nil || s.source.epoch != epoch {
		before := s.index.Memory()
		s.source = &epochSource{s, epoch}
		s.index = lines.NewIndex(s.source)
		if index := s.index; s.a.watch.IsLarge() {
			// Chunks that were cached before the objects were looked at may be older than these.
			later := &epochSource{s, epoch | countsEpoch}
			index.Recall(func(ctx context.Context) (*lines.Index, error) {
				return s.counted(ctx, index)
			}, later)
		}
		s.a.t.Memory.Reserve(s.index.Memory() - before)
	}
	return s.source, s.index
}

// retire gives back what a generation holds that is no longer current.
func (s *state) retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.a.t.Memory.Unreserve(s.index.Memory())
	s.source, s.index, s.count = nil, nil, nil
}

// Path returns the array's path in the hierarchy.
func (v *Array) Path() string { return v.a.path }

// Meta returns the array's metadata; the caller must not change it.
func (v *Array) Meta() *meta.Array { return v.a.meta }

// ObjectRights returns what users may do with all objects of the array that were opened; see
// object.Shared.RightsTo.
func (v *Array) ObjectRights() store.Rights { return v.a.t.Objects.RightsTo(v.a.id) }

// Len returns the number of elements.
func (v *Array) Len() int64 { return v.a.grid.Size() }

// Kind says what the elements are.
func (v *Array) Kind() vlen.Kind { return v.chain.Fill().Kind }

// Chunk returns the shape, in elements, of the smallest separately decodable
// block: an inner chunk where the array is sharded.
func (v *Array) Chunk() []int64 { return v.a.grid.ChunkShape() }

// ModTime returns when the array was last changed, as far as is known.
func (v *Array) ModTime() time.Time {
	if s := v.a.watch.Last(); s != nil {
		return s.ModTime
	}
	return time.Time{}
}

// Fingerprint returns a text that changes whenever the array's elements may have, since it was
// opened.
func (v *Array) Fingerprint() string {
	epoch, stores := v.a.watch.Now()
	return fmt.Sprintf("%d.%d.%d", v.a.id, epoch, stores)
}

// Open counts a user of the array, which calls Close once.
func (v *Array) Open() { v.readers.Add(1) }

// Close ends what Open began.
func (v *Array) Close() { v.readers.Add(-1) }

// IsInUse reports whether the array is open.
func (v *Array) IsInUse() bool { return v.readers.Load() > 0 }

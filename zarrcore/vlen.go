package zarrcore

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
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// This file opens arrays whose elements have no fixed size: strings, byte
// strings, lists. They are not flat files of bytes, but files of lines, or of
// strings of fixed width: package lines reads them and knows where the lines are;
// vlen_read.go gives it the chunks, vlen_take.go and vlen_write.go write them.

// ErrVlen is wrapped by OpenArray's error for an array that OpenVlen opens.
var ErrVlen = fmt.Errorf("elements of no fixed size: %w", errors.ErrUnsupported)

// ErrNotVlen is wrapped by OpenVlen's error for an array that OpenArray opens.
var ErrNotVlen = errors.New("elements of a fixed size")

// maxVlen is the most elements of an array whose elements have no
// fixed size.
const maxVlen = 1 << 36

// vlenChunkShare: the elements of one chunk take at most this part of the
// memory budget, or leastVlenChunk bytes if that is more.
const (
	vlenChunkShare = 4
	leastVlenChunk = 64 << 20
)

// A VlenArray is an array whose elements have no fixed size. Its elements are
// numbered in C order. It stands for the array as it was when it was opened:
// once objects have changed, reads that notice it fail with ErrChanged. All
// methods may be called concurrently.
type VlenArray struct {
	*vlenState
	source *vlenSource
	index  *lines.Index
	home   *catalog.Home // where it is being stored; nil while it is not
}

// A vlenState is one generation of such an array.
type vlenState struct {
	a       *Array                      // reaches its objects; its grid counts elements where others count bytes
	chain   *codec.Vlen                 // of the largest object
	chains  *object.Chains[*codec.Vlen] // of all objects
	moved   atomic.Pointer[Array]       // where it was renamed to last; nil: it was not
	readers atomic.Int64
	opened  time.Time // guarded by vlenTable.mu

	mu     sync.Mutex
	source *vlenSource   // of the last epoch
	index  *lines.Index  // of the last epoch
	count  *recount      // nil: nothing was counted, or there is too much to look at
	behind chan struct{} // closed when the count ends that goes on in the background; nil: none does
}

// OpenVlen returns the array at path as it is stored now. Its errors are as
// those of OpenArray, which opens all other arrays.
func (h *Hierarchy) OpenVlen(ctx context.Context, path string) (*VlenArray, error) {
	s, err := h.vlenAt(ctx, path)
	if err != nil {
		return nil, err
	}
	s.a.watch.Refresh(ctx)
	return s.array(), nil
}

// vlenAt returns the current generation of the array at path.
func (h *Hierarchy) vlenAt(ctx context.Context, path string) (*vlenState, error) {
	n, err := h.catalog.Array(ctx, path)
	if err != nil {
		return nil, err
	}
	if s := h.vlens.current(path, n.Version); s != nil {
		return s, nil
	}
	s, err := h.newVlen(n)
	if err != nil {
		return nil, &Error{Op: "open", Path: path, Err: err}
	}
	return h.vlens.adopt(s), nil
}

// array returns the array in the present epoch.
func (s *vlenState) array() *VlenArray {
	v := &VlenArray{vlenState: s}
	v.source, v.index = s.current()
	return v
}

// Readable returns why the data of the array at path cannot be read, by OpenArray or OpenVlen; nil if it can.
func (h *Hierarchy) Readable(ctx context.Context, path string) error {
	_, err := h.OpenArray(ctx, path)
	if errors.Is(err, ErrVlen) {
		_, err = h.OpenVlen(ctx, path)
	}
	return err
}

// newVlen binds the array that n describes.
func (h *Hierarchy) newVlen(n *Node) (*vlenState, error) {
	m := *n.Meta
	a := &Array{h: h, id: h.generation.Add(1), path: n.Path, meta: &m, version: n.Version, draft: &draft{h: h, path: n.Path}} // that is never written to
	if !IsVlen(&m) {
		return nil, fmt.Errorf("%w: type %s", ErrNotVlen, m.Type.NumPy())
	}
	s := &vlenState{a: a}
	var err error
	if s.chains, s.chain, err = object.NewChains(&m, codec.BindVlen); err != nil {
		return nil, err
	}
	if err := s.cut(a); err != nil {
		return nil, err
	}
	if a.grid.Size() > maxVlen {
		return nil, fmt.Errorf("%d elements of no fixed size, expected at most %d: %w", a.grid.Size(), int64(maxVlen), errors.ErrUnsupported)
	}
	a.draft.lengths = object.NewLengths(a.rows())
	a.watch = scan.NewWatch(h.store, a.objects.Keys, func() { a.watch.NewEpoch() })
	return s, nil
}

// cut sets the grids of an array with these codecs, which is a's or one with
// another length of axis 0.
func (s *vlenState) cut(a *Array) (err error) {
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
func (s *vlenState) current() (*vlenSource, *lines.Index) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if epoch := s.a.watch.Epoch(); s.index == nil || s.source.epoch != epoch {
		before := s.index.Memory()
		s.source = &vlenSource{s, epoch}
		s.index = lines.NewIndex(s.source)
		if index := s.index; s.a.watch.IsLarge() {
			// Chunks that were cached before the objects were looked at may be older than these.
			later := &vlenSource{s, epoch | countsEpoch}
			index.Recall(func(ctx context.Context) (*lines.Index, error) { return s.counted(ctx, index) }, later)
		}
		s.a.h.mem.Reserve(s.index.Memory() - before)
	}
	return s.source, s.index
}

// retire gives back what a generation holds that is no longer current.
func (s *vlenState) retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.a.h.mem.Unreserve(s.index.Memory())
	s.source, s.index, s.count = nil, nil, nil
}

// Path returns the array's path in the hierarchy.
func (v *VlenArray) Path() string { return v.a.path }

// Meta returns the array's metadata; the caller must not change it.
func (v *VlenArray) Meta() *meta.Array { return v.a.meta }

// Len returns the number of elements.
func (v *VlenArray) Len() int64 { return v.a.grid.Size() }

// Kind says what the elements are.
func (v *VlenArray) Kind() vlen.Kind { return v.chain.Fill().Kind }

// Chunk returns the shape, in elements, of the smallest separately decodable
// block: an inner chunk where the array is sharded.
func (v *VlenArray) Chunk() []int64 { return v.a.grid.ChunkShape() }

// ModTime returns when the array was last changed, as far as is known.
func (v *VlenArray) ModTime() time.Time { return v.a.ModTime() }

// Open counts a user of the array, which calls Close once.
func (v *VlenArray) Open() { v.readers.Add(1) }

// Close ends what Open began.
func (v *VlenArray) Close() { v.readers.Add(-1) }

// InUse reports whether the array is open.
func (v *VlenArray) InUse() bool { return v.readers.Load() > 0 }

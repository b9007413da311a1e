// Package merge makes the object that takes the place of a stored one: dirty chunks over those that
// are stored.
package merge

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/dirty"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/parallel"
)

// An Array is what the objects of an array have in common.
type Array struct {
	Objects  *object.Layout
	Grid     *layout.Grid // of its chunks
	Element  []byte       // one element of fill value
	Fill     *object.Fill
	Plain    bool // an object is a chunk's bytes as they are
	KeepFill bool // store chunks that hold nothing but fill value, too
	Memory   *chunk.Memory
	Count    *object.Counters
}

// An Object is one object that is being made.
type Object struct {
	Array
	Number  int64
	Chain   *codec.Chain
	Frozen  []*dirty.Frozen         // its dirty chunks, in order
	CutIn   func(chunk int64) int64 // from which byte of a chunk on stored ones do not count
	Workers int                     // that encode its chunks

	mu      sync.Mutex      // guards buffers
	buffers []*buffer       // in use by Make
	opened  []*dirty.Frozen // in use by Make
}

// Make makes the new object over the stored one, if there is one. It is nil if the object is to be
// deleted, or if same is set, which says that it stays as it is.
func (o *Object) Make(old *object.Reader) (made []byte, same bool, err error) {
	pieces, err := o.encode(old)
	if err != nil || len(pieces) == 0 {
		return nil, len(pieces) == 0, err
	}
	made, err = o.assemble(old, pieces)
	return made, false, err
}

// assemble makes the object of its chunks; nil if it is to be deleted.
func (o *Object) assemble(old *object.Reader, pieces []codec.Piece) ([]byte, error) {
	if !o.Chain.Sharded() {
		return pieces[0].Data, nil
	}
	var src codec.Source
	if old != nil && !o.isRelaid(old) {
		src = old
	}
	b := o.buffer()
	var empty bool
	var err error
	b.b, empty, err = o.Chain.Assemble(b.b, src, pieces)
	if err != nil || empty {
		return nil, err
	}
	return b.b, nil
}

// buffer returns memory for encoded bytes, until Free.
func (o *Object) buffer() *buffer {
	b := newBuffer()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buffers = append(o.buffers, b)
	return b
}

// Free gives back the memory that Make needed, also that of what it made.
func (o *Object) Free() {
	for _, b := range o.buffers {
		b.recycle()
	}
	for _, f := range o.opened {
		f.Close()
	}
	o.buffers, o.opened = nil, nil
}

// Covers reports whether all of the object that lies in the array is dirty. If grown is set, that
// goes for the array with whole objects along its rows, so that what is stored does not matter.
// Otherwise rows behind the array's end may be stored, which another program has appended.
func (o *Object) Covers(grown bool) bool {
	if int64(len(o.Frozen)) != o.Objects.ChunksIn(o.Number, grown) {
		return false
	}
	inside := o.Grid.Inside
	if grown {
		inside = o.Objects.BytesGrown
	}
	return !slices.ContainsFunc(o.Frozen, func(f *dirty.Frozen) bool {
		return f.Covered() < inside(f.Number)
	})
}

// isRelaid reports whether the stored object has another length than the new one, or rows
// that do not count. Then no chunk of it stays as it is.
func (o *Object) isRelaid(old *object.Reader) bool { return !old.Fits(o.Objects.Keys) }

// encode encodes the dirty chunks, and what a cut has changed of others.
func (o *Object) encode(old *object.Reader) ([]codec.Piece, error) {
	var todo []func() (codec.Piece, error)
	frozen := o.Frozen
	o.Objects.EachChunk(o.Number, func(n, inner int64) {
		if len(frozen) > 0 && frozen[0].Number == n {
			f := frozen[0]
			frozen = frozen[1:]
			todo = append(todo, func() (codec.Piece, error) {
				return o.encodeChunk(f, inner, old)
			})
			return
		}
		switch cut := o.CutIn(n); {
		case old == nil || cut == o.Grid.BytesOf(n) && !o.isRelaid(old): // it stays as it is
		case cut == 0:
			empty := codec.Piece{Inner: inner}
			todo = append(todo, func() (codec.Piece, error) { return empty, nil })
		default:
			todo = append(todo, func() (codec.Piece, error) { return o.encodeCut(n, inner, old) })
		}
	})
	return o.run(todo)
}

// run encodes chunks, several at once where there are fewer objects than workers.
func (o *Object) run(todo []func() (codec.Piece, error)) ([]codec.Piece, error) {
	pieces := make([]codec.Piece, len(todo))
	var failed atomic.Pointer[error]
	parallel.Each(max(1, o.Workers), len(todo), func(i int) {
		if failed.Load() != nil {
			return
		}
		err := compress.Guard(func() (err error) {
			pieces[i], err = todo[i]()
			return err
		})
		if err != nil {
			failed.CompareAndSwap(nil, &err)
		}
	})
	if err := failed.Load(); err != nil {
		return nil, *err
	}
	return pieces, nil
}

// encodeChunk encodes the dirty bytes of a chunk over those that are stored.
func (o *Object) encodeChunk(f *dirty.Frozen, inner int64, old *object.Reader) (
	codec.Piece, error) {
	if o.Plain {
		o.opened = append(o.opened, f) // its memory is the encoded chunk
	} else {
		defer f.Close()
	}
	size := o.Grid.BytesOf(f.Number)
	buf, err := f.Open(size)
	if err != nil {
		return codec.Piece{}, err
	}
	if f.Covered() < size {
		base := o.Memory.Get(size)
		defer o.Memory.Put(base)
		if f.Covered() >= o.Objects.BytesGrown(f.Number) {
			old = nil // only padding is missing
		}
		if err := o.base(base, f.Number, inner, old); err != nil {
			return codec.Piece{}, err
		}
		f.Gaps(size, func(lo, hi int64) { copy(buf[lo:hi], base[lo:hi]) })
	}
	return o.piece(buf, inner)
}

// encodeCut encodes a chunk of which only the cut is new.
func (o *Object) encodeCut(n, inner int64, old *object.Reader) (codec.Piece, error) {
	base := o.buffer()
	size := o.Grid.BytesOf(n)
	base.b = slices.Grow(base.b, int(size))[:size]
	if err := o.base(base.b, n, inner, old); err != nil {
		return codec.Piece{}, err
	}
	return o.piece(base.b, inner)
}

// base fills dst with a chunk as it is stored. What is cut of it is fill value.
func (o *Object) base(dst []byte, n, inner int64, old *object.Reader) error {
	fill := o.Element
	cut := o.CutIn(n)
	if old == nil || cut == 0 {
		layout.Repeat(dst, fill)
		return nil
	}
	o.Count.Chunks.Add(1)
	o.Count.Bytes.Add(int64(len(dst)))
	err := old.Decode(dst, inner)
	if object.IsMissing(err) {
		cut, err = 0, nil
	}
	layout.Repeat(dst[cut:], fill)
	return err
}

// piece encodes a chunk, unless it is nothing but fill value, as which a missing chunk reads.
func (o *Object) piece(chunk []byte, inner int64) (codec.Piece, error) {
	if !o.KeepFill && o.Fill.Fills(chunk) {
		return codec.Piece{Inner: inner}, nil
	}
	o.Count.Encoded.Add(1)
	if o.Plain {
		return codec.Piece{Inner: inner, Data: chunk}, nil
	}
	b := o.buffer()
	var err error
	b.b, err = o.Chain.EncodeChunk(b.b, chunk)
	return codec.Piece{Inner: inner, Data: b.b}, err
}

// A buffer is recycled memory for an object that is being made.
type buffer struct{ b []byte }

var buffers = sync.Pool{New: func() any { return new(buffer) }}

func newBuffer() *buffer {
	b := buffers.Get().(*buffer)
	b.b = b.b[:0]
	return b
}

func (b *buffer) recycle() { buffers.Put(b) }

// Package merge makes the object that takes the place of a stored one: dirty chunks over those that
// are stored.
package merge

import (
	"slices"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/dirty"
	"github.com/zarrfs/zarrfs/zarrcore/object"
)

// An Array is what the objects of an array have in common.
type Array struct {
	Objects  *object.Layout
	Grid     *layout.Grid // of its chunks
	Element  []byte       // one element of fill value
	Fill     *object.Fill
	Plain    bool          // an object is a chunk's bytes as they are
	KeepFill bool          // store chunks that hold nothing but fill value, too
	Memory   *chunk.Memory // in which chunks are completed and encoded
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
}

// Over plans the new object over the stored one, if there is one.
func (o *Object) Over(old *object.Reader) *Plan {
	p := &Plan{of: o, old: old, chunks: o.changed(old)}
	slices.SortFunc(p.chunks, func(a, b changed) int { return o.Chain.Compare(a.inner, b.inner) })
	return p
}

// A changed chunk of an object is dirty, or truncated.
type changed struct {
	number, inner int64
	dirty         *dirty.Frozen // nil: only the truncation is new
	gone          bool          // all of it is truncated
}

// changed returns the dirty chunks, and what a truncation has changed of others.
func (o *Object) changed(old *object.Reader) (list []changed) {
	frozen := o.Frozen
	o.Objects.EachChunk(o.Number, func(n, inner int64) {
		if len(frozen) > 0 && frozen[0].Number == n {
			list = append(list, changed{number: n, inner: inner, dirty: frozen[0]})
			frozen = frozen[1:]
			return
		}
		cut := o.CutIn(n)
		if old == nil || cut == o.Grid.BytesOf(n) && !o.isRelaid(old) {
			return // it stays as it is
		}
		list = append(list, changed{number: n, inner: inner, gone: cut == 0})
	})
	return list
}

// Fit lets the object be written within size bytes of memory, if fewer workers make that possible.
// It returns how many bytes that takes.
func (o *Object) Fit(size int64) (bytes int64) {
	each := max(1, o.pieceBytes())
	o.Workers = int(min(int64(o.Workers), max(1, size/each-1)))
	return each * min(o.Chain.PerObject(), int64(o.ahead()+1))
}

// pieceBytes is how many bytes of memory it takes to complete and encode one chunk.
func (o *Object) pieceBytes() int64 {
	bytes := o.Chain.EncodedBytes()
	if !o.Covers(true) {
		bytes += o.Chain.ChunkBytes()
	}
	return bytes
}

// ahead is how many chunks are encoded, or wait, while another one is written.
func (o *Object) ahead() int {
	if o.Workers <= 1 {
		return 0 // others are busy with other objects
	}
	return o.Workers
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

package vlenarray

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// This file encodes one object: from the spool, and from the object that is stored.

// prepare encodes and stages an object. What stays of it is read under its lock.
func (w *writer) prepare(ctx context.Context, j *job) (err error) {
	t := w.v.a.t
	var old *object.Reader
	if w.keeps(j.number) {
		if j.unlock, err = t.Store.Lock(ctx, j.key); err != nil {
			return err
		}
		if old, j.cond, err = w.open(ctx, j.key); err != nil {
			return err
		}
		if old != nil {
			defer old.Close()
		}
	}
	done, err := w.reserve(j.number)
	if err != nil {
		return err
	}
	defer done()
	return w.stage(ctx, j, old)
}

// keeps reports whether an object has rows before those that are written.
func (w *writer) keeps(object int64) bool {
	if w.first == 0 {
		return false
	}
	start, _, _ := w.after.objects.Rows(object)
	return start*w.after.grid.RowBytes() < w.first
}

// open opens the stored object; nil if there is none.
func (w *writer) open(ctx context.Context, key string) (*object.Reader, store.If, error) {
	obj, err := object.Open(ctx, w.v.home.Store, key, store.Want{N: store.All})
	if errors.Is(err, object.ErrMissing) {
		return nil, store.If{Version: store.Absent}, nil
	}
	if err != nil {
		return nil, store.If{}, err
	}
	return w.v.a.opener().Wrap(obj, key), store.If{Version: obj.Info().Version}, nil
}

// errEmpty says that the object is to be deleted.
var errEmpty = errors.New("nothing is left of the object")

// stage encodes and stages an object, unless it is to be deleted, or stays as it is.
func (w *writer) stage(ctx context.Context, j *job, old *object.Reader) error {
	chunks := w.touched(j.number)
	if j.same = len(chunks) == 0; j.same {
		return nil
	}
	staged, err := w.v.home.Store.StageParts(ctx, j.key, func(dst store.Parts) error {
		return w.write(dst, j, old, chunks)
	})
	switch {
	case errors.Is(err, errEmpty):
		return nil
	case err != nil:
		return err
	}
	j.staged = staged
	w.v.a.t.Count.Stored.Add(staged.Size())
	return nil
}

// A touched chunk has a number in the array, and one in its object.
type touched struct{ number, inner int64 }

// touched returns the chunks of an object that are to be encoded.
func (w *writer) touched(object int64) (chunks []touched) {
	relaid := w.relays(object)
	w.after.objects.EachChunk(object, func(n, inner int64) {
		if relaid || !w.isUntouched(n) {
			chunks = append(chunks, touched{n, inner})
		}
	})
	return chunks
}

// write writes an object with these chunks. Other chunks of a shard stay as they are, byte for
// byte.
func (w *writer) write(dst codec.Sink, j *job, old *object.Reader, chunks []touched) error {
	chain, err := w.v.chains.OfShape(w.after.objects.ShapeAt(j.number))
	if err != nil {
		return err
	}
	slices.SortFunc(chunks, func(a, b touched) int { return chain.Compare(a.inner, b.inner) })
	inner := make([]int64, len(chunks))
	for i, c := range chunks {
		inner[i] = c.inner
	}
	var src codec.Source
	if old != nil && !w.relays(j.number) {
		src = old
	}
	empty, err := chain.Assemble(dst, src, inner, func() ([]byte, error) {
		c := chunks[0]
		chunks = chunks[1:]
		if c.number >= w.after.grid.Chunks() { // it is behind the end
			return nil, nil
		}
		return w.chunk(chain, c.number, c.inner, old)
	})
	if empty {
		err = errEmpty
	}
	return err
}

// isUntouched reports whether all rows of a chunk stay.
func (w *writer) isUntouched(chunk int64) bool {
	_, end, _ := w.after.grid.Rows(chunk)
	return w.first > 0 && end*w.after.grid.RowBytes() <= w.first
}

// chunk encodes a chunk; nil if all of it is fill value.
func (w *writer) chunk(chain *codec.Vlen, n, inner int64, old *object.Reader) ([]byte, error) {
	t := w.v.a.t
	e, err := w.gather(chain, n, inner, old)
	fill := w.v.chain.Fill().At(0)
	if err != nil || !t.KeepFill && w.v.fillIsElement() && isFillElement(e, fill) {
		return nil, err
	}
	t.Count.Encoded.Add(1)
	return chain.Encode(nil, e, t.limit())
}

// fillIsElement reports whether all libraries show the fill value in place of a missing chunk. In
// format 2 it may be null or 0. Libraries show it as such, and not as the empty elements that are
// stored in its place.
func (v *Array) fillIsElement() bool {
	fill := v.a.meta.Fill
	switch {
	case v.a.meta.Format == 3, v.Kind() == vlen.JSON:
		return true
	}
	return v.Kind() == vlen.Text && len(fill) > 0 && fill[0] == '"'
}

// isFillElement reports whether all elements are fill.
func isFillElement(e *vlen.Elements, fill []byte) bool {
	for i := range e.Len() {
		if string(e.At(i)) != string(fill) {
			return false
		}
	}
	return true
}

// gather returns a chunk's elements: those before the first that is written as
// they are stored, and fill value in the padding.
func (w *writer) gather(chain *codec.Vlen, n, inner int64, old *object.Reader) (
	*vlen.Elements, error) {
	limit, fill := w.v.a.t.limit(), w.v.chain.Fill()
	e := &vlen.Elements{
		Kind: fill.Kind, Item: fill.Item, Data: slices.Clone(fill.At(0)),
		Spans: make([]vlen.Span, chain.Count()),
	}
	for i := range e.Spans {
		e.Spans[i] = vlen.Span{Len: uint32(len(e.Data))}
	}
	var before *vlen.Elements
	var err error
	if old != nil {
		shape := w.v.a.objects.ShapeAt(w.after.objects.Holder(n))
		if before, err = w.v.decode(shape, old, inner); object.IsMissing(err) {
			before, err = nil, nil
		}
	}
	box := w.after.grid.Box(n)
	for flat, in := range box.Runs() {
		kept := min(max(w.first-flat, 0), box.RunLen)
		if before != nil {
			for k := in; k < in+kept; k++ {
				at := len(e.Data)
				e.Data = append(e.Data, before.At(k)...)
				e.Spans[k] = vlen.Span{Off: uint32(at), Len: uint32(len(e.Data) - at)}
			}
		}
		if err == nil && kept < box.RunLen && w.in.Len() > 0 {
			err = w.in.Load(e, e.Spans[in+kept:in+box.RunLen], flat+kept-w.first, limit)
		}
		if err != nil {
			return nil, err
		}
	}
	return e, err
}

// reserve waits until there is memory to encode an object in, and returns what
// gives it back.
func (w *writer) reserve(object int64) (done func(), err error) {
	if w.in.Size() <= leastChunk/4 {
		return func() {}, nil
	}
	bytes := int64(0)
	w.after.objects.EachChunk(object, func(n, _ int64) {
		if n >= w.after.grid.Chunks() || err != nil {
			return
		}
		box := w.after.grid.Box(n)
		for flat := range box.Runs() {
			if lo := max(flat, w.first); lo < flat+box.RunLen && err == nil {
				var k int64
				k, err = w.in.Bytes(lo-w.first, flat+box.RunLen-lo)
				bytes += k
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if err := w.room.Acquire(context.Background(), bytes); err != nil {
		return nil, err
	}
	return func() { w.room.Release(bytes) }, nil
}

// tooLarge makes it the writer's doing that a chunk would be larger than one may
// be to be read.
func tooLarge(err error) error {
	if errors.Is(err, compress.ErrTooLarge) {
		err = fmt.Errorf("%w: %w", iofs.ErrInvalid, err)
	}
	return err
}

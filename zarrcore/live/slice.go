package live

import (
	"context"
	"fmt"
	"slices"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/pieces"
)

// This file shows a part of an array as an array: some indexes along each axis, perhaps in another
// order or as another type. It has no chunks and no draft of its own: what is read of it is
// gathered from the chunks of the array, and what is written to it is written to the array.

// A Slice says what of an array is shown, and as what.
type Slice struct {
	Along   []layout.Indexes // the indexes along each axis of the array
	Dropped []bool           // the axes that are not shown, because they have one index

	Meta    *meta.Array       // what is shown; its chunks and codecs say nothing
	Bytes   *layout.Selection // where its bytes are in the array
	Reverse *layout.Selection // of a slice in Fortran order: its bytes in that order; nil: C order

	// Values converts stored elements to the shown ones, and appends these to dst; nil: they are
	// the same.
	Values func(dst, stored []byte) []byte
}

// slice is a slice of an array that is open.
type slice struct {
	Slice
	of   *Array
	size int64 // bytes
}

// Slice returns a part of the array, as this generation has it.
func (a *Array) Slice(s Slice) *Array {
	gen := *a.gen
	gen.Meta, gen.Source = s.Meta, nil
	gen.Size = s.Bytes.Size()
	if s.Values != nil {
		gen.Size = gen.Size / a.gen.Meta.Type.Size * s.Meta.Type.Size
	}
	return &Array{
		shown: shown{of: a.of, gen: &gen, watch: a.watch}, handle: a.handle,
		reads: a.reads, slice: &slice{s, a, gen.Size},
	}
}

// inFortranOrder returns the slice as it is shown in Fortran order, if it is.
func (s *slice) inFortranOrder() (*Array, bool) {
	if s.Reverse == nil {
		return nil, false
	}
	reversed := s.Slice
	reversed.Bytes, reversed.Reverse = s.Reverse, nil
	return s.of.Slice(reversed), true
}

// IsSlice reports whether a is a part of an array.
func (a *Array) IsSlice() bool { return a.slice != nil }

// Part returns the part of an array that a is, and the whole array. If a is all of an array, whole
// is nil.
func (a *Array) Part() (part Slice, whole *Array) {
	if a.slice == nil {
		return part, nil
	}
	return a.slice.Slice, a.slice.of
}

// Stretch returns where the first byte of a lies in the whole array, and whether all bytes follow
// it there. Of a slice whose bytes do not it returns 0.
func (a *Array) Stretch() (at int64, ok bool) {
	if a.slice == nil {
		return 0, true
	}
	at, err := a.slice.stretch()
	return at, err == nil
}

// stretch returns where the slice begins in its array, or why it is not one stretch of its bytes.
func (s *slice) stretch() (at int64, err error) {
	at, ok := s.Bytes.Contiguous()
	switch {
	case s.Values != nil:
		return 0, fmt.Errorf("%w: its values are computed", ErrNotInPlace)
	case !ok:
		return 0, fmt.Errorf("%w: its bytes do not follow each other in the array", ErrNotInPlace)
	}
	return at, nil
}

// read returns bytes [off, off+n) of the slice, which lie in it.
func (s *slice) read(ctx context.Context, off, n int64) (*Pieces, error) {
	if s.Values == nil {
		return s.stored(ctx, off, n)
	}
	to, from := s.Meta.Type.Size, s.of.gen.Meta.Type.Size
	first := off / to
	found, err := s.stored(ctx, first*from, ((off+n+to-1)/to-first)*from)
	if err != nil {
		return nil, err
	}
	defer found.Release()
	var shown []byte
	for _, b := range found.Bufs { // one: whole elements
		shown = s.Values(shown, b)
	}
	return pieces.Of([][]byte{shown[off-first*to:][:n]}, nil), nil
}

// stored returns bytes [off, off+n) as they are stored.
func (s *slice) stored(ctx context.Context, off, n int64) (*Pieces, error) {
	if err := s.of.saveOthers(ctx); err != nil {
		return nil, err
	}
	p, err := s.of.reads.Selected(ctx, s.Bytes, off, n)
	if isMoved(err) {
		s.of.Arrive(ctx)
		if live := s.of.Live(); live != s.of && slices.Equal(live.gen.Meta.Shape,
			s.of.gen.Meta.Shape) {
			return live.Slice(s.Slice).slice.stored(ctx, off, n)
		}
	}
	if err == nil {
		s.of.of.Shared.Count.Served.Add(n)
	}
	return p, err
}

// write is write of a slice.
func (s *slice) write(ctx context.Context, p []byte, off int64, must bool) (int, error) {
	at, err := s.stretch()
	if err == nil && (off < 0 || int64(len(p)) > s.size-off) {
		err = fmt.Errorf("%w: %d bytes at %d of a slice of %d",
			object.ErrFixedSize, len(p), off, s.size)
	}
	if err != nil {
		return 0, s.of.draft.fail("write", err)
	}
	return s.of.write(ctx, p, at+off, must)
}

// clear is Clear of a slice.
func (s *slice) clear(ctx context.Context, off, n int64) error {
	at, err := s.stretch()
	if err != nil {
		return s.of.draft.fail("write", err)
	}
	if n = min(n, s.size-off); n <= 0 {
		return nil
	}
	return s.of.Clear(ctx, at+off, n)
}

// nextData is NextData of a slice.
func (s *slice) nextData(ctx context.Context, off int64) (start, end int64, err error) {
	at, err := s.stretch()
	if err != nil || off >= s.size {
		return min(off, s.size), s.size, nil
	}
	start, end, err = s.of.NextData(ctx, at+off)
	return min(start-at, s.size), min(end-at, s.size), err
}

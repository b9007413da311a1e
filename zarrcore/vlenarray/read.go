package vlenarray

import (
	"context"
	"errors"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/lines"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// ErrChanged says that the array's objects have changed since it was opened. Its lines are no
// longer where they were.
var ErrChanged = lines.ErrChanged

// A epochSource is an array in one epoch, as package lines sees it.
type epochSource struct {
	*state
	epoch uint64
}

// Grid implements lines.Source.
func (s *epochSource) Grid() *layout.Grid { return s.a.grid }

// Fill implements lines.Source.
func (s *epochSource) Fill() *vlen.Elements { return s.chain.Fill() }

// Accepts implements lines.Source.
func (s *epochSource) Accepts(element []byte) error { return s.chain.Accepts(element) }

// Elements implements lines.Source.
func (s *epochSource) Elements(ctx context.Context, n int64) (*vlen.Elements, error) {
	return s.a.t.chunks.Get(ctx, s.key(n), func() (*vlen.Elements, error) {
		s.announce(n)
		e, err := s.load(ctx, n)
		if err == nil && e != nil {
			s.a.t.Count.Chunks.Add(1)
			s.a.t.Count.Bytes.Add(e.Bytes())
		}
		return e, err
	})
}

// Prefetch implements lines.Source. An error is reported to the reader that
// needs the chunk.
func (s *epochSource) Prefetch(ctx context.Context, n int64) {
	if !s.a.t.chunks.Has(s.key(n)) {
		go s.Elements(context.WithoutCancel(ctx), n)
	}
}

func (s *epochSource) key(n int64) lines.Key {
	return lines.Key{Array: s.a.id, Chunk: n, Epoch: s.epoch}
}

// A LineReader reads the lines of an array: one for each element, in C order,
// as package vlen spells them. Its methods may be called concurrently.
type LineReader struct {
	v *Array
	r *lines.Reader
}

// Lines returns a reader of the array's lines.
func (v *Array) Lines() *LineReader { return &LineReader{v, lines.NewReader(v.index)} }

// ReadAt reads up to len(p) bytes from byte off of the lines; less only at the
// end, which is io.EOF. A program that reads in order has each chunk decoded
// when it comes to it; a read elsewhere first counts what lies before it.
func (r *LineReader) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := r.r.ReadAt(ctx, p, off)
	return r.v.served(n, err)
}

// ReadFixed reads up to len(p) bytes from byte off of the array as strings of a
// fixed width, one after the other in C order: width characters of UTF-32, or
// width bytes, padded with NUL. Less is read only at the end, which is io.EOF.
func (v *Array) ReadFixed(ctx context.Context, p []byte, off, width int64) (int, error) {
	n, err := lines.ReadFixed(ctx, v.source, p, off, width)
	return v.served(n, err)
}

// served counts what was read, and names the array where it has changed. Other
// errors name it already.
func (v *Array) served(n int, err error) (int, error) {
	v.a.t.Count.Served.Add(int64(n))
	var named *catalog.Error
	if (errors.Is(err, ErrChanged) || errors.Is(err, lines.ErrRange)) && !errors.As(err, &named) {
		err = &catalog.Error{Op: "read", Path: v.a.path, Err: err}
	}
	return n, err
}

package vlenarray

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// This file tells a chunk that is not stored from a chunk not found. A missing chunk is the fill
// value only where the array has been at its path all the while. Otherwise the objects of the array
// may be on their way to another path, or gone.

// load decodes chunk n; nil if it is not stored. An array that this process renames meanwhile
// is read at its new path.
func (s *state) load(ctx context.Context, n int64) (*vlen.Elements, error) {
	t := s.a.t
	for {
		moves, a := t.moves.Load(), s.here()
		e, err := s.loadAt(ctx, a, n)
		isFound := err == nil
		if errors.Is(err, object.ErrMissing) {
			err = s.stays(ctx, a)
		}
		if gone := t.away.Wait(ctx, a.path); gone != nil { // for the end of a rename
			return nil, gone
		}
		if isFound && s.here() == a { // otherwise it may be what another array has there
			return e, nil
		}
		if !isFound && t.moves.Load() == moves {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// stays returns nil if the documents at the array's path are those of the array. It may have got
// more rows, or other attributes.
func (s *state) stays(ctx context.Context, a *place) error {
	n, err := a.t.Catalog.Array(ctx, a.path)
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		err := fmt.Errorf("%w: it was removed or renamed, open it again", ErrChanged)
		return &catalog.Error{Op: "read", Path: a.path, Err: err}
	case err != nil:
		return err
	case n.Version == a.version, n.Meta.SameLayout(a.meta) && reaches(n.Meta.Shape, a.meta.Shape):
		return nil
	}
	return changed(a, n)
}

// loadAt decodes chunk n of the array a, which is s.a at its path or at its new path after a
// rename. e is nil if the shard lacks the chunk. If there is no object, the error is
// object.ErrMissing.
func (s *state) loadAt(ctx context.Context, a *place, n int64) (e *vlen.Elements, err error) {
	end, err := a.t.relaying.Use(ctx, a.path)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := s.reachesEnd(ctx, a); err != nil {
		return nil, err
	}
	shape, err := s.shapeStored(ctx, a, a.objects.Holder(n))
	if err != nil {
		return nil, err
	}
	err = a.withObject(ctx, n, func(src *object.Reader, inner int64) error {
		if e, err = s.decode(shape, src, inner); errors.Is(err, codec.ErrEmpty) {
			e, err = nil, nil // the shard is there, and does not have the chunk
		}
		return err
	})
	return e, err
}

// reachesEnd returns an error if this process has truncated rows that s has. The document is looked
// at only if rows of any array were truncated since it was last found to be the same.
func (s *state) reachesEnd(ctx context.Context, a *place) error {
	cuts := a.t.cuts.Load()
	if a.objects.IsBounded() || s.cuts.Load() == cuts {
		return nil
	}
	n, err := a.t.Catalog.Array(ctx, a.path)
	switch {
	case err != nil: // it is being renamed or removed, of which load knows
	case n.Version == a.version:
		s.cuts.Store(cuts)
	case n.Meta.SameLayout(a.meta) && !reaches(n.Meta.Shape, a.meta.Shape):
		return changed(a, n)
	}
	return nil
}

// decode decodes a chunk of an object of that shape. A killed process may have
// left more rows in it than the document says.
func (s *state) decode(shape []int64, src *object.Reader, inner int64) (*vlen.Elements, error) {
	shape = s.fitted(shape, src)
	chain, err := s.chains.OfShape(shape)
	if err != nil {
		return nil, err
	}
	if inner >= chain.PerObject() {
		return nil, codec.ErrEmpty // a shard of fewer rows
	}
	e, err := chain.Decode(src, inner, s.a.t.limit())
	var count *codec.CountError
	if !s.a.objects.IsBounded() || chain.IsSharded() || !errors.As(err, &count) {
		return e, err
	}
	longer, row := slices.Clone(shape), count.Expected/shape[0]
	longer[0] = count.Found / row
	if count.Found%row != 0 || longer[0] <= shape[0] || longer[0] > s.a.meta.Bounded[0] {
		return nil, err
	}
	if chain, err = s.chains.OfShape(longer); err != nil {
		return nil, err
	}
	return chain.Decode(src, inner, s.a.t.limit())
}

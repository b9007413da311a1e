package vlenarray

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/store"
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

// here returns the array at the path to which it was renamed last.
func (s *state) here() *place {
	if a := s.moved.Load(); a != nil {
		return a
	}
	return s.a
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

// reaches reports whether axis 0 of shape is at least as long as in least, if there is one.
func reaches(shape, least []int64) bool { return len(least) == 0 || shape[0] >= least[0] }

// changed is the error of an array whose documents are those of n by now.
func changed(a *place, n *catalog.Node) error {
	err := fmt.Errorf("%w: expected shape %v, found %v", ErrChanged, a.meta.Shape, n.Meta.Shape)
	return &catalog.Error{Op: "read", Path: a.path, Err: err}
}

// at returns the array as it is at another path.
func (s *state) at(path string) (*place, error) {
	old := s.a
	a := &place{
		t: old.t, id: old.id, path: path, meta: old.meta, version: old.version,
		lengths: old.lengths,
	}
	return a, s.cut(a)
}

// Leave is called before arrays at these paths, or below them, are moved or removed. Until the
// caller calls arrived, writers of these arrays wait, and so do loads that find an object missing.
func (t *Table) Leave(paths ...string) (arrived func()) {
	resume, end := t.storing.Stop(paths...), t.away.Stop(paths...)
	t.moves.Add(1)
	return func() {
		t.moves.Add(1)
		end()
		resume()
	}
}

// Move lets programs that have arrays at or below from open read them at or below to. No array at
// either path has a current generation after it. The caller has called Leave.
func (t *Table) Move(from, to string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := t.takeBelow(from)
	t.takeBelow(to) // what was opened there before the rename
	for s := range t.followers {
		if s.readers.Load() == 0 {
			delete(t.followers, s)
			continue
		}
		left = append(left, s)
	}
	for _, s := range left {
		path, ok := store.Moved(s.here().path, from, to)
		if !ok {
			continue
		}
		if a, err := s.at(path); err == nil {
			s.moved.Store(a)
			t.followers[s] = struct{}{}
		}
	}
}

// takeBelow retires the current generations of the arrays at path and below it, and returns
// them. The caller holds mu.
func (t *Table) takeBelow(path string) (taken []*state) {
	for p, s := range t.arrays {
		if _, below := store.Moved(p, path, path); below {
			s.retire()
			delete(t.arrays, p)
			taken = append(taken, s)
		}
	}
	return taken
}

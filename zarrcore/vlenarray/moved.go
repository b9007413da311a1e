package vlenarray

import (
	"fmt"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// here returns the array at the path to which it was renamed last.
func (s *state) here() *place {
	if a := s.moved.Load(); a != nil {
		return a
	}
	return s.a
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

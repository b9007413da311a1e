package live

import (
	"errors"
	"fmt"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
)

// This file shows an array stored in Fortran order as one with its axes reversed, stored in C
// order. The chunks are the same, with their coordinates and axes turned around, and no transpose
// is needed. A program that reads or writes in Fortran order goes through the chunks as they are.
// meta.Array.IsInFortranOrder says which arrays are shown so.

// InOrder returns the array whose bytes are those of this one in Fortran order, if fortran is set,
// otherwise in C order. It is for a program that has written a header of that order. An array that
// is not shown in that order is errors.ErrUnsupported: no byte may be put where another order has
// it.
func (a *Array) InOrder(fortran bool) (*Array, error) {
	shown := a
	if t, ok := a.Transposed(); ok {
		shown = t
	}
	if len(a.gen.Meta.Shape) > 1 && fortran != (shown != a) {
		err := fmt.Errorf("expected an array in %s order, found one in %s order: %w",
			orderName(fortran), orderName(!fortran), errors.ErrUnsupported)
		return nil, &catalog.Error{Op: "write", Path: a.gen.Path, Err: err}
	}
	return shown, nil
}

func orderName(fortran bool) string {
	if fortran {
		return "Fortran"
	}
	return "C"
}

// Transposed returns the array with its axes reversed, if it is shown in
// Fortran order: its bytes are those of the array in Fortran order. What is
// written to the one is seen in the other. Neither can be resized through it.
func (a *Array) Transposed() (*Array, bool) {
	if a.slice != nil {
		return a.slice.inFortranOrder()
	}
	if a.gen.Source != nil || !a.gen.Meta.IsInFortranOrder() {
		return nil, false
	}
	d := a.draft
	d.mu.Lock()
	defer d.mu.Unlock()
	a = d.live.Load() // a past generation's must not take the place of the one that counts
	if t := a.lineage.reversed.Load(); t != nil {
		if live := t.live.Load(); live.gen.Source == a.gen.Meta {
			return live, true
		}
	}
	t, err := a.reversed()
	if err != nil {
		return nil, false
	}
	if old := a.lineage.reversed.Swap(t.draft); old != nil {
		was := old.live.Load()
		was.past.Store(true)
		was.retire()
	}
	return t, true
}

// reversed binds the array with its axes reversed.
func (a *Array) reversed() (*Array, error) {
	a.h.open.mu.Lock()
	version := a.version
	a.h.open.mu.Unlock()
	n := &catalog.Node{Path: a.gen.Path, Meta: a.gen.Meta.Reversed(), Version: version}
	return a.h.opener.newArray(n, a.gen.Meta, a.lineage)
}

package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
)

// This file shows an array that is stored in Fortran order as one with its axes
// reversed, which is stored in C order: the same chunks, their coordinates and
// axes turned around, and no transpose to be done. A program that reads or
// writes in Fortran order goes through its chunks as they are. Which arrays are
// shown so, meta.Array.FortranOrder says.

// The orders of an array are the two ways to see it, each of which has a draft.
type orders struct {
	twin atomic.Pointer[draft] // of the same array seen with its axes reversed

	// pair is that of both: held while the array is written, or gets another size, by one of them.
	pair *sync.Mutex
}

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
	if a.gen.Source != nil || !a.gen.Meta.FortranOrder() {
		return nil, false
	}
	d := a.draft
	d.mu.Lock()
	defer d.mu.Unlock()
	a = d.live.Load() // a past generation's must not take the place of the one that counts
	if t := d.twin.Load(); t != nil {
		if live := t.live.Load(); live.gen.Source == a.gen.Meta {
			return live, true
		}
	}
	t, err := a.reversed()
	if err != nil {
		return nil, false
	}
	t.draft.pair, t.draft.place = d.pair, d.place
	t.draft.twin.Store(d)
	if old := d.twin.Swap(t.draft); old != nil {
		old.inherit(t.draft)
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
	return a.h.newArray(n, a.gen.Meta, a.draft.where)
}

// storeBoth stores what was written, however the array is seen. The caller has
// paused it.
func (d *draft) storeBoth(ctx context.Context) error {
	if twin := d.twin.Load(); twin != nil {
		s := twin.storer()
		defer s.leaveHome()
		if err := s.storeIfBusy(ctx, true); err != nil {
			return err
		}
	}
	s := d.storer()
	defer s.leaveHome()
	return s.storeIfBusy(ctx, true)
}

// yield stores what was written through the other way to see the array, so that
// it is seen through this one.
func (d *draft) yield(ctx context.Context) error {
	twin := d.twin.Load()
	if twin == nil || !twin.busy.Load() {
		return nil
	}
	return twin.save(ctx, false)
}

// both returns the drafts of both ways to see the array, that of d first.
func (d *draft) both() []*draft {
	if twin := d.twin.Load(); twin != nil {
		return []*draft{d, twin}
	}
	return []*draft{d}
}

// alone takes pair and mu when nothing is dirty through the other way to see the array,
// or, if must is set, cannot be stored. If it fails it takes nothing.
func (d *draft) alone(ctx context.Context, must bool) error {
	for {
		err := d.yield(ctx)
		if err != nil && !must {
			return err
		}
		d.pair.Lock()
		d.mu.Lock()
		twin := d.twin.Load()
		if err != nil || twin == nil || d.removed || twin.set.Empty() && twin.cuts.IsNone() {
			return nil
		}
		d.part()
	}
}

// part gives back what alone has taken.
func (d *draft) part() {
	d.mu.Unlock()
	d.pair.Unlock()
}

// outgrown returns the array in C order if d is of its reversed one, and that is not of its
// present shape; otherwise nil. The caller holds pair.
func (d *draft) outgrown() *Array {
	if a := d.live.Load(); a.gen.Source != nil {
		if c := d.twin.Load().live.Load(); c.gen.Meta != a.gen.Source {
			return c
		}
	}
	return nil
}

package live

import (
	"context"
	"errors"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
)

// This file is about an array that another program makes longer or shorter while some have it open
// here. Open handles keep its shape, and later opens see the new one. Writes by any handle are
// visible to all.

// precede notes that another program has changed the array's length: to a's. Open handles keep its
// shape until a program writes; see unite.
func (d *draft) precede(a *Array) {
	if d.isOtherThan(a.draft.place) || !d.live.Load().gen.Meta.SameLayout(a.gen.Meta) {
		return
	}
	if !d.inUse() {
		d = d.earlier.Load()
	}
	if d != nil {
		d.later.Store(a.draft)
		a.draft.earlier.Store(d)
	}
}

// prepareSuccessor stores what the next generation could not show otherwise, because
// its document is another one: what was written in Fortran order, and what is being
// stored where objects end with the array.
func (d *draft) prepareSuccessor(ctx context.Context) error {
	if err := d.yield(ctx); err != nil && !errors.Is(err, catalog.ErrOrphan) {
		return err
	}
	if d.busy.Load() && d.live.Load().gen.Objects.Bounded() {
		d.flushing.Lock()
		defer d.flushing.Unlock()
	}
	return nil
}

// yielded reports whether all that was written in Fortran order is stored, as far as
// it can be. The caller holds pair.
func (d *draft) yielded() bool {
	twin := d.twin.Load()
	if twin == nil || !twin.busy.Load() {
		return true
	}
	twin.mu.Lock()
	defer twin.mu.Unlock()
	return errors.Is(twin.failed.Err, catalog.ErrOrphan)
}

// unite lets all who have the array open have it as it is now, also those who did
// before another program changed its length: what is written by one of them is then
// seen by the others.
func (d *draft) unite() {
	c := d.inOrder()
	if later := c.later.Load(); later != nil {
		c.yieldTo(later)
	}
	for e := c.earlier.Load(); e != nil && e.yieldTo(c); e = e.earlier.Swap(nil) {
		c.earlier.CompareAndSwap(e, nil)
	}
}

// inOrder returns the draft of the array in C order.
func (d *draft) inOrder() *draft {
	if d.live.Load().gen.Source != nil {
		return d.twin.Load()
	}
	return d
}

// yieldTo makes later the heir, if it may, and reports whether it is.
func (d *draft) yieldTo(later *draft) bool {
	d.pair.Lock()
	defer d.pair.Unlock()
	if d.yields() {
		d.bequeath(later.live.Load())
	}
	return d.heir.Load() != nil
}

// yields reports whether another may take the draft's place, which is of C order: nothing of it is
// unsaved, and no program has the array open in Fortran order. There an element is at another byte
// as soon as the array is longer. A program that does not know would write to the wrong one.
func (d *draft) yields() bool {
	twin := d.twin.Load()
	return d.heir.Load() == nil && d.clean() && (twin == nil || twin.readers.Load() == 0)
}

// preceded reports whether unite is to be called once more. The caller holds pair.
func (d *draft) preceded() bool {
	c := d.inOrder()
	return c.later.Load() != nil && c.yields()
}

// yieldEarlier stores what was written by programs that have the array open as it was
// before another program changed its length. An error of that is theirs.
func (d *draft) yieldEarlier(ctx context.Context) {
	for e := d.inOrder().earlier.Load(); e != nil; e = e.earlier.Load() {
		for _, d := range e.both() {
			if d.busy.Load() && d.refused() == nil {
				d.save(ctx, false)
			}
		}
	}
}

// changedForLater lets those who have opened the array since another program changed
// its length see an object that was stored.
func (d *draft) changedForLater() {
	for later := d.inOrder().later.Load(); later != nil; later = later.later.Load() {
		live := later.live.Load()
		live.changed()
		live.recheck()
	}
}

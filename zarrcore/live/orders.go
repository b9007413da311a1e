package live

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
)

// An order is a way to see an array.
type order int

const (
	cOrder       order = iota // as it is stored
	fortranOrder              // with its axes reversed; see transposed.go
	orderCount                // how many there are
)

// The orders of an array are the two ways to see it, each of which has a draft. Each stores its
// dirty bytes before the other is used, and only one is written or resized at a time.
type orders struct {
	straight *draft
	reversed atomic.Pointer[draft] // of the array seen with its axes reversed; nil until it is

	pair sync.Mutex // held while the array is written, or gets another size, in one order

	changing atomic.Int64 // how many changes of this process hold it by change
}

// draft returns the draft of an order in which the array was seen.
func (o *orders) draft(of order) *draft {
	if of == fortranOrder {
		return o.reversed.Load()
	}
	return o.straight
}

// other returns the draft of the order that d is not of; nil if the array was not seen so.
func (o *orders) other(d *draft) *draft {
	if d.order == fortranOrder {
		return o.straight
	}
	return o.reversed.Load()
}

// drafts returns the drafts of the orders in which the array was seen, that of C order first.
func (o *orders) drafts() []*draft {
	if reversed := o.reversed.Load(); reversed != nil {
		return []*draft{o.straight, reversed}
	}
	return []*draft{o.straight}
}

// isClean reports whether nothing of the array is dirty, however it is seen.
func (o *orders) isClean() bool {
	reversed := o.reversed.Load()
	return !o.straight.busy.Load() && (reversed == nil || !reversed.busy.Load())
}

// pause makes writers wait, and holds flushing, until resume is called, however the array is seen.
func (o *orders) pause() (resume func()) {
	held := o.drafts()
	for _, d := range held {
		d.flushing.Lock()
		d.hold(1)
	}
	return func() {
		for _, d := range held {
			d.hold(-1)
			d.flushing.Unlock()
		}
	}
}

// change is pause for a change of this process, after which the array is elsewhere, or another one,
// or no more.
func (o *orders) change() (resume func()) {
	o.changing.Add(1)
	end := o.pause()
	return func() {
		end()
		o.changing.Add(-1)
	}
}

// storeBoth stores what was written, however the array is seen. The caller has paused it.
func (o *orders) storeBoth(ctx context.Context) error {
	for _, d := range slices.Backward(o.drafts()) {
		s := d.storer()
		defer s.leaveHome()
		if err := s.storeIfBusy(ctx, true); err != nil {
			return err
		}
	}
	return nil
}

// abandon forgets what was written, however the array is seen: it is no more, or another one. The
// caller has paused it.
func (o *orders) abandon() {
	for _, d := range o.drafts() {
		d.forget()
	}
}

// saveOther stores what was written in the order that d is not of, so that it is seen in that of d.
func (o *orders) saveOther(ctx context.Context, d *draft) error {
	other := o.other(d)
	if other == nil || !other.busy.Load() {
		return nil
	}
	return other.save(ctx, false)
}

// lockAlone takes pair and the mu of d when nothing is dirty in the other order, or, if must is
// set, cannot be stored. If it fails it takes nothing.
func (o *orders) lockAlone(ctx context.Context, d *draft, must bool) error {
	for {
		err := o.saveOther(ctx, d)
		if err != nil && !must {
			return err
		}
		o.pair.Lock()
		d.mu.Lock()
		other := o.other(d)
		if err != nil || other == nil || d.removed ||
			other.set.IsEmpty() && other.truncation.IsNone() {
			return nil
		}
		o.unlock(d)
	}
}

// unlock gives back what lockAlone has taken.
func (o *orders) unlock(d *draft) {
	d.mu.Unlock()
	o.pair.Unlock()
}

// await is lockAlone once not too much of d is on its way to the store, and the array is not being
// moved. While it waits it holds nothing: what stores may need the locks.
func (o *orders) await(ctx context.Context, d *draft, must bool) error {
	for {
		if err := o.lockAlone(ctx, d, must); err != nil {
			return err
		}
		if !d.makesWait() {
			return nil
		}
		o.pair.Unlock()
		d.settled.Wait()
		d.mu.Unlock()
	}
}

// outgrown returns the array in C order if d is of the reversed one, and that is not of its present
// shape; otherwise nil. The caller holds pair.
func (o *orders) outgrown(d *draft) *Array {
	if source := d.live.Load().gen.Source; source != nil {
		if c := o.straight.live.Load(); c.gen.Meta != source {
			return c
		}
	}
	return nil
}

// prepareSuccessor stores what the next generation could not show otherwise, because its document
// is another one: what was written in Fortran order, and what is being stored where objects end
// with the array.
func (o *orders) prepareSuccessor(ctx context.Context) error {
	d := o.straight
	if err := o.saveOther(ctx, d); err != nil && !errors.Is(err, catalog.ErrOrphan) {
		return err
	}
	if d.busy.Load() && d.live.Load().gen.Objects.IsBounded() {
		d.flushing.Lock()
		defer d.flushing.Unlock()
	}
	return nil
}

// hasYielded reports whether all that was written in Fortran order is stored, as far as it can be.
// The caller holds pair.
func (o *orders) hasYielded() bool {
	reversed := o.reversed.Load()
	if reversed == nil || !reversed.busy.Load() {
		return true
	}
	reversed.mu.Lock()
	defer reversed.mu.Unlock()
	return errors.Is(reversed.failed.Err, catalog.ErrOrphan)
}

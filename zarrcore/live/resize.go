package live

import (
	"context"
	"fmt"

	"github.com/zarrfs/zarrfs/zarrcore/object"
)

// extend lets axis 0 grow so that the array has at least size bytes. The caller
// holds mu.
func (d *draft) extend(size int64) error {
	b, err := d.longer(size)
	if err == nil {
		d.grow(b)
	}
	return err
}

// grow makes b, which longer has returned, the live generation: everybody sees the
// new size from then on.
func (d *draft) grow(b *Array) {
	d.truncation.HadRows(b.gen.Rows())
	d.adopt(b)
}

// SetSize truncates or extends axis 0 of the live array so that it has size bytes. What is new is
// the fill value, also where it was truncated before. It is stored by the next Flush. A fraction of
// a row is ErrFraction.
func (a *Array) SetSize(ctx context.Context, size int64) error {
	if a.slice != nil {
		return a.draft.fail("resize", fmt.Errorf("%w: it is a slice", object.ErrFixedSize))
	}
	now := a.arrived(ctx)
	d, l := now.draft, now.lineage
	if err := d.live.Load().Writable(); err != nil {
		return d.fail("resize", err)
	}
	l.adoptLater()
	if err := l.saveOther(ctx, d); err != nil {
		return d.fail("resize", err)
	}
	if d.order == fortranOrder { // this only returns that it cannot
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.fail("resize", d.setSize(size))
	}
	d.flushing.Lock()
	if !now.isNewest() || now.isAstray() { // meanwhile
		d.flushing.Unlock()
		if next := now.arrived(ctx); next != now {
			return next.draft.live.Load().SetSize(ctx, size)
		}
		d.flushing.Lock()
	}
	defer d.flushing.Unlock()
	if err := l.lockAlone(ctx, d, false); err != nil {
		return d.fail("resize", err)
	}
	defer l.unlock(d)
	return d.fail("resize", d.setSize(size))
}

// setSize is SetSize; the caller holds flushing and mu.
func (d *draft) setSize(size int64) error {
	a := d.live.Load()
	row := a.gen.Grid.RowBytes()
	switch {
	case size == a.Size() || d.removed:
		return nil
	case row == 0 || a.gen.Source != nil:
		return a.gen.Fixed(fmt.Sprintf("expected %d bytes, found %d", a.Size(), size))
	case size%row != 0:
		return fmt.Errorf("%w: %d bytes, a row has %d", object.ErrFraction, size, row)
	}
	if size < a.Size() {
		return d.truncate(size / row)
	}
	d.touch()
	return d.extend(size)
}

// truncate forgets all rows from rows on, dirty or stored. The caller holds flushing
// and mu, so no chunk is frozen.
func (d *draft) truncate(rows int64) error {
	a := d.live.Load()
	b, err := d.next(a.gen.WithRows(rows, rows*a.gen.Grid.RowBytes(), d.h.open.nextID()))
	if err != nil {
		return err
	}
	d.touch()
	for _, n := range d.set.Numbers() {
		if first, end, row := a.gen.Grid.Rows(n); end > rows {
			d.set.Truncate(n, max(0, rows-first)*row)
			d.complete.Backlog -= d.complete.Remove(n, a.gen.Objects.Holder(n))
		}
	}
	d.truncation.Truncate(a.gen.Rows(), rows)
	d.ahead.Truncate(rows)
	// If bytes that could not be stored are truncated, their error is nobody's any more.
	if d.set.IsEmpty() {
		d.settleError()
	}
	d.adopt(b)
	return nil
}

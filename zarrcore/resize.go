package zarrcore

import (
	"context"
	"errors"
	"fmt"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/band"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
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
	d.cuts.HadRows(b.rows())
	d.adopt(b)
}

// longer returns the generation of the array that has so many bytes. The caller holds mu.
func (d *draft) longer(size int64) (*Array, error) {
	a := d.live.Load()
	row := a.grid.RowBytes()
	if row == 0 || a.source != nil {
		return nil, a.fixed(fmt.Sprintf("it has %d bytes, byte %d was to be written", a.Size(), size-1))
	}
	rows := (size-1)/row + 1
	id := a.id
	if a.objects.Bounded() && rows != a.rows() {
		id = a.h.generation.Add(1) // the last chunks have another length
	}
	b, err := a.withRows(rows, size, id)
	if errors.Is(err, meta.ErrInvalid) || errors.Is(err, layout.ErrInvalid) {
		err = fmt.Errorf("%w: %w", ErrFixedSize, err)
	}
	return b, err
}

// fixed is the error for a size that the array cannot have.
func (a *Array) fixed(found string) error {
	if a.source == nil {
		return fmt.Errorf("%w: %s", ErrFixedSize, found)
	}
	return fmt.Errorf("%w: %s: in Fortran order rows of axis 0 do not stand one behind the other, so that none is at its end; "+
		"extend or cut it in C order, which is the .raw file, or set the shape in the .json file", ErrFixedSize, found)
}

// withRows returns the generation of the array that has so many rows, and size
// bytes, under the cache's number id.
func (a *Array) withRows(rows, size int64, id uint64) (*Array, error) {
	if rows == a.rows() && id == a.id {
		b := a.copy()
		b.size = size
		return b, nil
	}
	m, err := a.meta.WithShape(append([]int64{rows}, a.meta.Shape[1:]...))
	if err != nil {
		return nil, err
	}
	b := a.copy()
	b.meta, b.id = m, id
	if err := b.setGrids(); err != nil {
		return nil, err
	}
	if err := b.rebind(a); err != nil {
		return nil, err
	}
	b.watch = a.watch.Next(b.objects.Keys, b.newEpoch)
	b.size = size
	b.bands = band.NewSet(b.grid, m.Fill, b, a.h.pool)
	return b, nil
}

// adopt makes b the live generation. The caller holds mu.
func (d *draft) adopt(b *Array) {
	h, old := d.h, d.live.Load()
	old.past.Store(true) // before anybody can store an object as of b
	h.mu.Lock()
	d.live.Store(b)
	b.version = old.version
	if h.arrays[d.path] == old {
		h.arrays[d.path] = b
	}
	h.mu.Unlock()
	if b.id != old.id {
		h.cache.Drop(old.id)
	}
	if b.bands != old.bands && old.bands != nil {
		old.bands.Close()
	}
}

// SetSize cuts or extends axis 0 of the live array so that it has size bytes;
// what is new is the fill value, also where it was cut before. It is stored by
// the next Flush. A fraction of a row is ErrFraction.
func (a *Array) SetSize(ctx context.Context, size int64) error {
	d := a.draft.arrived(ctx)
	if err := d.live.Load().Writable(); err != nil {
		return d.fail("resize", err)
	}
	d.unite()
	if err := d.yield(ctx); err != nil {
		return d.fail("resize", err)
	}
	if d.live.Load().source != nil { // it only tells that it cannot
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.fail("resize", d.setSize(size))
	}
	d.flushing.Lock()
	if d.heir.Load() != nil || d.astray() { // meanwhile
		d.flushing.Unlock()
		if next := d.arrived(ctx); next != d {
			return next.live.Load().SetSize(ctx, size)
		}
		d.flushing.Lock()
	}
	defer d.flushing.Unlock()
	if err := d.alone(ctx, false); err != nil {
		return d.fail("resize", err)
	}
	defer d.part()
	return d.fail("resize", d.setSize(size))
}

// setSize is SetSize; the caller holds flushing and mu.
func (d *draft) setSize(size int64) error {
	a := d.live.Load()
	row := a.grid.RowBytes()
	switch {
	case size == a.Size() || d.removed:
		return nil
	case row == 0 || a.source != nil:
		return a.fixed(fmt.Sprintf("expected %d bytes, found %d", a.Size(), size))
	case size%row != 0:
		return fmt.Errorf("%w: %d bytes, a row has %d", ErrFraction, size, row)
	}
	if size < a.Size() {
		return d.cut(size / row)
	}
	d.touch()
	return d.extend(size)
}

// cut forgets all rows from rows on, dirty or stored. The caller holds flushing
// and mu, so no chunk is frozen.
func (d *draft) cut(rows int64) error {
	a := d.live.Load()
	b, err := a.withRows(rows, rows*a.grid.RowBytes(), a.h.generation.Add(1))
	if err != nil {
		return err
	}
	d.touch()
	for _, n := range d.set.Numbers() {
		if first, end, row := a.grid.Rows(n); end > rows {
			d.set.Cut(n, max(0, rows-first)*row)
			d.complete.Backlog -= d.complete.Remove(n, a.objects.Holder(n))
		}
	}
	d.cuts.Cut(a.rows(), rows)
	d.ahead.cut(rows)
	if d.set.Empty() { // the bytes that could not be stored are cut: their error is nobody's any more
		d.settleError()
	}
	d.adopt(b)
	return nil
}

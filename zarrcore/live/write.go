package live

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// WriteAt writes p at byte off of the live array, into memory; Flush stores it.
// What lies beyond the end lets axis 0 grow, by whole rows in the end: Size is
// then the last byte written, until Flush. An error that Flush reported is
// reported here too until a whole flush has succeeded.
func (a *Array) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	return a.write(ctx, p, off, false)
}

// Accept is WriteAt for bytes that their writer cannot keep, as the kernel's dirty pages: it takes
// them also while an error is pending. The array does not grow. What lies behind its end was
// truncated while the page waited, perhaps in this very call.
func (a *Array) Accept(ctx context.Context, p []byte, off int64) (int, error) {
	return a.write(ctx, p, off, true)
}

// write is WriteAt, or Accept where the bytes must be taken.
func (a *Array) write(ctx context.Context, p []byte, off int64, must bool) (n int, err error) {
	if a.slice != nil {
		return a.slice.write(ctx, p, off, must)
	}
	for {
		k, err := a.arrived(ctx).write(ctx, p[n:], off+int64(n), must)
		if n += k; err != nil || n >= len(p) {
			return n, err
		}
	}
}

// putInside is put. If inside is set, what lies behind the array's end has no effect.
func (d *draft) putInside(p []byte, off int64, inside bool) (int, error) {
	behind := 0
	if inside {
		size := max(0, d.live.Load().Size()-off)
		behind = len(p) - int(min(int64(len(p)), size))
	}
	p = p[:len(p)-behind]
	if len(p) == 0 {
		return behind, nil
	}
	n, err := d.put(p, off)
	if n == len(p) {
		n += behind
	}
	return n, err
}

// put copies p, or a first part of it, into dirty chunks. The caller holds mu.
func (d *draft) put(p []byte, off int64) (int, error) {
	a := d.live.Load()
	end := off + int64(len(p))
	if end <= a.Size() {
		return d.putInto(a, p, off)
	}
	b, err := d.longer(end)
	if err != nil {
		return 0, err
	}
	n, err := d.putInto(b, p, off)
	switch { // only now: a reader that sees the size finds the bytes
	case err == nil && n == len(p):
		d.grow(b)
	case off+int64(n) > a.Size():
		err = errors.Join(err, d.extend(off+int64(n)))
	}
	return n, err
}

// putInto is put into the array a, which has room for p and may not be the live one yet.
func (d *draft) putInto(a *Array, p []byte, off int64) (int, error) {
	gen := a.gen
	if gen.Meta.Type.HasNarrow() { // what is read back at once must be what will have been stored
		p = slices.Clone(p)
		gen.Meta.Type.Widen(p, off)
	}
	d.touch()
	n, runs := 0, 0
	for r := range gen.Grid.Runs(off, int64(len(p))) {
		if runs++; runs%crowdRuns == 0 && d.h.of.Dirty.IsCrowded() {
			break
		}
		size := gen.Grid.BytesOf(r.Chunk)
		covered, err := d.set.Write(r.Chunk, size, r.ChunkOff, p[r.Off-off:][:r.Len])
		if err != nil {
			return n, err
		}
		n += int(r.Len)
		if !gen.Ragged && covered == size ||
			gen.Ragged && covered == gen.Grid.InsideGrown(r.Chunk) {
			d.noteFull(gen, r.Chunk)
		}
	}
	d.kick()
	return n, nil
}

// write writes p, or a first part of it: see crowdRuns.
func (a handle) write(ctx context.Context, p []byte, off int64, must bool) (int, error) {
	d, l := a.draft, a.lineage
	if off < 0 || off > math.MaxInt64-int64(len(p)) {
		return 0, d.fail("write", fmt.Errorf("%w: byte %d", object.ErrFixedSize, off))
	}
	if err := d.live.Load().Writable(); err != nil {
		return 0, d.fail("write", err)
	}
	l.adoptLater()
	if err := l.await(ctx, d, must); err != nil {
		return 0, d.fail("write", err)
	}
	if l.hasLater() { // meanwhile
		l.unlock(d)
		return a.write(ctx, p, off, must)
	}
	err := d.failed.Err
	if d.removed || !a.isNewest() {
		l.unlock(d)
		return a.writeAfter(ctx, p, off, must)
	}
	if c := l.outgrown(d); c != nil {
		l.unlock(d)
		if t, ok := c.Transposed(); ok && t.draft != d {
			return t.arrived(ctx).write(ctx, p, off, must)
		}
		return 0, d.fail("write", fmt.Errorf("%w: its shape has changed", store.ErrConflict))
	}
	defer l.unlock(d)
	if err != nil && !must {
		return 0, d.fail("write", err)
	}
	n, err := d.putInside(p, off, must)
	a.keepToDirtyLimit()
	return n, d.fail("write", err)
}

// writeAfter is write once the array is another one, or no more.
func (a handle) writeAfter(ctx context.Context, p []byte, off int64, must bool) (int, error) {
	if next := a.arrived(ctx); next != a {
		return next.write(ctx, p, off, must)
	}
	if path := a.lineage.moved.Load(); path != nil {
		return 0, a.draft.fail("write", fmt.Errorf("%w: it was moved to %q, and is not there",
			store.ErrConflict, *path))
	}
	return len(p), nil
}

package live

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// A draft is what this process has changed of an array and has not stored yet:
// dirty chunks, and the length of axis 0. All generations that our own changes
// make of an array share it; how it gets into the store is in flush.go.
type draft struct {
	generations
	*place // that of both orders
	order  order

	flushing sync.Mutex // held while chunks are frozen, or truncated

	state // its mu also guards changes of live
}

// drainFrom is from how many bytes of complete objects on they are stored in the background.
const drainFrom = 8 << 20

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

// Writable returns nil, or why the array cannot be written to.
func (a *Array) Writable() error {
	switch {
	case !a.h.IsWritable():
		return store.ErrReadOnly
	case a.gen.Meta.Format == 1:
		return catalog.ErrVersion1
	case a.slice != nil:
		if _, err := a.slice.stretch(); err != nil {
			return err
		}
	}
	return a.gen.Chain.Writable()
}

func (d *draft) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	var known *catalog.Error
	if errors.As(err, &known) {
		return err
	}
	return &catalog.Error{Op: op, Path: d.path, Err: err}
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

// touch notes that there is something to store. The caller holds mu.
func (d *draft) touch() {
	d.last = time.Now()
	if d.since.IsZero() {
		d.since = d.last
	}
	if !d.busy.Swap(true) {
		d.h.unsaved.add(d)
	}
}

// kick starts storing complete objects once it is worth it. The caller holds mu.
func (d *draft) kick() {
	least := min(drainFrom, d.h.of.Dirty.Limit()/4)
	if d.drains || d.complete.Backlog < least || d.failed.Err != nil {
		return
	}
	d.drains = true
	go d.drain()
}

// forget forgets what was written: the array is no more, or another one. The caller has paused it.
func (d *draft) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state.forget()
	d.h.unsaved.remove(d)
}

// Live returns the newest generation that this process's own changes of the
// shape have made of the array; the array itself where there were none. It asks
// no store: see Arrive.
func (a *Array) Live() *Array {
	if a.slice != nil { // of one generation
		return a
	}
	return a.newest().draft.live.Load()
}

// isRemovedHere reports whether this process has removed the array. Where it is at it just
// now, that ends first.
func (d *draft) isRemovedHere() bool {
	d.flushing.Lock()
	defer d.flushing.Unlock()
	return d.isRemoved()
}

// isInUse reports whether somebody has the array open, however it is seen.
func (d *draft) isInUse() bool { return d.live.Load().lineage.isInUse() }

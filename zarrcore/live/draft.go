package live

import (
	"errors"
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

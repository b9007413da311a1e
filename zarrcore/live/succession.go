package live

import (
	"context"
	iofs "io/fs"
	"sync/atomic"
)

// A succession is what follows the array of a draft: another array took its place, or another
// program has made it longer or shorter. Handles that are open follow it. All is read without a
// lock.
type succession struct {
	heir    atomic.Pointer[draft] // of the array that took this one's place, by our own doing
	later   atomic.Pointer[draft] // of the array as another program has made it longer or shorter; see unite
	earlier atomic.Pointer[draft] // of which this is the later
}

// newest returns the draft that counts now, as far as that is known. It asks no
// store, so that it can be called while a lock is held.
func (d *draft) newest() *draft {
	for heir := d.heir.Load(); heir != nil; heir = d.heir.Load() {
		d = heir
	}
	return d
}

// arrived returns the draft that counts now. An array that was moved, and that
// nobody seemed to have open then, is opened at its new path for that, if it is
// there. The caller holds no lock.
func (d *draft) arrived(ctx context.Context) *draft {
	for d = d.newest(); d.astray(); d = d.newest() {
		a, err := d.openMoved(ctx)
		if err != nil {
			break
		}
		if d.live.Load().gen.Source == nil {
			d.bequeath(a)
		} else if t, ok := a.Transposed(); ok {
			d.inherit(t.draft)
		}
		if d.astray() {
			break
		}
	}
	return d
}

// openMoved opens the array at the path to which it was moved, and moved again since.
func (d *draft) openMoved(ctx context.Context) (a *Array, err error) {
	err = d.find(func(path string) (err error) {
		a, err = d.openAt(ctx, path)
		return err
	})
	return a, err
}

// openAt opens the array at the path to which it was moved. What is not stored yet of the draft is
// older than what will be written there, and is stored first.
func (d *draft) openAt(ctx context.Context, path string) (*Array, error) {
	if !d.isRemoved() {
		if _, err := d.inOrder().storeAt(ctx, path); err != nil {
			return nil, err
		}
		if !d.isRemoved() { // it is not there, or the rest is kept in a file
			return nil, iofs.ErrNotExist
		}
	}
	return d.h.Open(ctx, path)
}

// astray reports whether the array was moved and has no heir at its new path yet.
func (d *draft) astray() bool { return d.isMoved() && d.heir.Load() == nil }

// Live returns the newest generation that this process's own changes of the
// shape have made of the array; the array itself where there were none. It asks
// no store: see Arrive.
func (a *Array) Live() *Array {
	if a.slice != nil { // of one generation
		return a
	}
	return a.draft.newest().live.Load()
}

// bequeath redirects open handles of the array to a.
func (d *draft) bequeath(a *Array) {
	if a.draft == d {
		return
	}
	twin := d.twin.Load()
	if t, ok := a.Transposed(); ok && twin != nil {
		twin.inherit(t.draft)
	}
	d.inherit(a.draft)
}

// abandon forgets what was written, however the array is seen: it is no more, or
// another one. The caller has paused it.
func (d *draft) abandon() {
	for _, d := range d.both() {
		d.forget()
	}
}

// forget is abandon for one of the two ways to see the array.
func (d *draft) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state.forget()
	d.h.unsaved.remove(d)
}

// Dirty returns how many bytes are written and not stored, and the error of the last attempt to
// store them. The error stands until a whole flush has succeeded.
func (a *handle) Dirty() (bytes int64, err error) {
	d := a.draft.newest()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.set.Bytes(), d.failed.Err
}

// Unsaved reports whether anything of the array is not stored yet: bytes, or its length. It asks
// no store.
func (a *handle) Unsaved() bool { return a.draft.newest().busy.Load() }

// IsRemoved reports whether this process has removed the array from the store, or has found that
// another program has removed or renamed it. One that another has replaced for open handles is not
// removed.
func (a *handle) IsRemoved() bool { return a.draft.newest().isGone() }

// Arrive opens the array where it was moved to, unless that was done already.
// Only then Live returns what is there. What reads, writes or stores the array
// does so by itself.
func (a *handle) Arrive(ctx context.Context) {
	if d := a.draft.newest(); d.astray() {
		d.arrived(ctx)
	}
}

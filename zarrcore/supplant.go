package zarrcore

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// ErrOutdated says that an array has changed since it was copied.
var ErrOutdated = fmt.Errorf("%w: it has changed since it was copied", store.ErrConflict)

// Fingerprint returns a text that is another one after the document or an object of the array at
// path has been stored. Changes by other programs are seen too, unless the array has too many
// objects to look at.
func (h *Hierarchy) Fingerprint(ctx context.Context, path string) string {
	n, err := h.Node(ctx, path)
	if err != nil {
		return err.Error()
	}
	a, err := h.OpenArray(ctx, path)
	if err != nil {
		return n.Version
	}
	return a.Live().stored(n.Version)
}

// stored is Fingerprint of an array whose document has that version.
func (a *Array) stored(version string) string {
	epoch, stores := a.watch.Now()
	if a.watch.IsLarge() { // each open begins an epoch
		epoch = 0
	}
	return fmt.Sprintf("%s %d.%d.%d", version, a.gen.ID, epoch, stores)
}

// Supplant puts the array at beside in the place of the one at path. It is a copy of that array,
// and was made since copied was its fingerprint. Programs that have the array open go on with the
// copy. If the array has changed meanwhile, that is ErrOutdated, and nothing is done.
func (h *Hierarchy) Supplant(ctx context.Context, beside, path, copied string) error {
	defer h.describing.Lock(path)()
	if err := h.rename(ctx, beside, path, true, copied); err != nil {
		return &Error{Op: "replace", Path: path, Err: err}
	}
	return nil
}

// pauseReplaced pauses the array at path that is open and about to be replaced, if any, until resume
// is called. If copied is not empty, that is the array of which the new one is a copy.
func (h *Hierarchy) pauseReplaced(
	ctx context.Context, path string, replaces bool, copied string,
) (old *Array, resume func(), err error) {
	switch {
	case copied != "":
		return h.pauseOriginal(ctx, path, copied)
	case replaces:
		old, resume = h.pauseAt(path)
		return old, resume, nil
	}
	return nil, func() {}, nil
}

// pauseOriginal pauses the array at path, of which a copy was made, unless it has changed. Programs
// that read or write it wait until resume is called. Then they go on with what is at path.
func (h *Hierarchy) pauseOriginal(
	ctx context.Context, path, copied string,
) (old *Array, resume func(), err error) {
	a, err := h.OpenArray(ctx, path)
	if errors.Is(err, iofs.ErrNotExist) {
		err = ErrOutdated
	}
	if err != nil {
		return nil, func() {}, err
	}
	d := a.draft
	goOn := d.pause()
	n, err := h.Node(ctx, path)
	if err != nil {
		return nil, goOn, err
	}
	if now := a.Live(); !d.clean() || h.open.at(path) != now || now.stored(n.Version) != copied {
		return nil, goOn, ErrOutdated
	}
	arrived := d.leave()
	d.setReplaced(true)
	return a, func() {
		if d.isRemoved() {
			d.goOnAt(ctx, path)
		} else {
			d.setReplaced(false)
		}
		arrived()
		goOn()
	}, nil
}

// setReplaced notes whether what is found at the array's path may be another array's.
func (d *draft) setReplaced(replaced bool) {
	for _, way := range d.both() {
		way.replaced.Store(replaced)
	}
}

// isRemoved reports whether the array has been taken out of the store, or replaced.
func (d *draft) isRemoved() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.removed
}

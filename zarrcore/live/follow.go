package live

import (
	"cmp"
	"context"
	"errors"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/object"
)

// This file lets arrays that are open follow what becomes of them in the store: renames, removals,
// and other arrays in their places.

// SaveBelow stores what was written to the arrays at path and below it.
func (h *Arrays) SaveBelow(ctx context.Context, path string) error {
	for _, a := range h.open.below(path) {
		if err := a.draft.save(ctx, false); err != nil {
			return err
		}
	}
	return nil
}

// Forget forgets the array at path, which was removed from the store, and what was written to it.
// The caller has paused a, the array that is open there, if any.
func (h *Arrays) Forget(path string, a *Array) {
	h.renames.remove(path)
	if a != nil {
		h.open.take(path)
		a.lineage.abandon()
	}
	for _, d := range h.orphansAt(path) { // a, which is paused, is no longer one
		h.of.Log.Warn("unsaved data is lost: it was written to an earlier array of this name, and "+
			"the array there now was removed", "array", path, "bytes", d.set.Bytes())
		h.drop(d)
	}
}

// Recreate calls replace, which stores another array at path. Programs that have the old array open
// go on with the new one. What was written to the old array before is lost.
func (h *Arrays) Recreate(ctx context.Context, path string, replace func() error) (*Array, error) {
	old := h.open.at(path)
	if old != nil {
		defer old.lineage.change()()
		old.lineage.abandon()
	}
	failed := replace()
	h.open.take(path)
	if errors.Is(failed, catalog.ErrRenamed) { // another array may be there now
		return nil, failed
	}
	a, err := h.openHere(ctx, path)
	if err == nil && old != nil {
		old.lineage.redirect(a) // also if it is the old array still, or what is left of it
	}
	return a, cmp.Or(failed, err)
}

// Reshape stores what was written to an array, lets put store another document, and then calls end
// with the array as that describes it. Nobody writes to the array meanwhile.
func (h *Arrays) Reshape(
	ctx context.Context, a *Array, put func() error, end func(b *Array) error,
) error {
	l := a.lineage
	defer l.change()()
	if err := l.storeBoth(ctx); err != nil {
		return err
	}
	if err := put(); err != nil {
		return err
	}
	b, err := h.openHere(ctx, a.gen.Path)
	if err != nil {
		return err
	}
	if b.lineage != l {
		l.abandon()
		l.redirect(b)
	}
	return end(b)
}

// PauseAt pauses the array at path if it is open. Otherwise a is nil.
func (h *Arrays) PauseAt(path string) (a *Array, resume func()) {
	if a = h.open.at(path); a == nil {
		return nil, func() {}
	}
	return a, a.lineage.change()
}

// SaveAt stores what was written to the array at path, so that the document says
// what its length is.
func (h *Arrays) SaveAt(ctx context.Context, path string) error {
	a := h.open.at(path)
	if a == nil || !a.IsUnsaved() {
		return nil
	}
	if err := a.Save(ctx, false); !errors.Is(err, object.ErrFraction) {
		return err
	}
	return nil
}

// Renew lets the array at path, if it is open, know the version of the documents
// that this process has just stored.
func (h *Arrays) Renew(ctx context.Context, path string) {
	if h.open.at(path) == nil {
		return
	}
	// What cannot be opened any more is not to be renewed.
	h.opener.renewed(ctx, path, nil, h.opener.unprepared)
}

// Fingerprint returns a text that is another one after the document or an object of the array at
// path has been stored. Changes by other programs are seen too, unless the array has too many
// objects to look at.
func (h *Arrays) Fingerprint(ctx context.Context, path string) string {
	n, err := h.Node(ctx, path)
	if err != nil {
		return err.Error()
	}
	a, err := h.Open(ctx, path)
	if err != nil {
		return n.Version
	}
	return a.Live().stored(n.Version)
}

package live

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file is about arrays that another program renames, and nothing tells so. An array is known by
// the identity of its directory. What was written to it is never stored in another directory. Once
// the directory is found under another path, it is followed there.

var (
	// errNameTaken says that an array is elsewhere, or no more, and another one has its name.
	errNameTaken = fmt.Errorf("%w: another program has renamed or removed it, "+
		"and another array has its name", catalog.ErrOrphan)

	// errRestless says that an array cannot be opened, since it is never where it was just found.
	errRestless = fmt.Errorf("%w: another program renames it again and again", store.ErrConflict)
)

// maxLooks is how often an array is looked for that another program renames while it is opened.
const maxLooks = 100

// whereIs returns the identity of the directory at path, for an array that may be written to; "" if
// it is not known.
func (h *Arrays) whereIs(ctx context.Context, path string) string {
	if !h.Writable() {
		return ""
	}
	identity, err := h.of.Store.Identity(ctx, path)
	if err != nil { // opening the array finds out why
		return ""
	}
	return identity
}

// IsOtherThan reports whether the two are certain to be different arrays: another program has given
// the name of one of them to the other.
func (a *handle) IsOtherThan(b *Array) bool {
	return a.draft.newest().isOtherThan(b.draft.newest().place)
}

// gather lets what is known of the array at path under former names go on there, before it is
// opened. What was written by those names is stored first: it is older than what follows. It
// returns the identity of the array's directory. The caller holds no lock of a draft.
func (h *Arrays) gather(ctx context.Context, path string) (where string, err error) {
	if err := h.open.await(ctx, path); err != nil {
		return "", err
	}
	for range maxLooks {
		where = h.whereIs(ctx, path)
		again, err := h.gatherIn(ctx, where, path)
		if err != nil || !again {
			return where, err
		}
	}
	return "", errRestless
}

// gatherIn is gather for the array in the directory where. It reports again if that was renamed
// before all was stored. All is stored before anything goes on: no two drafts are of one array.
func (h *Arrays) gatherIn(ctx context.Context, where, path string) (again bool, err error) {
	all := h.elsewhere(where, path)
	for _, d := range all {
		left, err := d.storeAt(ctx, path)
		if err != nil {
			return false, err
		}
		again = again || left && where != "" && d.where == where
	}
	for _, d := range all {
		d.goOn(ctx, path)
	}
	return again, nil
}

// elsewhere returns the drafts of the array in a directory that are not of path, also if this
// process has moved them there.
func (h *Arrays) elsewhere(where, path string) (all []*draft) {
	isThere := func(d *draft) bool {
		if where != "" && d.where == where {
			return true
		}
		now, ok := d.at()
		return ok && now == path
	}
	for _, a := range h.open.in(where) {
		all = append(all, a.draft)
	}
	for _, d := range h.unsaved.all() {
		if isThere(d) {
			all = append(all, d.inOrder())
		}
	}
	return slices.DeleteFunc(all, func(d *draft) bool {
		return d.path == path && !d.isMoved()
	})
}

// followTo lets programs that have the array open, which another program has moved to path, go on
// there. If it is not there any more, nothing happens.
func (d *draft) followTo(ctx context.Context, path string) error {
	_, err := d.storeAt(ctx, path)
	if err == nil {
		d.goOn(ctx, path)
	}
	return err
}

// goOn is followTo after all is stored.
func (d *draft) goOn(ctx context.Context, path string) {
	if !d.isRemoved() || !d.inUse() {
		return
	}
	a, err := d.h.openHere(ctx, path)
	if err == nil && a.draft.where == d.where { // otherwise it is looked for when it is used
		d.bequeath(a)
	}
}

// storeAt stores what was written to the array in the directory at path, and forgets the draft. If
// that is another directory by now, it reports left, and the draft stays. It stays, too, if the
// array in the directory is another one by now. Then it is no longer the one that is open.
func (d *draft) storeAt(ctx context.Context, path string) (left bool, err error) {
	defer d.pause()()
	if d.isRemoved() {
		return false, nil
	}
	if d.h.whereIs(ctx, path) != d.where {
		return true, nil
	}
	for _, way := range slices.Backward(d.both()) {
		s := way.storer()
		s.found = path
		err := s.storeIfBusy(ctx, true)
		s.leaveHome()
		switch {
		case errors.Is(err, errNameTaken), errors.Is(err, errGone), errors.Is(err, errBack):
			return true, nil
		case errors.Is(err, catalog.ErrOrphan): // the rest is kept in a file
			d.h.open.leave(d)
			return false, nil
		case err != nil && !errors.Is(err, object.ErrFraction):
			return false, d.fail("store", err)
		}
	}
	d.movedTo(path) // only now: those that use it look for it there
	d.h.open.leave(d)
	d.abandon()
	return false, nil
}

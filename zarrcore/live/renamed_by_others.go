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

// This file is about arrays that another program renames without notice. An array is known
// by the identity of its directory. What was written to it is never stored in another directory.
// Once the directory is found under another path, it is followed there.

var (
	// errNameTaken says that an array is elsewhere, or no more, and another one has its name.
	errNameTaken = fmt.Errorf("%w: another program has renamed or removed it, "+
		"and another array has its name", catalog.ErrOrphan)

	// errRestless says that an array cannot be opened, since it is never where it was just found.
	errRestless = fmt.Errorf("%w: another program renames it again and again", store.ErrConflict)
)

// maxLooks is how often an array is looked for, if another program renames it while it is opened.
const maxLooks = 100

// gather lets what is known of the array at path under former names go on there, before it is
// opened. What was written by those names is stored first: it is older than what follows. It
// returns the identity of the array's directory. The caller holds no lock of a draft.
func (f finder) gather(ctx context.Context, path string) (where string, err error) {
	if err := f.open.await(ctx, path); err != nil {
		return "", err
	}
	for range maxLooks {
		where = f.whereIs(ctx, path)
		again, err := f.gatherIn(ctx, where, path)
		if err != nil || !again {
			return where, err
		}
	}
	return "", errRestless
}

// gatherIn is gather for the array in the directory where. It reports again if that was renamed
// before all was stored. All is stored before anything goes on: no two lineages are of one array.
func (f finder) gatherIn(ctx context.Context, where, path string) (again bool, err error) {
	all := f.elsewhere(where, path)
	for _, l := range all {
		left, err := f.storeAt(ctx, l, path)
		if err != nil {
			return false, err
		}
		again = again || left && where != "" && l.where == where
	}
	for _, l := range all {
		f.goOn(ctx, l, path)
	}
	return again, nil
}

// elsewhere returns the lineages of the array in a directory that are not of path, also if this
// process has moved them there.
func (f finder) elsewhere(where, path string) (all []*lineage) {
	for _, a := range f.open.in(where) {
		all = append(all, a.lineage)
	}
	for _, d := range f.unsaved.all() {
		l := d.live.Load().lineage
		if now, ok := l.at(); ok && now == path || where != "" && l.where == where {
			all = append(all, l)
		}
	}
	return slices.DeleteFunc(all, func(l *lineage) bool { return l.path == path && !l.isMoved() })
}

// storeAt stores what was written to the array in the directory at path, and forgets it. If that is
// another directory by now, it reports left, and the drafts stay. They stay, too, if the array in
// the directory is another one by now. Then it is no longer the one that is open.
func (f finder) storeAt(ctx context.Context, l *lineage, path string) (left bool, err error) {
	defer l.pause()()
	if l.straight.isRemoved() {
		return false, nil
	}
	if f.whereIs(ctx, path) != l.where {
		return true, nil
	}
	for _, d := range slices.Backward(l.drafts()) {
		s := d.storer()
		s.found = path
		err := s.storeIfBusy(ctx, true)
		s.leaveHome()
		switch {
		case errors.Is(err, errNameTaken), errors.Is(err, errGone), errors.Is(err, errBack):
			return true, nil
		case errors.Is(err, catalog.ErrOrphan): // the rest is kept in a file
			f.open.leave(l)
			return false, nil
		case err != nil && !errors.Is(err, object.ErrFraction):
			return false, d.fail("store", err)
		}
	}
	l.movedTo(path) // only now: those that use it look for it there
	f.open.leave(l)
	l.abandon()
	return false, nil
}

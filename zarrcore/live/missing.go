package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file is about objects that are missing. A missing object is the fill value as long as the
// array is where it was opened, and has the rows of the object. Otherwise another program has
// renamed, removed or truncated the array. Then the fill value would stand for bytes that somebody
// has written.

var (
	errNotHere = fmt.Errorf("%w: another program has renamed or removed the array; open it again",
		store.ErrConflict)
	errFewerRows = fmt.Errorf("%w: another program has truncated the array; open it again",
		store.ErrConflict)
)

// isFill returns nil if a chunk that is missing is the fill value. It costs a Stat of the document,
// which is read if it has changed. A store behind a network is not asked: its user has said for how
// long a document counts.
func (r *reading) isFill(ctx context.Context, chunk int64) error {
	if r.of.Store.Traits().Remote || r.isOurs() {
		return nil
	}
	path, _ := r.draft.at()
	info, err := r.of.Store.Stat(ctx, store.Join(path, meta.NameOfArray(r.gen.Meta.Format)))
	if known := r.filled.Load(); err == nil && known != nil && info.Version == *known {
		return nil
	}
	all, err := r.hasRows(ctx, path, chunk)
	if all && info.Version != "" {
		r.filled.Store(&info.Version)
	}
	if err == nil || r.isOurs() {
		return nil
	}
	_, key, _ := r.gen.Objects.Find(chunk)
	return &catalog.Error{Op: "read", Path: r.gen.Path, Key: key, Err: err}
}

// isOurs reports whether this process changes the array itself, or has given it up.
func (r *reading) isOurs() bool {
	l := r.lineage
	return l.changing.Load() > 0 || l.isMoved() || r.draft.isRemoved() ||
		l.newest(r.draft.order) != l
}

// hasRows returns an error if the document at path is another array's, or does not count rows of a
// chunk that this process knows. It reports whether it counts all of them.
func (r *reading) hasRows(ctx context.Context, path string, chunk int64) (all bool, err error) {
	before := r.knownRows() // a flush of this process may make them more meanwhile
	n, err := r.of.Catalog.Array(ctx, path)
	own := cmp.Or(r.gen.Source, r.gen.Meta)
	switch {
	case errors.Is(err, iofs.ErrNotExist), errors.Is(err, catalog.ErrNotArray),
		err == nil && !own.SameLayout(n.Meta):
		return false, errNotHere
	case err != nil:
		return false, err
	case r.isElsewhere(ctx, path):
		return false, errNotHere
	case len(n.Meta.Shape) == 0:
		return true, nil
	}
	found, expected := n.Meta.Shape[0], min(before, r.knownRows())
	if found >= expected {
		return true, nil
	}
	first, _, _ := r.gen.Objects.Rows(r.gen.Objects.Holder(chunk))
	if r.gen.Source == nil && first < found {
		return false, nil
	}
	return false, fmt.Errorf("%w: expected %d rows, found %d", errFewerRows, expected, found)
}

// knownRows returns how many rows this process believes to be stored, as far as the array has them.
func (r *reading) knownRows() int64 {
	straight := r.lineage.straight
	return min(straight.rows.Load(), straight.live.Load().gen.Rows())
}

// isElsewhere reports whether the directory at path is another one than the array's.
func (r *reading) isElsewhere(ctx context.Context, path string) bool {
	if r.lineage.where == "" {
		return false
	}
	identity, err := r.of.Store.Dirs().Identity(ctx, path)
	return err != nil || store.AreDifferent(r.lineage.where, identity)
}

package edit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// ErrNotEmpty says that a group has children.
var ErrNotEmpty = errors.New("the group is not empty")

// MigrationJournal is the name of the object of a group, or array, that keeps
// the documents it had before package migrate turned them into others.
const MigrationJournal = ".zarrfs-migration.json"

// CheckEmpty returns ErrNotEmpty unless the group at path holds nothing but its own documents, and
// those that it had before a migration. Other files in its folder belong to somebody else. Where no
// node is among them, a listing of the group shows none of them, so all are named. What a dead program has left unfinished is removed.
func (e *Editor) CheckEmpty(ctx context.Context, path string) error {
	var foreign, left []string
	err := e.Store.List(ctx, path, func(entry store.Entry) error {
		switch {
		case entry.Dir && !entry.Link && e.Store.Abandoned(ctx, store.Join(path, entry.Name)):
			left = append(left, entry.Name)
			return nil
		case meta.IsDocument(entry.Name) && entry.Name != meta.NameArray,
			entry.Name == MigrationJournal:
			return nil
		case entry.Dir && !entry.Link || entry.Link && e.Catalog.ShowsLink(ctx, path, entry.Name): // as a listing has it
			return fmt.Errorf("%w: %s holds %q", ErrNotEmpty, catalog.QuotePath(path), entry.Name)
		case len(foreign) == foreignMost:
			return e.foreignError(path, foreign, " and more")
		}
		foreign = append(foreign, entry.Name)
		return nil
	})
	if err == nil && len(foreign) > 0 {
		return e.foreignError(path, foreign, "")
	}
	for _, name := range left {
		if err == nil {
			err = e.Store.RemoveAll(ctx, store.Join(path, name))
		}
	}
	return err
}

// foreignMost is how many other files are named.
const foreignMost = 10

// foreignError says what is in the way of removing a group, and where.
func (e *Editor) foreignError(path string, names []string, more string) error {
	slices.Sort(names)
	for i, name := range names {
		names[i] = fmt.Sprintf("%q", name)
	}
	folder := strings.TrimSuffix(e.Store.Name(), "/") + "/" + path
	return fmt.Errorf("%w: in the store it holds %s%s, which are not arrays or groups and not shown; remove them in %s, and try again",
		ErrNotEmpty, strings.Join(names, ", "), more, folder)
}

// Relinked makes a change of links known and durable.
func (e *Editor) Relinked(ctx context.Context, paths ...string) error {
	for _, path := range paths {
		if err := e.Catalog.DropConsolidated(ctx, store.Parent(path)); err != nil {
			return err
		}
	}
	return e.Store.SyncDirs(ctx, paths)
}

package edit

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

var (
	errGroupNotEmpty = fmt.Errorf("the group is %w", store.ErrNotEmpty)
	errArrayNotAlone = fmt.Errorf("the folder of the array would be %w without it",
		store.ErrNotEmpty)
)

// MigrationJournal is the name of the object of a group, or array, that keeps
// the documents it had before package migrate turned them into others.
const MigrationJournal = ".zarrfs-migration.json"

// IsOfGroup reports whether an object of a group's directory is the group's own: a document, or
// those that it had before a migration.
func IsOfGroup(name string) bool {
	return meta.IsDocument(name) && name != meta.NameArray || name == MigrationJournal
}

// CheckEmpty returns store.ErrNotEmpty unless the group at path holds nothing but its own
// documents, and those that it had before a migration. Other files in its folder belong to somebody
// else. Where no node is among them, a listing of the group shows none of them, so all are named.
// What a dead program has left unfinished is removed.
func (e *Editor) CheckEmpty(ctx context.Context, path string) error {
	var left []string
	unfinished := e.Store.Unfinished()
	isOwn := func(entry store.Entry) (bool, error) {
		switch {
		case entry.Dir && !entry.Link && unfinished.IsAbandoned(ctx, store.Join(path, entry.Name)):
			left = append(left, entry.Name)
			return true, nil
		case IsOfGroup(entry.Name):
			return true, nil
		case entry.Dir && !entry.Link,
			entry.Link && e.Catalog.ShowsLink(ctx, path, entry.Name): // as a listing has it
			return false, fmt.Errorf("%w: %s holds %q", errGroupNotEmpty, catalog.QuotePath(path),
				entry.Name)
		}
		return false, nil
	}
	err := e.checkForeign(ctx, path, errGroupNotEmpty, isOwn)
	for _, name := range left {
		if err == nil {
			err = e.Store.Dirs().RemoveAll(ctx, store.Join(path, name))
		}
	}
	return err
}

// CheckAlone returns store.ErrNotEmpty if n is an array whose folder holds what is not the array's.
// No folder of objects is looked into. What is not the array's belongs to somebody else, and a
// mount does not show it, so all is named. Hidden files count as the array's: programs keep in them
// what they know of it. Nothing is said of an array that cannot be read.
func (e *Editor) CheckAlone(ctx context.Context, n *catalog.Node) error {
	if n.Kind != catalog.ArrayNode || n.Err != nil || n.Meta == nil {
		return nil
	}
	isOwn := func(entry store.Entry) (bool, error) {
		return meta.IsDocument(entry.Name) || entry.Name[0] == '.' ||
			ofObjects.MatchString(strings.TrimSuffix(entry.Name, n.Meta.Keys.Suffix)), nil
	}
	return e.checkForeign(ctx, n.Path, errArrayNotAlone, isOwn)
}

// checkForeign returns an error that begins with why and names what is in the folder at path and is
// not its own. An error of isOwn ends it at once.
func (e *Editor) checkForeign(
	ctx context.Context, path string, why error, isOwn func(store.Entry) (bool, error),
) error {
	var foreign []string
	err := e.Store.List(ctx, path, func(entry store.Entry) error {
		own, err := isOwn(entry)
		switch {
		case own || err != nil:
			return err
		case len(foreign) == foreignMost:
			return e.foreignError(why, path, foreign, " and more")
		}
		foreign = append(foreign, entry.Name)
		return nil
	})
	if err == nil && len(foreign) > 0 {
		return e.foreignError(why, path, foreign, "")
	}
	return err
}

// ofObjects are the names of objects, and folders of objects, without the suffix of the keys. They
// may be of an array of another rank, or with other keys, that was here before.
var ofObjects = regexp.MustCompile(`^(c|(c\.)?[0-9]+(\.[0-9]+)*)$`)

// foreignMost is how many other files are named.
const foreignMost = 10

// foreignError says what is in the way of removing a node, and where.
func (e *Editor) foreignError(why error, path string, names []string, more string) error {
	slices.Sort(names)
	for i, name := range names {
		names[i] = fmt.Sprintf("%q", name)
	}
	folder := strings.TrimSuffix(e.Store.Name(), "/") + "/" + path
	return fmt.Errorf("%w: in the store it holds %s%s, which are not arrays or groups and not "+
		"shown; remove them in %s, and try again",
		why, strings.Join(names, ", "), more, folder)
}

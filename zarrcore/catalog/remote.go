package catalog

import (
	"context"
	"errors"
	iofs "io/fs"
	"slices"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/parallel"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file is about remote stores. There the documents of a node are asked for at once and kept,
// and consolidated metadata say which nodes there are.

// remoteAtOnce is how many documents a listing of a remote store asks for at once. It is as many as
// are under way at one server at most (store/remote): a document is small, so that the delay of the
// link bounds how many come in a second. A busy server gets fewer by itself.
const remoteAtOnce = 128

// A sheaf is the documents of one node that a remote store has, by name, and why others could not
// be read.
type sheaf map[string]sheet

// A sheet is a document, or why it could not be read.
type sheet struct {
	data    []byte
	version string
	modTime time.Time
	rights  store.Rights
	err     error
}

// The names of documents that are asked for at once.
var (
	namesV3      = []string{meta.NameV3}
	namesBesides = []string{meta.NameArray, meta.NameGroup, meta.NameAttrs, nameV1}
	namesV2      = []string{meta.NameV3, meta.NameArray, meta.NameGroup, meta.NameAttrs}
	namesArrayV2 = []string{meta.NameArray, meta.NameAttrs}
	namesV1      = []string{nameV1}
	namesAll     = slices.Concat(namesV3, namesBesides)
	namesRoot    = append(slices.Clone(namesAll), meta.NameConsolidated)
)

// The documents of version 1.
const (
	nameV1           = "meta"
	nameV1Attributes = "attrs"
)

// A purpose is why a node is looked at.
type purpose uint8

const (
	toLook purpose = iota // what it is, and how it is described
	toList                // which kind it has
	toOpen                // its data: its own documents count
)

// gather returns the documents of the node at path. Those of the likely format come first; the
// others are asked for if there is none.
func (cat *copies) gather(ctx context.Context, path string, why purpose) sheaf {
	var copies sheaf
	if path != "" {
		copies = cat.consolidatedFor(ctx, path, why).sheaf(path)
	}
	if copies != nil && why != toOpen {
		return cat.renewed(path, copies)
	}
	age := cat.shelf.fresh.Found()
	if why == toOpen {
		age = cat.shelf.fresh.Opened()
	}
	first, rest := cat.likely(path, why, copies)
	found := sheaf{}
	cat.ask(ctx, path, first, age, found)
	if !found.isNode() {
		cat.ask(ctx, path, rest, age, found)
	}
	if _, ok := found[nameV1]; ok {
		cat.ask(ctx, path, []string{nameV1Attributes}, age, found)
	}
	if copies != nil && len(found) == 0 {
		return copies
	}
	return found
}

// renewed returns copies, and the documents themselves in the place of those that were read not
// long ago.
func (cat *copies) renewed(path string, copies sheaf) sheaf {
	for name := range copies {
		if a := cat.shelf.recent(store.Join(path, name)); a != nil {
			copies[name] = a.sheet()
		}
	}
	return copies
}

// likely returns the documents that a node probably has, and the rest, to be asked for if those are
// missing. A node mostly has the format of the group above.
func (cat *copies) likely(path string, why purpose, copies sheaf) (first, rest []string) {
	known := func(dir, name string) bool { return cat.shelf.has(store.Join(dir, name)) }
	switch {
	case copies != nil:
		for name := range copies {
			first = append(first, name)
		}
		return first, namesAll
	case path == "":
		return namesRoot, nil
	case why != toOpen && cat.shelf.recent(store.Join(path, meta.NameArray)) != nil:
		return namesArrayV2, namesAll
	}
	for dir := path; dir != ""; {
		dir = store.Parent(dir)
		switch {
		case known(dir, meta.NameV3):
			return namesV3, namesBesides
		case known(dir, meta.NameGroup) && why == toList:
			return namesArrayV2, namesAll
		case known(dir, meta.NameGroup):
			return namesV2, namesV1
		}
	}
	return namesAll, nil
}

// ask adds documents of a node to found, as far as they are there. All are asked for at once.
func (cat *copies) ask(
	ctx context.Context, path string, names []string, age time.Duration, found sheaf,
) {
	sheets := make([]*sheet, len(names))
	parallel.Each(len(names), len(names), func(i int) {
		a, err := cat.shelf.document(ctx, store.Join(path, names[i]), age)
		switch {
		case err != nil:
			sheets[i] = &sheet{err: err}
		case a.missing == nil:
			s := a.sheet()
			sheets[i] = &s
		}
	})
	for i, s := range sheets {
		if s != nil {
			found[names[i]] = *s
		}
	}
}

// sheet returns a document that is there.
func (a *answer) sheet() sheet {
	return sheet{data: a.data, version: "@" + a.info.Version, modTime: a.info.ModTime,
		rights: a.info.Rights}
}

// isNode reports whether there is a node, or may be one.
func (s sheaf) isNode() bool {
	for name := range s {
		if name != meta.NameAttrs && name != meta.NameConsolidated {
			return true
		}
	}
	return false
}

// read returns a document as [Catalog.read] does.
func (s sheaf) read(n *Node, name string) ([]byte, error) {
	got, ok := s[name]
	if !ok {
		return nil, iofs.ErrNotExist
	}
	if got.err != nil {
		return nil, got.err
	}
	n.Documents = n.Documents.And(got.rights)
	n.Version += name + got.version + ";"
	if got.modTime.After(n.ModTime) {
		n.ModTime = got.modTime
	}
	return got.data, nil
}

// remoteLooks is at how many children of the group at path a listing looks at once.
func (cat *looks) remoteLooks(path string) int {
	first, _ := cat.likely(store.Join(path, "child"), toList, nil)
	return max(1, remoteAtOnce/len(first))
}

// probeRemote is probe in a remote store. What may not be read is a directory; any other error is
// one of the listing, which would otherwise hide an array.
func (cat *looks) probeRemote(ctx context.Context, path string) (summary, error) {
	found := cat.gather(ctx, path, toList)
	for _, name := range []string{meta.NameV3, meta.NameArray, meta.NameGroup, nameV1} {
		got, ok := found[name]
		switch {
		case !ok || errors.Is(got.err, iofs.ErrPermission):
		case errors.Is(got.err, store.ErrTooLarge):
			return summary{kind: ArrayNode}, nil
		case got.err != nil:
			return summary{kind: DirectoryNode}, got.err
		case name == meta.NameV3:
			return summaryV3(got.data), nil
		case name == meta.NameArray:
			return summary{ArrayNode, elementsV2(got.data)}, nil
		case name == meta.NameGroup:
			return summary{kind: GroupNode}, nil
		case found[nameV1Attributes].data != nil:
			return summary{kind: ArrayNode}, nil
		}
	}
	return summary{kind: DirectoryNode}, nil
}

// remoteChildren is ChildBatches in a remote store: by copies of documents, otherwise as they were
// listed a moment ago, otherwise by a listing.
func (cat *looks) remoteChildren(
	ctx context.Context, path string, yield func([]Child) error,
) error {
	if cat.unlistable || cat.consolidated(ctx, path).knowsChildren(path) {
		return cat.consolidatedChildren(ctx, path, yield)
	}
	if kept := cat.shelf.listed(path); kept != nil {
		return yield(kept.children)
	}
	began := time.Now()
	var children []Child
	err := cat.listChildren(ctx, path, func(some []Child) error {
		if len(children) <= mostListed {
			children = append(children, some...)
		}
		return yield(some)
	})
	switch {
	case err == nil:
		cat.shelf.list(path, children, began)
	case errors.Is(err, store.ErrCannotList):
		return cat.consolidatedChildren(ctx, path, yield) // which says what is missing
	}
	return err
}

// statDir is Stat of a directory in a remote store, as it was a moment ago.
func (cat *looks) statDir(ctx context.Context, path string) (store.Info, error) {
	if cat.unlistable {
		return store.Info{}, iofs.ErrNotExist // such a store knows no directories
	}
	a, err := cat.shelf.get(ctx, path+"/", cat.shelf.fresh.Found(), func(*answer) (*answer, error) {
		info, err := cat.store.Stat(ctx, path)
		return &answer{info: info}, err
	})
	if err != nil {
		return store.Info{}, err
	}
	return a.info, a.missing
}

// MayHold reports whether the store has a directory at path, or something that cannot be followed.
// It is one look at most, for names that nearly never have one.
func (cat *looks) MayHold(ctx context.Context, path string) bool {
	var info store.Info
	var err error
	switch {
	case cat.shelf == nil:
		info, err = cat.store.Stat(ctx, path)
	case cat.shelf.has(path): // a document
		return false
	case cat.consolidated(ctx, path).knowsChildren(store.Parent(path)):
		_, known := cat.consolidated(ctx, path).kinds[path]
		return known
	case cat.shelf.listed(store.Parent(path)) != nil:
		_, known := cat.shelf.listed(store.Parent(path)).names[store.Base(path)]
		return known
	case cat.unlistable:
		return true // only its documents show whether there is anything
	default:
		info, err = cat.statDir(ctx, path)
	}
	return err == nil && info.Dir || err != nil && !errors.Is(err, iofs.ErrNotExist)
}

package catalog

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	iofs "io/fs"
	"strings"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file is about stores that cannot list their keys, and stores with a round trip for each
// look. In these stores only, the children of groups and their documents are taken from
// consolidated metadata. Consolidated metadata are copies of documents: writers keep them in the
// document of a group, or beside it. The copies may be older than the documents themselves.

// consolidatedAge is how old the copies may be before it is looked whether
// there are others.
const consolidatedAge = time.Second

// Bounds of what is taken from consolidated metadata: a hostile document could
// name far more folders than it has bytes.
const (
	maxConsolidated    = 1 << 20 // nodes and folders below one group
	maxConsolidatedKey = 4 << 10 // bytes of one key
	maxHolders         = 256     // groups whose copies are kept in memory
)

// A consolidation is the consolidated metadata of one group, the holder.
type consolidation struct {
	holder   string
	version  string
	modTime  time.Time
	docs     map[string][]byte // by key in the store
	kinds    map[string]NodeKind
	children map[string][]Child
}

// consolidations keeps those that were read.
type consolidations struct {
	mu       sync.Mutex
	byHolder map[string]*heldConsolidation
}

// A heldConsolidation is what a group was found to hold; nil if nothing.
type heldConsolidation struct {
	*consolidation
	version string // of the document, "" if the store knows none
	checked time.Time
	of      []byte // the document, in a remote store
}

// cannotList finds out whether the store cannot list what it holds.
func cannotList(ctx context.Context, st *store.Store) bool {
	err := st.List(ctx, "", func(store.Entry) error { return errEnough })
	return errors.Is(err, store.ErrCannotList)
}

// consolidated returns the consolidated metadata that describe path: those of the root, otherwise
// those of the group next to it. It is nil if there are none, or if looks at the store itself are
// cheap.
func (cat *copies) consolidated(ctx context.Context, path string) *consolidation {
	switch {
	case cat.shelf != nil:
		return cat.consolidatedFor(ctx, path, toLook)
	case !cat.unlistable:
		return nil
	}
	return nearest(path, func(holder string) *consolidation {
		return cat.consolidatedAt(ctx, holder)
	})
}

// consolidatedFor is consolidated in a remote store, for a purpose.
func (cat *copies) consolidatedFor(ctx context.Context, path string, why purpose) *consolidation {
	return nearest(path, func(holder string) *consolidation {
		return cat.consolidatedNear(ctx, holder, why)
	})
}

// nearest returns what the first of the groups on the way to path holds; nil if none holds any.
func nearest(path string, at func(holder string) *consolidation) *consolidation {
	for i := 0; ; i++ {
		if i < len(path) && path[i] != '/' && i > 0 {
			continue
		}
		if c := at(path[:min(i, len(path))]); c != nil {
			return c
		}
		if i >= len(path) {
			return nil
		}
	}
}

// consolidatedAt returns the consolidated metadata that the group holder holds.
func (cat *copies) consolidatedAt(ctx context.Context, holder string) *consolidation {
	c := &cat.held
	c.mu.Lock()
	held := c.byHolder[holder]
	c.mu.Unlock()
	if held != nil && time.Since(held.checked) < consolidatedAge {
		return held.consolidation
	}
	found := &heldConsolidation{checked: time.Now()}
	for _, name := range []string{meta.NameV3, meta.NameConsolidated} {
		key := store.Join(holder, name)
		info, err := cat.store.Stat(ctx, key)
		if err != nil {
			continue
		}
		found.version = info.Version
		if held != nil && held.consolidation != nil && held.version == info.Version &&
			info.Version != "" {
			found.consolidation = held.consolidation
			break
		}
		if found.consolidation, err = cat.readConsolidated(ctx, holder, name); err != nil {
			cat.log.Warn("consolidated metadata not understood", "key", key, "err", err)
		}
		if found.consolidation != nil {
			break
		}
	}
	c.keep(holder, found)
	return found.consolidation
}

// keep keeps what a group was found to hold.
func (c *consolidations) keep(holder string, found *heldConsolidation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byHolder == nil || len(c.byHolder) >= maxHolders {
		c.byHolder = map[string]*heldConsolidation{}
	}
	c.byHolder[holder] = found
}

// consolidatedNear is consolidatedAt in a remote store. It asks for no document that is not known
// to be there, unless it is the root's. To open an array nothing is asked for again: its own
// documents count.
func (cat *copies) consolidatedNear(
	ctx context.Context, holder string, why purpose,
) *consolidation {
	c := &cat.held
	c.mu.Lock()
	held := c.byHolder[holder]
	c.mu.Unlock()
	for _, name := range []string{meta.NameV3, meta.NameConsolidated} {
		a := cat.copyHolder(ctx, holder, name, why)
		if a == nil || a.missing != nil || len(a.data) == 0 {
			continue
		}
		if held == nil || len(held.of) == 0 || &held.of[0] != &a.data[0] {
			held = &heldConsolidation{of: a.data}
			var err error
			held.consolidation, err = newConsolidation(holder, name, a.data, a.info)
			if err != nil {
				cat.log.Warn("consolidated metadata not understood",
					"key", store.Join(holder, name), "err", err)
			}
			c.keep(holder, held)
		}
		if held.consolidation != nil && len(held.docs) > 0 {
			return held.consolidation
		}
	}
	return nil
}

// copyHolder returns the document of a group that may hold copies of others; nil if there is none.
func (cat *copies) copyHolder(
	ctx context.Context, holder, name string, why purpose,
) *answer {
	key := store.Join(holder, name)
	known := cat.shelf.known(key)
	switch {
	case known != nil && why == toOpen:
		return known
	case holder == "":
		cat.renewRoot(ctx)
	case name == meta.NameV3:
		return known
	case !cat.shelf.has(store.Join(holder, meta.NameGroup)):
		return nil
	}
	a, err := cat.shelf.document(ctx, key, cat.shelf.fresh.Found())
	if err != nil {
		return nil
	}
	return a
}

// renewRoot asks for the documents of the root that may hold copies, both at once, if they are too
// old.
func (cat *copies) renewRoot(ctx context.Context) {
	if !cat.shelf.isKnown(meta.NameV3) || !cat.shelf.isKnown(meta.NameConsolidated) {
		names := []string{meta.NameV3, meta.NameConsolidated}
		cat.ask(ctx, "", names, cat.shelf.fresh.Found(), sheaf{})
	}
}

// readConsolidated reads the copies in one document; nil if it holds none.
func (cat *copies) readConsolidated(
	ctx context.Context, holder, name string,
) (*consolidation, error) {
	doc, info, err := cat.store.ReadAll(ctx, store.Join(holder, name), DocumentLimit)
	if err != nil {
		return nil, err
	}
	return newConsolidation(holder, name, doc, info)
}

// newConsolidation returns the copies in a document; nil if it holds none.
func newConsolidation(holder, name string, doc []byte, info store.Info) (*consolidation, error) {
	copies, err := meta.Consolidated(name, doc)
	if err != nil || copies == nil {
		return nil, err
	}
	c := &consolidation{
		holder: holder, version: info.Version, modTime: info.ModTime,
		docs: map[string][]byte{}, kinds: map[string]NodeKind{}, children: map[string][]Child{},
	}
	for key, doc := range copies {
		key = store.Join(holder, key)
		if !store.IsValidKey(key) || len(key) > maxConsolidatedKey {
			continue
		}
		c.docs[key] = doc
		path, name := splitKey(key)
		if kind, ok := kindOf(name, doc); ok && path != holder {
			c.kinds[path] = kind
		}
	}
	return c, c.grow(holder)
}

// kindOf is the kind of node that has a document of the given name.
func kindOf(name string, doc []byte) (NodeKind, bool) {
	switch name {
	case meta.NameV3:
		return summaryV3(doc).kind, true
	case meta.NameArray:
		return ArrayNode, true
	case meta.NameGroup:
		return GroupNode, true
	}
	return 0, false
}

// grow adds the folders that lead to the nodes, and lists the children of each.
func (c *consolidation) grow(holder string) error {
	for path := range c.kinds {
		for path, _ = splitKey(path); len(path) > len(holder); path, _ = splitKey(path) {
			if _, known := c.kinds[path]; known {
				break
			}
			if c.kinds[path] = DirectoryNode; len(c.kinds) > maxConsolidated {
				return fmt.Errorf("expected at most %d nodes: %w", maxConsolidated,
					errors.ErrUnsupported)
			}
		}
	}
	for path, kind := range c.kinds {
		parent, name := splitKey(path)
		c.children[parent] = append(c.children[parent],
			Child{Name: name, Kind: kind, Elements: c.elements(path)})
	}
	return nil
}

// elements returns what kind of elements an array at path has.
func (c *consolidation) elements(path string) Elements {
	if doc, ok := c.docs[store.Join(path, meta.NameV3)]; ok {
		return summaryV3(doc).elements
	}
	return elementsV2(c.docs[store.Join(path, meta.NameArray)])
}

// splitKey splits a key into what stands before its last element and that.
func splitKey(key string) (dir, name string) {
	i := strings.LastIndexByte(key, '/')
	return key[:max(i, 0)], key[i+1:]
}

// copySeed makes versions of copies differ between processes, which never compare them.
var copySeed = maphash.MakeSeed()

// copyVersion is the version of a document that was copied.
func copyVersion(doc []byte) string { return fmt.Sprintf("#%x", maphash.Bytes(copySeed, doc)) }

// knowsChildren reports whether the copies say what the children of the group at path are.
func (c *consolidation) knowsChildren(path string) bool {
	if c == nil {
		return false
	}
	_, known := c.kinds[path]
	return known || path == c.holder
}

// sheaf returns the copies of the documents of the node at path; nil if there are none.
func (c *consolidation) sheaf(path string) sheaf {
	if c == nil || path == c.holder {
		return nil
	}
	if kind, known := c.kinds[path]; !known || kind == DirectoryNode {
		return nil
	}
	found := sheaf{}
	for _, name := range []string{meta.NameV3, meta.NameArray, meta.NameGroup, meta.NameAttrs} {
		if doc, ok := c.docs[store.Join(path, name)]; ok {
			found[name] = sheet{data: doc, version: copyVersion(doc), modTime: c.modTime}
		}
	}
	return found
}

// document returns the copy of a node's document. If there are copies of other
// documents of the node it has no such one.
func (c *consolidation) document(n *Node, name string) (doc []byte, known bool, err error) {
	if c == nil {
		return nil, false, nil
	}
	kind, known := c.kinds[n.Path]
	if !known || kind == DirectoryNode {
		return nil, known, iofs.ErrNotExist
	}
	doc, ok := c.docs[store.Join(n.Path, name)]
	if !ok {
		return nil, true, iofs.ErrNotExist
	}
	n.Version += name + copyVersion(doc) + ";"
	if c.modTime.After(n.ModTime) {
		n.ModTime = c.modTime
	}
	return doc, true, nil
}

// consolidatedChildren is ChildBatches where the store cannot list.
func (cat *looks) consolidatedChildren(
	ctx context.Context, path string, yield func([]Child) error,
) error {
	c := cat.consolidated(ctx, path)
	if c == nil {
		return &Error{Op: "list", Path: path, Err: fmt.Errorf(
			"%w, and no group has consolidated metadata that name its children",
			store.ErrCannotList)}
	}
	return yield(c.children[path])
}

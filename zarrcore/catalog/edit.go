package catalog

import (
	"bytes"
	"context"
	"errors"
	iofs "io/fs"
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file stores documents of nodes that exist.

// maxConflicts is how often a document is read again because other writers have replaced it.
const maxConflicts = 100

// Put replaces a document, durably, and removes the consolidated metadata above it, for they
// may no longer be true.
func (cat *Catalog) Put(ctx context.Context, key string, doc []byte, cond store.If) error {
	if err := cat.replace(ctx, key, doc, cond); err != nil {
		return err
	}
	return cat.DropConsolidated(ctx, store.Parent(key))
}

// replace replaces a document of a node that is there: the node's directory is never made.
func (cat *Catalog) replace(ctx context.Context, key string, doc []byte, cond store.If) error {
	in, err := cat.store.Hold(ctx, store.Parent(key), store.Parent(key))
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = ReplaceIn(ctx, in, key, doc, cond)
	return err
}

// ReplaceIn replaces a document, durably, in a directory that is held open.
func ReplaceIn(ctx context.Context, in *store.Store, key string, doc []byte, cond store.If) (
	store.Info, error) {
	st, err := StageDurably(ctx, in, key, doc)
	if err != nil {
		return store.Info{}, err
	}
	defer st.Discard()
	return st.Commit(ctx, cond)
}

// StageDurably stages a document that survives a power cut once it is in its
// place.
func StageDurably(ctx context.Context, in *store.Store, key string, doc []byte) (
	*store.Staged, error) {
	st, err := in.Stage(ctx, key, doc)
	if err != nil {
		return nil, err
	}
	if err := in.SyncStaged(ctx, []*store.Staged{st}); err != nil {
		st.Discard()
		return nil, err
	}
	return st, nil
}

// DropConsolidated removes the consolidated metadata of the node at path and of
// all groups above it.
func (cat *Catalog) DropConsolidated(ctx context.Context, path string) error {
	for _, dir := range cat.mayBeConsolidated(ctx, path) {
		if err := cat.dropConsolidatedOf(ctx, dir); err != nil {
			return err
		}
	}
	return nil
}

// mayBeConsolidated returns the node at path and the groups above it, the lowest first, but those
// that are known to have no consolidated metadata: each of them is read only once as long as its
// document stays.
func (cat *Catalog) mayBeConsolidated(ctx context.Context, path string) (dirs []string) {
	may := map[string]bool{}
	unknown := cat.store.StatAlong(ctx, path, []string{"zarr.json", ".zmetadata"}, func(dir,
		name string, info store.Info) {
		may[dir] = may[dir] || name == ".zmetadata" || !cat.plain.has(dir, info.Version)
	})
	for dir := path; ; dir = store.Parent(dir) {
		if unknown != nil || may[dir] {
			dirs = append(dirs, dir)
		}
		if dir == "" {
			return dirs
		}
	}
}

func (cat *Catalog) dropConsolidatedOf(ctx context.Context, path string) error {
	if key := store.Join(path, ".zmetadata"); cat.Exists(ctx, key) {
		if err := cat.store.Delete(ctx, key, store.If{}); err != nil &&
			!errors.Is(err, iofs.ErrNotExist) {
			return err
		}
		cat.sayDropped(key)
	}
	key := store.Join(path, "zarr.json")
	doc, info, err := cat.store.ReadAll(ctx, key, DocumentLimit)
	switch {
	case IsMissing(err):
		return nil
	case err == nil && !bytes.Contains(doc, []byte("consolidated_metadata")):
		cat.plain.note(path, info.Version)
		return nil
	}
	dropped := false
	err = cat.Edit(ctx, key, func(doc []byte) (_ []byte, err error) {
		if bytes.Contains(doc, []byte("consolidated_metadata")) {
			doc, dropped = meta.DropConsolidated(doc)
		}
		return doc, nil
	})
	if err == nil && dropped {
		cat.sayDropped(key)
	}
	return err
}

// sayDropped says in the log that consolidated metadata is gone. Without it, some readers are
// slower.
func (cat *Catalog) sayDropped(key string) {
	cat.log.Info("removed consolidated metadata, which the change of a document has made untrue; "+
		"zarr.consolidate_metadata makes it again", "key", key)
}

// plainDocuments are the documents of format 3 of which it is known that they have no consolidated
// metadata.
type plainDocuments struct {
	mu       sync.Mutex
	versions map[string]string // by the path of their node
}

// plainMost bounds the memory for it; beyond, all are forgotten, and read again.
const plainMost = 4096

func (p *plainDocuments) has(path, version string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return version != "" && p.versions[path] == version
}

func (p *plainDocuments) note(path, version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.versions == nil || len(p.versions) >= plainMost {
		p.versions = make(map[string]string)
	}
	p.versions[path] = version
}

// Edit changes a document, if there is one. Where another writer is faster, the
// change is made to what that one has written.
func (cat *Catalog) Edit(
	ctx context.Context, key string, change func(doc []byte) ([]byte, error),
) error {
	for tries := 0; ; tries++ {
		doc, info, err := cat.store.ReadAll(ctx, key, DocumentLimit)
		cond := store.If{Version: info.Version}
		if IsMissing(err) {
			doc, cond = nil, store.If{Version: store.Absent}
		} else if err != nil {
			return err
		}
		fresh, err := change(doc)
		if err != nil || bytes.Equal(doc, fresh) {
			return err
		}
		if err := cat.replace(ctx, key, fresh, cond); !errors.Is(err, store.ErrConflict) ||
			tries == maxConflicts {
			return err
		}
	}
}

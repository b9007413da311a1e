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

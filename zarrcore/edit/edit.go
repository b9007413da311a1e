// Package edit changes nodes in the store: it makes them, changes their documents, and removes what
// is left of them. It knows no open array: a caller that has one holds it still meanwhile.
package edit

import (
	"context"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/durable"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// An Editor changes the nodes of one store. All methods may be called concurrently.
type Editor struct {
	Store     *store.Store
	Catalog   *catalog.Catalog
	Undurable *durable.Dirs // what an fsync has yet to sync
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

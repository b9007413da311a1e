// Package catalog has the nodes of a hierarchy: it reads their documents, lists the children
// of groups, and follows links. It creates nodes and edits their documents. It knows no array
// that is open, and touches no chunks.
package catalog

import (
	"context"
	"errors"
	"log/slog"

	"github.com/zarrfs/zarrfs/zarrcore/keyed"
	"github.com/zarrfs/zarrfs/zarrcore/recipe"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Options say how the nodes of a store are shown.
type Options struct {
	// names the store in the documents of groups, which say that they are in a mount
	MountOf string
	Folder  bool          // the root may be a folder without metadata, with stores below it
	Recipe  recipe.Recipe // what new arrays look like, where no group says otherwise
	Fresh   store.Freshness
	Log     *slog.Logger
}

// A Catalog finds the nodes of a store, makes them and edits their documents. All methods may be
// called concurrently.
type Catalog struct {
	reader
	recipe recipe.Recipe
	times  keyed.Mutex // by array, while the time of its directory is set
}

// A reader reads nodes, and follows links.
type reader struct {
	looks
	mountOf string
}

// looks finds out the kinds of nodes, and lists them.
type looks struct {
	copies
	folder bool
	plain  plainDocuments
}

// copies has documents that are not read from the store each time: copies in consolidated metadata,
// and what a remote store has answered.
type copies struct {
	store      *store.Store
	log        *slog.Logger
	unlistable bool           // the store cannot list what it holds
	held       consolidations // of documents, where it cannot, or is remote
	shelf      *shelf         // of a remote store that is not written; otherwise nil
}

// New returns the catalog of a store.
func New(ctx context.Context, st *store.Store, o Options) *Catalog {
	cat := &Catalog{recipe: o.Recipe}
	cat.store, cat.log, cat.folder, cat.mountOf = st, o.Log, o.Folder, o.MountOf
	if t := st.Traits(); t.Remote && !st.IsWritable() {
		cat.shelf = newShelf(st, o.Fresh)
		cat.unlistable = t.List == store.ListNever
	} else {
		cat.unlistable = cannotList(ctx, st)
	}
	return cat
}

// errEnough ends a listing that has seen what it wanted.
var errEnough = errors.New("enough seen")

// IsUnlistable reports whether the store cannot list what it holds.
func (cat *copies) IsUnlistable() bool { return cat.unlistable }

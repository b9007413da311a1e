package live

import (
	"context"
	"log/slog"

	"github.com/zarrfs/zarrfs/zarrcore/band"
	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/dirty"
	"github.com/zarrfs/zarrfs/zarrcore/durable"
	"github.com/zarrfs/zarrfs/zarrcore/pieces"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Arrays are the arrays of a hierarchy that are open, by path. All methods may be called
// concurrently.
type Arrays struct {
	of Options

	unsaved           // the drafts with something to store
	open    table     // in their current generations
	renames renameLog // that have been done
}

// Options say where arrays are stored, and what they share.
type Options struct {
	Store   *store.Store
	Catalog *catalog.Catalog
	Shared  *pieces.Shared
	Bands   *band.Pool
	Dirty   *dirty.Pool
	Durable *durable.Dirs    // what an fsync has yet to sync
	Room    *chunk.Semaphore // of the memory in which objects are encoded

	Workers    int    // decodes, and encodes, at once
	KeepFill   bool   // store chunks that hold nothing but fill value, too
	ReadOnly   bool   // refuse every change
	ScratchDir string // folder for what was written to arrays that are no more
	Fresh      store.Freshness
	Log        *slog.Logger
}

// New returns Arrays of which none is open.
func New(o Options) *Arrays {
	return &Arrays{
		of: o, open: table{arrays: map[string]*Array{}},
		unsaved: unsaved{drafts: map[*draft]struct{}{}},
	}
}

// Close ends the use of all arrays. What is not stored is lost.
func (h *Arrays) Close() {
	h.unsaved.close()
	h.open.takeAll()
}

// Writable reports whether the store can be written to.
func (h *Arrays) Writable() bool { return !h.of.ReadOnly && h.of.Store.Writable() }

// Node reads the metadata of the node at path; see [catalog.Catalog.Node].
func (h *Arrays) Node(ctx context.Context, path string) (*catalog.Node, error) {
	return h.of.Catalog.Node(ctx, path)
}

// NextID returns a number that no generation of an array has.
func (h *Arrays) NextID() uint64 { return h.open.nextID() }

// Len returns how many arrays are open.
func (h *Arrays) Len() int { return h.open.len() }

package live

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/zarrcore/band"
	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/dirty"
	"github.com/zarrfs/zarrfs/zarrcore/durable"
	"github.com/zarrfs/zarrfs/zarrcore/pieces"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Arrays are the arrays of a hierarchy that are open, by path. All methods may be called
// concurrently.
type Arrays struct {
	of Options

	open     table     // in their current generations
	unsaved  unsaved   // the drafts with something to store
	renames  renameLog // that have been done
	underway atomic.Pointer[renaming]
}

// Options say where arrays are stored, and what they share.
type Options struct {
	Store   *store.Store
	Catalog *catalog.Catalog
	Shared  *pieces.Shared
	Bands   *band.Pool
	Dirty   *dirty.Pool
	Durable *durable.Dirs // what an fsync has yet to sync

	Workers    int    // decodes, and encodes, at once
	KeepFill   bool   // store chunks that hold nothing but fill value, too
	ReadOnly   bool   // refuse every change
	ScratchDir string // folder for what was written to arrays that are no more
	Fresh      store.Freshness
	Log        *slog.Logger
}

// New returns Arrays of which none is open.
func New(o Options) *Arrays {
	h := &Arrays{of: o, open: table{arrays: map[string]*Array{}}}
	h.unsaved = unsaved{drafts: map[*draft]struct{}{}, flushOld: h.flushOld}
	return h
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

// Kept returns the files with what was given up, because its arrays are no more.
func (h *Arrays) Kept() []string { return h.unsaved.files() }

// Failures returns for each array that could not be stored why; nil if there are none.
func (h *Arrays) Failures() (errors map[string]string) {
	for _, d := range h.unsaved.all() {
		d.mu.Lock()
		if d.failed.Err != nil {
			if errors == nil {
				errors = map[string]string{}
			}
			errors[d.path] = d.failed.Err.Error()
		}
		d.mu.Unlock()
	}
	return errors
}

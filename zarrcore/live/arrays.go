package live

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
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
	*common
	finder // opens them
	saver  // stores what nobody flushes
}

// common is what all open arrays of a hierarchy share.
type common struct {
	of      Options
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
	c := &common{of: o, open: table{arrays: map[string]*Array{}}}
	h := &Arrays{common: c, saver: saver{&keeper{common: c}}}
	h.finder = finder{&opener{c, h}}
	c.unsaved = unsaved{drafts: map[*draft]struct{}{}, flushOld: h.flushOld}
	return h
}

// Close ends the use of all arrays. What is not stored is lost.
func (h *Arrays) Close() {
	h.unsaved.close()
	h.open.takeAll()
}

// Node reads the metadata of the node at path; see [catalog.Catalog.Node].
func (h *Arrays) Node(ctx context.Context, path string) (*catalog.Node, error) {
	return h.of.Catalog.Node(ctx, path)
}

// NextID returns a number that no generation of an array has.
func (h *Arrays) NextID() uint64 { return h.open.nextID() }

// Len returns how many arrays are open.
func (h *Arrays) Len() int { return h.open.len() }

// IsWritable reports whether the store can be written to.
func (c *common) IsWritable() bool { return !c.of.ReadOnly && c.of.Store.IsWritable() }

// whereIs returns the identity of the directory at path, for an array that may be written to; "" if
// it is not known.
func (c *common) whereIs(ctx context.Context, path string) string {
	identity, _ := c.locate(ctx, path)
	return identity
}

// locate is whereIs that reports whether there is a directory at path, as far as is known.
func (c *common) locate(ctx context.Context, path string) (identity string, isThere bool) {
	if !c.IsWritable() {
		return "", true
	}
	identity, err := c.of.Store.Dirs().Identity(ctx, path)
	if err != nil { // opening the array finds out why
		return "", !errors.Is(err, iofs.ErrNotExist)
	}
	return identity, true
}

// absent returns catalog.ErrOrphan if it is certain that there is no node at path, and nil if
// there is one. Any other error says why that is not known.
func (c *common) absent(ctx context.Context, path string) error {
	_, err := c.of.Catalog.Node(ctx, path)
	if !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	if _, err := c.of.Catalog.Node(ctx, ""); err != nil {
		return fmt.Errorf("%w: %w", errAway, err)
	}
	return errGone
}

package zarrcore

import (
	"context"

	"github.com/zarrfs/zarrfs/zarrcore/live"
)

// This file shows the open arrays of package live.

type (
	// An Array is an array of the hierarchy as a flat file: its elements in C order, in its data
	// type and byte order. It stands for one generation: once the array's metadata changes,
	// OpenArray returns another Array, and this one goes on showing the old shape. All methods may
	// be called concurrently.
	Array = live.Array
	// Arrays are the arrays of a hierarchy that are open.
	Arrays = live.Arrays
	// A Reader is one program's way through an array.
	Reader = live.Reader
	// A Slice says what of an array is shown, and as what.
	Slice = live.Slice
	// Pieces are the bytes of a read, in order, in memory that is shared with the cache.
	Pieces = live.Pieces
)

// opened are the arrays that are open.
type opened struct{ arrays *live.Arrays }

// OpenArray returns the array at path as it is stored now; see [live.Arrays.Open].
func (h *opened) OpenArray(ctx context.Context, path string) (*Array, error) {
	return h.arrays.Open(ctx, path)
}

// Flush stores what was written to any array. A row that is still being written
// is left to its writer.
func (h *opened) Flush(ctx context.Context, durable bool) error {
	return h.arrays.Flush(ctx, durable)
}

// Unstored returns the paths of the arrays with writes that are not stored.
func (h *opened) Unstored() (paths []string) { return h.arrays.Unstored() }

// Rescue writes what is not stored to files in the folder dir; see [live.Arrays.Rescue].
func (h *opened) Rescue(dir string) (files []string, err error) { return h.arrays.Rescue(dir) }

// Vacate frees a path, and all below it, for a new node; see [live.Arrays.Vacate].
func (h *opened) Vacate(ctx context.Context, path string) error {
	return h.arrays.Vacate(ctx, path)
}

// Fingerprint returns a text that is another one after the document or an object of the array at
// path has been stored; see [live.Arrays.Fingerprint].
func (h *opened) Fingerprint(ctx context.Context, path string) string {
	return h.arrays.Fingerprint(ctx, path)
}

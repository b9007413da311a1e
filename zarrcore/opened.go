package zarrcore

import "context"

// OpenArray returns the array at path as it is stored now; see [Arrays.OpenArray].
func (h *Hierarchy) OpenArray(ctx context.Context, path string) (*Array, error) {
	return h.arrays.OpenArray(ctx, path)
}

// Flush stores what was written to any array. A row that is still being written
// is left to its writer.
func (h *Hierarchy) Flush(ctx context.Context, durable bool) error {
	return h.arrays.Flush(ctx, durable)
}

// Unstored returns the paths of the arrays of which something that was written is not stored.
func (h *Hierarchy) Unstored() (paths []string) { return h.arrays.Unstored() }

// Rescue writes what is not stored to files in the folder dir; see [Arrays.Rescue].
func (h *Hierarchy) Rescue(dir string) (files []string, err error) { return h.arrays.Rescue(dir) }

// Vacate frees a path, and all below it, for a new node; see [Arrays.Vacate].
func (h *Hierarchy) Vacate(ctx context.Context, path string) error {
	return h.arrays.Vacate(ctx, path)
}

// Fingerprint returns a text that is another one after the document or an object of the array at
// path has been stored; see [Arrays.Fingerprint].
func (h *Hierarchy) Fingerprint(ctx context.Context, path string) string {
	return h.arrays.Fingerprint(ctx, path)
}

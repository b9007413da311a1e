package zarrcore

import (
	"context"
)

// Supplant puts the array at beside in the place of the one at path. It is a copy of that array,
// and was made since copied was its fingerprint. Programs that have the array open go on with the
// copy. If the array has changed meanwhile, that is ErrOutdated, and nothing is done.
func (h *changes) Supplant(ctx context.Context, beside, path, copied string) error {
	defer h.describing.Lock(path)()
	if err := h.rename(ctx, beside, path, true, copied); err != nil {
		return &Error{Op: "replace", Path: path, Err: err}
	}
	return nil
}

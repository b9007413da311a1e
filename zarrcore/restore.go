package zarrcore

import (
	"context"
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore/rescue"
)

// Restore writes the bytes of a rescued file to the array at path, and stores them. All others of
// the array stay. It returns how many it has written.
func (h *Hierarchy) Restore(
	ctx context.Context, r *rescue.File, path string,
) (count int64, err error) {
	a, err := h.OpenArray(ctx, path)
	if err != nil {
		return 0, err
	}
	if r.IsFortran() {
		reversed, ok := a.Transposed()
		if !ok {
			return 0, fmt.Errorf("%w: the file is in Fortran order, and array %q is not",
				iofs.ErrInvalid, path)
		}
		a = reversed
	}
	if err := r.Fits(a.Meta()); err != nil {
		return 0, fmt.Errorf("array %q: %w", path, err)
	}
	err = r.Each(func(p []byte, at int64) error {
		n, err := a.WriteAt(ctx, p, at)
		count += int64(n)
		return err
	})
	if err != nil {
		return count, err
	}
	return count, a.Flush(ctx, true)
}

package resolve

import (
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/view"
)

// Divides returns why nothing can be created by the name of a part of an existing array: no such
// part can be shown. What is written to that name would be another array, or a transient. It
// returns nil for other names.
func (r *Resolver) Divides(dir, name string) error {
	base, v := view.Split(name)
	if _, _, ok := names.CutPart(base); v == nil || !ok {
		return nil
	}
	_, err := r.Resolve(r.ctx, dir, name)
	var none *errno.NoPart
	if !errors.As(err, &none) {
		return nil
	}
	return fmt.Errorf("%w: %v; name a part that the array has, or choose a name without @{}",
		iofs.ErrInvalid, none)
}

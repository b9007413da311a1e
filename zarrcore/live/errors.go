package live

import (
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

var (
	// ErrVlen is wrapped by the error of Open for an array whose elements have no fixed size.
	ErrVlen = fmt.Errorf("elements of no fixed size: %w", errors.ErrUnsupported)

	// ErrNotInPlace says that a slice cannot be written, because its bytes are not a stretch of
	// those of its array.
	ErrNotInPlace = fmt.Errorf("%w: the slice can only be read", iofs.ErrPermission)

	// ErrInUse says that a name still belongs to an array that another program has removed:
	// something written to it is not stored, and a program has it open.
	ErrInUse = errors.New("in use")

	// ErrOutdated says that an array has changed since it was copied.
	ErrOutdated = fmt.Errorf("%w: it has changed since it was copied", store.ErrConflict)

	// errAway says that an array is not there because the whole store is not, which may come back.
	errAway = fmt.Errorf("%w: the store is not there", store.ErrConflict)
)

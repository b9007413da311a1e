package zarrcore

import (
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore/edit"
	"github.com/zarrfs/zarrfs/zarrcore/object"
)

var (
	// ErrFixedSize says that an array cannot grow: it has no axis 0, or its rows hold no bytes, or
	// it is seen in Fortran order.
	ErrFixedSize = object.ErrFixedSize

	// ErrFraction says that an array was to end within a row.
	ErrFraction = object.ErrFraction

	// ErrNotInPlace says that a slice cannot be written, because its bytes are not a stretch of
	// those of its array.
	ErrNotInPlace = fmt.Errorf("%w: the slice can only be read", iofs.ErrPermission)

	// ErrNotEmpty says that a group has children.
	ErrNotEmpty = edit.ErrNotEmpty

	// ErrGroupStays says that a document of an array was written over that of a group.
	ErrGroupStays = edit.ErrGroupStays

	// ErrOtherFormat says that a node cannot be moved to a group of another Zarr format: it has to be copied.
	ErrOtherFormat = errors.New("the target has another Zarr format")
)

// Writable reports whether the store can be written to.
func (h *Hierarchy) Writable() bool { return !h.opt.ReadOnly && h.store.Writable() }

// errExist is fs.ErrExist for a path.
func errExist(op, path string) error { return &Error{Op: op, Path: path, Err: iofs.ErrExist} }

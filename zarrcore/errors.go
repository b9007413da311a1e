package zarrcore

import (
	"errors"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore/edit"
	"github.com/zarrfs/zarrfs/zarrcore/live"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

var (
	// ErrFixedSize says that an array cannot grow: it has no axis 0, or its rows hold no bytes, or
	// it is seen in Fortran order.
	ErrFixedSize = object.ErrFixedSize

	// ErrFraction says that an array was to end within a row.
	ErrFraction = object.ErrFraction

	// ErrNotInPlace says that a slice cannot be written, because its bytes are not a stretch of
	// those of its array.
	ErrNotInPlace = live.ErrNotInPlace

	// ErrInUse says that a name still belongs to an array that another program has removed:
	// something written to it is not stored, and a program has it open.
	ErrInUse = live.ErrInUse

	// ErrOutdated says that an array has changed since it was copied.
	ErrOutdated = live.ErrOutdated

	// ErrNotEmpty says that a group has children, or a node's folder files that are not its own.
	ErrNotEmpty = store.ErrNotEmpty

	// ErrGroupStays says that a document of an array was written over that of a group.
	ErrGroupStays = edit.ErrGroupStays

	// ErrOtherFormat says that a node cannot be moved to a group of another Zarr format: it has to
	// be copied.
	ErrOtherFormat = errors.New("the target has another Zarr format")
)

// IsWritable reports whether the store can be written to.
func (h *changes) IsWritable() bool { return !h.readOnly && h.store.IsWritable() }

// errExist is fs.ErrExist for a path.
func errExist(op, path string) error { return &Error{Op: op, Path: path, Err: iofs.ErrExist} }

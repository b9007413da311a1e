package zarrcore

import (
	"context"
	"errors"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// This file is the surface of writing.

var (
	// ErrFixedSize says that an array cannot grow: it has no axis 0, or its rows hold no bytes.
	ErrFixedSize = errors.New("the array's size cannot change")

	// ErrFraction says that an array was to end within a row.
	ErrFraction = errors.New("not a whole number of rows")

	// ErrNotEmpty says that a group has children.
	ErrNotEmpty = errors.New("the group is not empty")
)

// Live returns the newest generation that this process's own changes of the
// shape have made of the array; the array itself where there were none.
func (a *Array) Live() *Array { return a }

// WriteAt writes p at byte off of the live array, into memory; Flush stores it.
// What lies beyond the end lets axis 0 grow, by whole rows in the end: Size is
// then the last byte written, until Flush. An error that Flush reported is
// reported here too until a whole flush has succeeded.
func (a *Array) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	return 0, errors.ErrUnsupported
}

// Accept is WriteAt for bytes that their writer cannot keep, as the kernel's
// dirty pages: it takes them also while an error is pending.
func (a *Array) Accept(ctx context.Context, p []byte, off int64) (int, error) {
	return 0, errors.ErrUnsupported
}

// Clear makes bytes [off, off+n) of the live array zero.
func (a *Array) Clear(ctx context.Context, off, n int64) error { return errors.ErrUnsupported }

// SetSize cuts or extends axis 0 of the live array so that it has size bytes;
// what is new is the fill value, also where it was cut before. It is stored by
// the next Flush. A fraction of a row is ErrFraction.
func (a *Array) SetSize(ctx context.Context, size int64) error { return errors.ErrUnsupported }

// Flush stores what was written to the array, by any handle: objects first,
// then the document if the shape has changed. If durable is set it survives a
// power cut. A tail that is no whole row is dropped, which is ErrFraction.
func (a *Array) Flush(ctx context.Context, durable bool) error { return errors.ErrUnsupported }

// Dirty returns how many bytes are written and not stored, and the error of the
// last attempt to store them, which stands until a whole flush has succeeded.
func (a *Array) Dirty() (bytes int64, err error) { return 0, nil }

// Flush stores what was written to any array.
func (h *Hierarchy) Flush(ctx context.Context, durable bool) error { return errors.ErrUnsupported }

// Writable reports whether the store can be written to.
func (h *Hierarchy) Writable() bool { return false }

// CreateGroup creates a group, in its parent's format. What is there already is
// fs.ErrExist, a missing parent fs.ErrNotExist.
func (h *Hierarchy) CreateGroup(ctx context.Context, path string) error {
	return errors.ErrUnsupported
}

// CreateArray creates an array as the recipe of its parent says. What is there
// already is fs.ErrExist. An array whose source is in Fortran order is stored
// in that order; see Transposed.
func (h *Hierarchy) CreateArray(ctx context.Context, path string, shape []int64, t dtype.Type, fortran bool) (*Array, error) {
	return nil, errors.ErrUnsupported
}

// CreateFromDocument creates the array, or group, that a document such as
// a.json describes.
func (h *Hierarchy) CreateFromDocument(ctx context.Context, path string, doc []byte) error {
	return errors.ErrUnsupported
}

// Overwrite makes the array at path ready for new content of that shape, type
// and order, as a .npy copied over it brings: where type and order are the
// same and the number of axes is, its codecs, chunks and attributes stay, else
// it is created anew as the recipe says, with its attributes. All its elements
// are the fill value then; objects in the store are replaced by Flush.
func (h *Hierarchy) Overwrite(ctx context.Context, path string, shape []int64, t dtype.Type, fortran bool) (*Array, error) {
	return nil, errors.ErrUnsupported
}

// Transposed returns the array with its axes reversed, if it is stored in
// Fortran order: its bytes are those of the array in Fortran order.
func (a *Array) Transposed() (*Array, bool) { return nil, false }

// SetDocument changes the node as a document written over a.json, or over a
// group's zarr.json, says: attributes, dimension names and shape. What cannot
// be changed is an error that wraps meta.ErrInvalid, and nothing is changed.
func (h *Hierarchy) SetDocument(ctx context.Context, path string, doc []byte) error {
	return errors.ErrUnsupported
}

// SetAttribute sets an attribute of the node to a JSON value, or to the string
// that value is where it is no JSON; nil removes it, which is fs.ErrNotExist if
// there is none.
func (h *Hierarchy) SetAttribute(ctx context.Context, path, name string, value []byte) error {
	return errors.ErrUnsupported
}

// Remove removes the array at path with all its objects, or an empty group; a
// group with children is ErrNotEmpty. What was written to the array and not
// stored goes with it.
func (h *Hierarchy) Remove(ctx context.Context, path string) error { return errors.ErrUnsupported }

// Rename moves the array or group at from, with all below it, to the path to,
// which must not exist unless replace is set: an array then replaces an array,
// and a group an empty group.
func (h *Hierarchy) Rename(ctx context.Context, from, to string, replace bool) error {
	return errors.ErrUnsupported
}

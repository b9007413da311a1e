package zarrcore

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Overwrite makes the array at path ready for new content of that shape, type and order, as a .npy
// copied over it brings. Where the type and the number of axes are the same, its codecs, chunks
// and attributes stay, except for the transpose that the order needs. Otherwise it is recreated as
// the recipe says, with its attributes. All its elements are the fill value then. Objects in the
// store are replaced by Flush.
func (h *creation) Overwrite(
	ctx context.Context, path string, shape []int64, t dtype.Type, fortran bool,
) (*Array, error) {
	if !h.IsWritable() {
		return nil, &Error{Op: "create", Path: path, Err: store.ErrReadOnly}
	}
	end, err := h.use(ctx, "create", path)
	if err != nil {
		return nil, err
	}
	defer end()
	a, err := h.OpenArray(ctx, path)
	if err == nil {
		a = a.Live()
		if fits(a, shape, t, fortran) {
			err := start(ctx, a, shape)
			return a.Live(), err
		}
	} else if errors.Is(err, iofs.ErrNotExist) || errors.Is(err, ErrNotArray) ||
		errors.Is(err, ErrVlen) {
		return nil, err
	}
	return h.recreate(ctx, path, shape, t, fortran)
}

// fits reports that an array with the same codecs and chunks can have that
// content, and that only its axis 0 has another length.
func fits(a *Array, shape []int64, t dtype.Type, fortran bool) bool {
	own := a.Meta().Shape
	return a.Writable() == nil && a.Meta().Type.CanBeSavedAs(t) && a.Meta().HasOrder(fortran) &&
		len(own) == len(shape) &&
		(len(own) == 0 || slices.Equal(own[1:], shape[1:]) && a.Generation().HasRows(shape[0]))
}

// start truncates the array to nothing and gives it its new length.
func start(ctx context.Context, a *Array, shape []int64) error {
	row := a.Generation().Grid.RowBytes()
	if row == 0 {
		if slices.Equal(shape, a.Meta().Shape) {
			return nil
		}
		err := fmt.Errorf("%w: expected shape %v, found %v", ErrFixedSize, a.Meta().Shape, shape)
		return &Error{Op: "create", Path: a.Path(), Err: err}
	}
	if err := a.SetSize(ctx, 0); err != nil {
		return err
	}
	return a.SetSize(ctx, shape[0]*row)
}

// recreate makes another array in the place of the one at path. It keeps the attributes, and the
// names of dimensions if it has as many. The codecs and chunks stay too where only the shape or
// the order is another.
func (h *creation) recreate(
	ctx context.Context, path string, shape []int64, t dtype.Type, fortran bool,
) (*Array, error) {
	docs, err := h.edit.Successors(ctx, path, shape, t, fortran)
	if err != nil {
		return nil, err
	}
	return h.replaceArray(ctx, path, docs)
}

// Successor returns what the array at path would be after Overwrite. Nothing is changed.
func (h *creation) Successor(
	ctx context.Context, path string, shape []int64, t dtype.Type, fortran bool,
) (*meta.Array, error) {
	return h.edit.Successor(ctx, path, shape, t, fortran)
}

// replaceArray deletes the objects of the array at path and gives it other documents. Programs
// that have it open have the new array then.
func (h *creation) replaceArray(
	ctx context.Context, path string, docs []meta.Document,
) (*Array, error) {
	return h.arrays.Recreate(ctx, path, func() error { return h.edit.Replace(ctx, path, docs) })
}

package vlenarray

import (
	"context"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/scan"
)

// A place reaches the objects of an array at one path, with one shape.
type place struct {
	t       *Table
	id      uint64 // of the generation
	path    string
	meta    *meta.Array
	version string          // of its documents
	objects *object.Layout  // which object a chunk is in
	grid    *layout.Grid    // of its chunks; it counts elements, not bytes
	lengths *object.Lengths // of stored objects
	watch   *scan.Watch     // notices changed objects; nil where that is not asked for
}

// rows returns the length of axis 0; 1 without axes.
func (a *place) rows() int64 {
	if len(a.meta.Shape) == 0 {
		return 1
	}
	return a.meta.Shape[0]
}

// opener opens the array's stored objects.
func (a *place) opener() object.Opener {
	return object.Opener{
		Array: a.id, Keys: a.objects.Keys, Lengths: a.lengths, Fill: a.meta.Fill,
		Shared: a.t.Objects,
	}
}

// withObject calls decode with the object that holds chunk n and the chunk's number in it. If the
// object or the chunk is not stored, the error is object.ErrMissing. Others name array and key.
func (a *place) withObject(
	ctx context.Context, n int64, decode func(src *object.Reader, inner int64) error) error {
	obj, key, inner := a.objects.Find(n)
	src, err := a.opener().Open(ctx, a.t.Store, obj, key)
	if err == nil {
		defer src.Close()
		err = compress.Guard(func() error { return decode(src, inner) })
	}
	switch {
	case object.IsMissing(err):
		return object.ErrMissing
	case err != nil:
		return &catalog.Error{Op: "read", Path: a.path, Key: key, Err: err}
	}
	return nil
}

package adopt

import (
	"context"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/writing"
	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// Behind writes what a transient has behind the header of its .npy to the array, and stores it.
func (f *Files) Behind(
	arr *zarrcore.Array, x *transient.File, header npy.Info,
) error {
	data, err := arr.InOrder(header.Fortran)
	if err != nil {
		return err
	}
	return f.Fill(f.Ctx, data, x, header.Len, x.Size()-header.Len)
}

// Overwrite makes the .npy file that a transient holds the content of the array at path, as if a
// program wrote it in order. Programs that read the array find as much as has come.
func (f *Files) Overwrite(
	v view.HeaderView, x *transient.File, path string, header npy.Info, t dtype.Type,
) error {
	old, _ := f.H.OpenArray(f.Ctx, path) // H.Overwrite says what is wrong with it
	w := f.Writings.Open(pathstate.At(path), old, v)
	defer w.Close(v)
	if w.OpensOf(v) > 1 {
		return f.overwriteBeside(w, x, header, t)
	}
	w.ExpectHeader(func(
		ctx context.Context, shape []int64, t dtype.Type, fortran bool,
	) (*zarrcore.Array, error) {
		arr, err := f.H.Overwrite(ctx, path, shape, t, fortran)
		return arr, errno.Refused(err)
	})
	err := x.EachPiece(0, func(p []byte, at int64) error {
		_, err := w.Put(f.Ctx, nil, v, p, at, writing.AtOffset)
		return err
	})
	if err != nil {
		return err
	}
	arr := w.Live()
	// Another program may be writing the last row.
	return writing.ExceptOpenRow(arr, arr.Save(f.Ctx, false))
}

// overwriteBeside is Overwrite while other programs have the .npy file open for writing. They go on
// by their own header, so that what they write in another order is refused.
func (f *Files) overwriteBeside(
	w *writing.Array, x *transient.File, header npy.Info, t dtype.Type,
) error {
	defer w.Remake()()
	arr, err := f.H.Overwrite(f.Ctx, w.Path(), header.Shape, t, header.Fortran)
	if err != nil {
		return errno.Refused(err)
	}
	return f.Behind(arr, x, header)
}

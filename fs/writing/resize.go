package writing

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/coherence"
	"github.com/zarrfs/zarrfs/fs/compare"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// setSize truncates or extends a view's file.
func (w viewFile) setSize(ctx context.Context, size int64) error {
	if view.IsHeaded(w.v) {
		return w.npy.setSize(ctx, w.Array, size)
	}
	w.npy.come.Settle()
	if view.IsDerived(w.v) {
		file, err := w.derived()
		if err != nil {
			return err
		}
		return file.setSize(ctx, size)
	}
	_, data, err := w.v.Parts(w.Live())
	if err != nil {
		return err
	}
	err = data.SetSize(ctx, size)
	if errors.Is(err, zarrcore.ErrFixedSize) && size == 0 {
		return nil // as programs do before they write all of a file: they will write what there is
	}
	return err
}

// clear makes bytes [off, off+n) of a view's file zero, as far as it has them. The header stays as
// it is.
func (w viewFile) clear(ctx context.Context, off, n int64) error {
	w.Arrive(ctx)
	arr := w.Live()
	if arr == nil || w.Awaiting(w.v) != nil {
		return fmt.Errorf("%w: the header of the .%s file is not complete", iofs.ErrInvalid,
			w.v.Name())
	}
	head, data, err := w.v.Parts(arr)
	if err != nil {
		return err
	}
	if off < head {
		kind := iofs.ErrInvalid
		if view.IsDerived(w.v) {
			kind = syscall.EPERM // as for each other change of such a header
		}
		return fmt.Errorf("%w: the header of a .%s file cannot be made zero", kind, w.v.Name())
	}
	return data.Clear(ctx, off-head, n)
}

// NoteCreated notes that a view's file was created. An empty file has no effect: the array keeps
// its bytes until others are written.
func (w *Array) NoteCreated(ctx context.Context, n coherence.File, v view.ArrayView) error {
	if view.IsHeaded(v) {
		return w.Resize(ctx, n, v, 0)
	}
	if view.IsDerived(v) {
		viewFile{w, v}.beginRewrite()
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.created |= view.SetOf(v)
	return nil
}

// IsEmpty reports whether a view's file was created and nothing was written to it yet.
func (w *Array) IsEmpty(v view.View) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.created&view.SetOf(v) != 0
}

// Begin truncates the array to nothing if the view's file is such a file, before its first write or
// its first size.
func (w *Array) Begin(ctx context.Context, n coherence.File, v view.ArrayView) error {
	w.appending.Lock()
	defer w.appending.Unlock()
	if !w.IsEmpty(v) {
		return nil
	}
	err := viewFile{w, v}.resize(ctx, n, 0)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.created &^= view.SetOf(v)
	}
	return err
}

// ComparesNow makes what a program writes to view v a comparison, if it must be one. Otherwise it
// returns nil.
func (w *Array) ComparesNow(by program.Process, v view.View) (*compare.Comparison, error) {
	return w.compared.Begin(w.table.Compared, w.Path, by, v)
}

// setComparedSize sets the size of a file that is compared. It reports whether the file is.
func (w viewFile) setComparedSize(req context.Context, size int64) (bool, error) {
	by := wire.Caller(req)
	if !by.Mover || w.Live() == nil {
		return false, nil
	}
	c := w.compared.Of(by, w.v)
	if c == nil && size == 0 {
		var err error
		if c, err = w.ComparesNow(by, w.v); err != nil {
			return true, err
		}
	}
	if c == nil {
		return false, nil
	}
	return true, c.SetSize(size)
}

// CopyResize is Resize for the program that sent a request. A program that copies a sparse file
// ends the copy by its size if the file ends in a hole.
func (w *Array) CopyResize(
	req context.Context, n coherence.File, v view.ArrayView, size int64,
) error {
	f := viewFile{w, v}
	if compared, err := f.setComparedSize(req, size); compared {
		return err
	}
	ctx := w.table.Ctx
	if size > 0 {
		if err := w.Begin(ctx, n, v); err != nil {
			return err
		}
	}
	w.npy.emptied.Store(view.IsHeaded(v) && size == 0)
	from, sparse := f.copied(req)
	if err := w.Resize(ctx, n, v, size); err != nil || !sparse {
		return err
	}
	return f.fillGap(n, from, size)
}

// Resize changes the size of a view's file. A .npy file that is truncated to nothing will be
// rewritten: the array stays as it is until the new header is complete. A file without an array
// waits for its header as before.
func (w *Array) Resize(ctx context.Context, n coherence.File, v view.ArrayView, size int64) error {
	if view.IsHeaded(v) && size == 0 {
		w.npy.ender.noteTruncation()
		if in := w.Awaiting(v); in != nil && w.Live() == nil {
			return in.SetSize(0)
		}
		w.ExpectHeader(func(
			ctx context.Context, shape []int64, t dtype.Type, fortran bool,
		) (*zarrcore.Array, error) {
			arr, err := w.table.H.Overwrite(ctx, w.Path(), shape, t, fortran)
			return arr, errno.Refused(err)
		})
		return nil
	}
	if err := w.Begin(ctx, n, v); err != nil {
		return err
	}
	return viewFile{w, v}.resize(ctx, n, size)
}

// resize truncates or extends a view's file and updates the array's other files.
func (w viewFile) resize(ctx context.Context, by coherence.File, size int64) error {
	w.Arrive(ctx)
	defer w.resizings.begin()()
	before := w.extent()
	w.others.writeReversed(by, before)
	err := w.setSize(ctx, size)
	w.others.changed(by, w, before, view.Stretch{})
	return err
}

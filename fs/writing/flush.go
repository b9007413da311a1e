package writing

import (
	"context"
	"errors"

	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// Flush stores what was written by any handle of any view, for the program that has the handle by,
// nil if it has none. If durable is set, it survives a power cut.
func (w *Array) Flush(ctx context.Context, v view.View, by *Handle, durable bool) error {
	var errs []error
	if view.IsHeaded(v) && !w.npy.ender.isLeftTo(by, w.OpensOf(v)) {
		errs = append(errs, w.npy.finishHeader(ctx, w))
	}
	if arr := w.Live(); arr != nil {
		errs = append(errs, w.row.flush(ctx, arr, by, durable))
		w.table.Stat.ForgetAll(w.Path())
	}
	return errors.Join(errs...)
}

// Sync makes durable what the handle by wrote with O_SYNC, which may be a piece of a row, or of a
// header.
func (w *Array) Sync(ctx context.Context, by *Handle) error {
	arr := w.Live()
	if arr == nil {
		return nil
	}
	err := arr.Save(ctx, true)
	if errors.Is(err, zarrcore.ErrFraction) && w.row.has(by) {
		return nil
	}
	return ExceptOpenRow(arr, err)
}

// Unsaved returns how many bytes are not stored, and why the last attempt to store them failed.
func (w *Array) Unsaved() (bytes int64, err error) {
	arr := w.Live()
	if arr == nil {
		return 0, nil
	}
	return arr.Dirty()
}

// Settle notes that the .npy is as its writer wants it, although its end has not come: readers see
// all of it. A FLUSH does not do so, since NumPy's tofile closes a duplicate of the file after each
// piece.
func (w *Array) Settle() {
	npy := viewFile{w, w.npy.view}
	before := npy.extent()
	w.npy.come.Settle()
	if npy.extent() != before {
		w.others.changed(nil, npy, before, view.Everything)
	}
}

// TellPaged updates each file with what was written by pages of another.
func (w *Array) TellPaged() { w.others.tellPaged() }

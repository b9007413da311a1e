package writing

import (
	"cmp"
	"context"

	"github.com/zarrfs/zarrfs/fs/input"
	"github.com/zarrfs/zarrfs/fs/view"
)

// goesOnAt returns where a program that appends to a view's file goes on, if that is inside of the
// array: the .npy has come up to there. The caller holds appending.
func (w viewFile) goesOnAt() (at int64, inside bool) {
	if in := w.Awaiting(w.v); in != nil {
		return in.Size(), true
	}
	if !view.IsHeaded(w.v) {
		return 0, false
	}
	return w.npy.come.Next()
}

// append writes p behind the array's last byte, and returns where that is. The caller holds
// appending.
func (w viewFile) append(ctx context.Context, p []byte) (at int64, err error) {
	if view.IsDerived(w.v) {
		file, err := w.derived()
		return 0, cmp.Or(err, file.keepsSize(file.size()+int64(len(p))))
	}
	_, data, err := w.v.Parts(w.Live())
	if err != nil {
		return 0, err
	}
	at = data.Size()
	if view.IsHeaded(w.v) {
		_, err = input.OneArray{Array: data, Seam: &w.npy.seam}.WriteAt(ctx, p, at)
	} else {
		w.npy.come.Settle()
		_, err = data.WriteAt(ctx, p, at)
	}
	return w.extent().Head + at, err
}

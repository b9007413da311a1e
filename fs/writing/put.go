package writing

import (
	"context"

	"github.com/zarrfs/zarrfs/fs/coherence"
	"github.com/zarrfs/zarrfs/fs/view"
)

// extent returns what a view's file is made of now; nothing where there is no array yet.
func (w viewFile) extent() view.Extent {
	arr := w.Live()
	if arr == nil {
		return view.Extent{}
	}
	e, err := w.npy.extentOf(w.v, arr)
	if err != nil {
		return view.Extent{Array: arr}
	}
	if theirs := w.npy.header(nil); theirs != nil && view.IsHeaded(w.v) {
		e.Head = int64(len(theirs))
	}
	return e
}

// Put writes p at off of a view's file, or where kind says, and updates the array's other files.
// It returns where.
func (w *Array) Put(
	ctx context.Context, by coherence.File, v view.ArrayView, p []byte, off int64, kind How,
) (at int64, err error) {
	w.Arrive(ctx)
	f := viewFile{w, v}
	if kind == ByPage {
		w.others.notePaged(by)
		at, err = f.write(ctx, p, off, kind)
		w.others.follow(f.extent().Stretch(off, int64(len(p))), false)
		return at, err
	}
	before, s := f.extent(), view.Everything
	if kind == AtEnd || off+int64(len(p)) > before.Size() {
		defer w.resizings.begin()()
	}
	if w.Awaiting(v) == nil {
		s = before.Stretch(off, int64(len(p)))
		if _, inside := f.goesOnAt(); kind == AtEnd && inside {
			s = view.Everything // other programs may append meanwhile
		}
		// They may be dirty.
		w.others.drop(s, func(n coherence.File) bool { return n != by && n.IsWritten() })
	}
	at, err = f.write(ctx, p, off, kind)
	w.others.changed(by, f, before, s)
	return at, err
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

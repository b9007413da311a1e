package fs

import (
	"context"

	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// extent is what a view's file was made of at some time.
type extent struct {
	arr  *zarrcore.Array
	head int64 // bytes before those of the array, as the file's writers see them
	data int64 // bytes of the array

	reversed bool // they lie in the order of the array with its axes reversed
}

// extent returns what a view's file is made of now; nothing where there is no array yet.
func (w *writing) extent(v view.ArrayView) extent {
	arr := w.array()
	if arr == nil {
		return extent{}
	}
	head, data, err := v.Parts(arr)
	if err != nil {
		return extent{arr: arr}
	}
	if view.IsHeaded(v) {
		head = w.npy.header(head)
	}
	return newExtent(arr, head, data)
}

// extentOf returns what a file of the array is made of.
func extentOf(v view.ArrayView, arr *zarrcore.Array) (extent, error) {
	head, data, err := v.Parts(arr)
	if err != nil {
		return extent{}, err
	}
	return newExtent(arr, head, data), nil
}

func newExtent(arr *zarrcore.Array, head []byte, data *zarrcore.Array) extent {
	return extent{arr, int64(len(head)), data.Size(), data != arr}
}

// stretch returns the part of the array that lies in [off, off+n) of the file.
func (e extent) stretch(off, n int64) stretch {
	off -= e.head
	if off < 0 {
		off, n = 0, max(0, n+off)
	}
	return stretch{off, n, e.reversed}
}

// put writes p at off of a view's file and updates the array's other files.
func (w *writing) put(ctx context.Context, by *fileNode, v view.ArrayView, p []byte, off int64, kind how) error {
	w.arrive(ctx)
	if kind == byPage {
		w.notePaged(by)
		err := w.write(ctx, v, p, off, kind)
		w.follow(w.extent(v).stretch(off, int64(len(p))), false)
		return err
	}
	before, s := w.extent(v), everything
	if w.awaiting(v) == nil {
		s = before.stretch(off, int64(len(p)))
		if _, inside := w.goesOnAt(v); kind == atEnd && inside {
			s = everything // other programs may append meanwhile
		}
		w.dropPages(s, func(n *fileNode) bool { return n != by && n.writers.Load() > 0 }) // they may be dirty
	}
	err := w.write(ctx, v, p, off, kind)
	w.changed(by, v, before, s)
	return err
}

// resize truncates or extends a view's file and updates the array's other files.
func (w *writing) resize(ctx context.Context, by *fileNode, v view.ArrayView, size int64) error {
	w.arrive(ctx)
	before := w.extent(v)
	w.writeReversed(by, before)
	err := w.setSize(ctx, v, size)
	w.changed(by, v, before, stretch{})
	return err
}

// changed invalidates the kernel's pages of s, and the size if it differs from before. by is the
// file through which the array was changed, or nil. The pages of that file are dropped where bytes
// were written. After a write behind the end, the page with the old end is dropped too. If the file
// was only resized, its pages cannot be dropped while the kernel waits.
func (w *writing) changed(by *fileNode, v view.ArrayView, before extent, s stretch) {
	now, written := w.extent(v), s.n > 0
	if now != before {
		if s != everything {
			s = stretch{min(s.off, before.data, now.data), -1, before.reversed} // also what a page shows behind the end
		}
		w.fs.resized(w.path(), by)
	}
	if s.n != 0 {
		w.follow(s, now != before)
		w.dropPages(s, func(n *fileNode) bool { return n != by || written })
		if now.head > 0 && now != before {
			w.dropHeaders(by)
		}
	}
	if now.data > before.data {
		w.moveEnds(func(n *fileNode) bool { return n != by || written })
	}
}

// writeReversed lets the kernel write the dirty pages of the files that show the array the other
// way around, except by: where their bytes belong depends on the array's length, which is about to
// change.
func (w *writing) writeReversed(by *fileNode, e extent) {
	w.dropPages(stretch{n: -1, reversed: e.reversed}, func(n *fileNode) bool {
		v, ok := n.view.(view.ArrayView)
		return ok && n != by && n.writers.Load() > 0 && w.extent(v).reversed != e.reversed
	})
}

// notePaged notes that pages of a file were written. It sends no notice; see notices.go.
func (w *writing) notePaged(by *fileNode) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pagedBy == nil {
		w.pagedBy = make(map[*fileNode]struct{})
	}
	w.pagedBy[by] = struct{}{}
}

// tellPaged updates each file with what was written by pages of another.
func (w *writing) tellPaged() {
	w.mu.Lock()
	pagedBy := w.pagedBy
	w.pagedBy = nil
	w.mu.Unlock()
	if len(pagedBy) == 0 {
		return
	}
	w.dropPages(everything, func(n *fileNode) bool {
		_, alone := pagedBy[n]
		return !alone || len(pagedBy) > 1
	})
}

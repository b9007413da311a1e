package writing

import (
	"context"

	"github.com/zarrfs/zarrfs/fs/coherence"
	"github.com/zarrfs/zarrfs/fs/view"
)

// extent returns what a view's file is made of now; nothing where there is no array yet.
func (w *Array) extent(v view.ArrayView) view.Extent {
	arr := w.Live()
	if arr == nil {
		return view.Extent{}
	}
	head, data, err := v.Parts(arr)
	if err != nil {
		return view.Extent{Array: arr}
	}
	if view.IsHeaded(v) {
		head = w.npy.header(head)
	}
	e := view.NewExtent(arr, head, data)
	e.Data = w.shown(arr, data)
	return e
}

// Put writes p at off of a view's file, or where kind tells, and updates the array's other files.
// It returns where.
func (w *Array) Put(
	ctx context.Context, by coherence.File, v view.ArrayView, p []byte, off int64, kind How,
) (at int64, err error) {
	w.Arrive(ctx)
	if kind == ByPage {
		w.notePaged(by)
		at, err = w.write(ctx, v, p, off, kind)
		w.follow(w.extent(v).Stretch(off, int64(len(p))), false)
		return at, err
	}
	before, s := w.extent(v), view.Everything
	if w.Awaiting(v) == nil {
		s = before.Stretch(off, int64(len(p)))
		if _, inside := w.goesOnAt(v); kind == AtEnd && inside {
			s = view.Everything // other programs may append meanwhile
		}
		// They may be dirty.
		w.dropPages(s, func(n coherence.File) bool { return n != by && n.IsWritten() })
	}
	at, err = w.write(ctx, v, p, off, kind)
	w.changed(by, v, before, s)
	return at, err
}

// resize truncates or extends a view's file and updates the array's other files.
func (w *Array) resize(ctx context.Context, by coherence.File, v view.ArrayView, size int64) error {
	w.Arrive(ctx)
	before := w.extent(v)
	w.writeReversed(by, before)
	err := w.setSize(ctx, v, size)
	w.changed(by, v, before, view.Stretch{})
	return err
}

// changed invalidates the kernel's pages of s, and the size if it differs from before. by is the
// file through which the array was changed, or nil. The pages of that file are dropped where bytes
// were written. After a write behind the end, the page with the old end is dropped too. If the file
// was only resized, its pages cannot be dropped while the kernel waits.
func (w *Array) changed(by coherence.File, v view.ArrayView, before view.Extent, s view.Stretch) {
	now, written := w.extent(v), s.N > 0
	if now != before {
		if s != view.Everything {
			// Also what a page shows behind the end.
			s = view.Stretch{Off: min(s.Off, before.Data, now.Data), N: -1, Reversed: before.Reversed}
		}
		w.table.Kernel.Resized(w.Path(), by)
	}
	if s.N != 0 {
		w.follow(s, now != before)
		w.dropPages(s, func(n coherence.File) bool { return n != by || written })
		if now.Head > 0 && now != before {
			w.dropHeaders(by)
		}
	}
	if now.Data > before.Data {
		w.moveEnds(func(n coherence.File) bool { return n != by || written })
	}
}

// writeReversed lets the kernel write the dirty pages of the files that show the array the other
// way around, except by: where their bytes belong depends on the array's length, which is about to
// change.
func (w *Array) writeReversed(by coherence.File, e view.Extent) {
	w.dropPages(view.Stretch{N: -1, Reversed: e.Reversed}, func(n coherence.File) bool {
		v, ok := n.View().(view.ArrayView)
		if !ok || n == by || !n.IsWritten() {
			return false
		}
		other := w.extent(v)
		return other.Sliced || other.Reversed != e.Reversed
	})
}

// notePaged notes that pages of a file were written. It sends no notice; see package coherence.
func (w *Array) notePaged(by coherence.File) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pagedBy == nil {
		w.pagedBy = make(map[coherence.File]struct{})
	}
	w.pagedBy[by] = struct{}{}
}

// follow writes a stretch that programs have changed to the materialised files of the array, unless
// another is in its place. Programs that have them open see the former array until a .npy that is
// being written is there.
func (w *Array) follow(s view.Stretch, resized bool) {
	if _, arriving := w.npy.come.Shown(); arriving {
		w.unfollowed.Store(true)
		return
	}
	if w.unfollowed.Swap(false) {
		s, resized = view.Everything, true
	}
	if path := w.Path(); w.table.Find(path) == w {
		w.table.Material.Follow(path, w.Live(), s, resized)
	}
}

// TellPaged updates each file with what was written by pages of another.
func (w *Array) TellPaged() {
	w.mu.Lock()
	pagedBy := w.pagedBy
	w.pagedBy = nil
	w.mu.Unlock()
	if len(pagedBy) == 0 {
		return
	}
	w.dropPages(view.Everything, func(n coherence.File) bool {
		_, alone := pagedBy[n]
		return !alone || len(pagedBy) > 1
	})
}

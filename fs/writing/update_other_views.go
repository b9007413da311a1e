package writing

import (
	"sync/atomic"

	"github.com/zarrfs/zarrfs/fs/coherence"
	"github.com/zarrfs/zarrfs/fs/view"
)

// others are the files of an array, seen from the one by which a program changes it. They follow.
type others struct {
	of *Array

	unfollowed atomic.Bool // the materialised files are not as the array is; see follow

	// The files whose pages were written since the others were told. Array.mu guards it.
	pagedBy map[coherence.File]struct{}
}

// changed invalidates the kernel's pages of s, and the size if it differs from before. by is the
// file through which the array was changed, or nil. The pages of that file are dropped where bytes
// were written. After a write behind the end, the page with the old end is dropped too. If the file
// was only resized, its pages cannot be dropped while the kernel waits.
func (o *others) changed(by coherence.File, f viewFile, before view.Extent, s view.Stretch) {
	now, written := f.extent(), s.N > 0
	if now != before {
		if s != view.Everything {
			// Also what a page shows behind the end.
			s = view.Stretch{Off: min(s.Off, before.Data, now.Data), N: -1,
				Reversed: before.Reversed}
		}
		o.of.table.Kernel.Resized(o.of.Path(), by)
	}
	if s.N != 0 {
		o.follow(s, now != before)
		o.drop(s, func(n coherence.File) bool { return n != by || written })
		if now.Head > 0 && now != before {
			o.dropHeaders(by)
		}
	}
	if now.Data > before.Data {
		o.moveEnds(by, written)
	}
}

// writeReversed lets the kernel write the dirty pages of the files that show the array the other
// way around, except by: where their bytes belong depends on the array's length, which is about to
// change.
func (o *others) writeReversed(by coherence.File, e view.Extent) {
	o.drop(view.Stretch{N: -1, Reversed: e.Reversed}, func(n coherence.File) bool {
		v, ok := n.View().(view.ArrayView)
		if !ok || n == by || !n.IsWritten() {
			return false
		}
		other := viewFile{o.of, v}.extent()
		return other.Sliced || other.Reversed != e.Reversed
	})
}

// notePaged notes that pages of a file were written. It sends no notice; see package coherence.
func (o *others) notePaged(by coherence.File) {
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	if o.pagedBy == nil {
		o.pagedBy = make(map[coherence.File]struct{})
	}
	o.pagedBy[by] = struct{}{}
}

// follow writes a changed stretch to the materialised files of the array, unless another array is
// in its place. While a .npy is being written, programs that have these files open see the former
// array.
func (o *others) follow(s view.Stretch, resized bool) {
	if _, arriving := o.of.npy.come.Shown(); arriving {
		o.unfollowed.Store(true)
		return
	}
	if o.unfollowed.Swap(false) {
		s, resized = view.Everything, true
	}
	if path := o.of.Path(); o.of.table.Find(path) == o.of {
		o.of.table.Material.Follow(path, o.of.Live(), s, resized)
	}
}

// tellPaged updates each file with what was written by pages of another.
func (o *others) tellPaged() {
	o.of.mu.Lock()
	pagedBy := o.pagedBy
	o.pagedBy = nil
	o.of.mu.Unlock()
	if len(pagedBy) == 0 {
		return
	}
	o.drop(view.Everything, func(n coherence.File) bool {
		_, alone := pagedBy[n]
		return !alone || len(pagedBy) > 1
	})
}

// drop makes the kernel drop what it keeps of a stretch of the array, in the array's files chosen
// by which.
func (o *others) drop(s view.Stretch, which func(coherence.File) bool) {
	var notices []func()
	isPaged := func(n coherence.File) bool { return n.IsPaged() && which(n) }
	o.each(isPaged, func(n coherence.File, e view.Extent) {
		s := s.In(e)
		off, size := e.Head+s.Off, max(s.N, 0)
		if s == view.Everything {
			off, size = 0, 0
		}
		notices = append(notices, func() { n.NotifyContent(off, size) })
	})
	o.of.table.Kernel.Notify(notices)
}

// moveEnds makes the kernel see the new end of files that have become longer. A notice that makes
// it ask for the size is not enough. The kernel ignores an answer that it gets after any other
// notice for the file, such as one of the next write. A read of its page cache then ends at the
// former end of the file. A byte that is put into the page cache moves the end at once. It is the
// file's last byte. A file of the array with its axes reversed has no byte that is certainly new.
//
// A program may have mapped a file, and use its first page only when it knows the new size. So the
// kernel must know the end of such a file before it has any page.
func (o *others) moveEnds(by coherence.File, written bool) {
	var notices []func()
	which := func(n coherence.File) bool {
		return (n != by || written) && (n.IsPaged() || n.CanBeMapped(by))
	}
	o.each(which, func(n coherence.File, e view.Extent) {
		last := make([]byte, 1)
		if e.Reversed || e.Data == 0 {
			return
		}
		if e.Tail == 0 {
			if _, err := e.Array.ReadAt(o.of.table.Ctx, last, e.Data-1); err != nil {
				return // a program that reads it gets the error
			}
		}
		end := e.Size()
		notices = append(notices, func() { n.MoveEnd(end, last) })
	})
	o.of.table.Kernel.Notify(notices)
}

// dropHeaders makes the kernel drop the headers that it keeps.
func (o *others) dropHeaders(by coherence.File) {
	var notices []func()
	isOther := func(n coherence.File) bool { return n != by && n.IsPaged() }
	o.each(isOther, func(n coherence.File, e view.Extent) {
		if e.Head > 0 {
			notices = append(notices, func() { n.NotifyContent(0, e.Head) })
		}
	})
	o.of.table.Kernel.Notify(notices)
}

// each visits the files of the array chosen by which, with what they show.
func (o *others) each(
	which func(coherence.File) bool, visit func(n coherence.File, e view.Extent),
) {
	arr := o.of.Live()
	if arr == nil {
		return
	}
	for _, n := range o.of.table.Kernel.Of(o.of.Path()) {
		v, ok := n.View().(view.ArrayView)
		if !ok || !which(n) {
			continue
		}
		if e, err := o.of.npy.extentOf(v, arr); err == nil {
			visit(n, e)
		}
	}
}

package writing

import (
	"github.com/zarrfs/zarrfs/fs/coherence"
	"github.com/zarrfs/zarrfs/fs/view"
)

// dropPages makes the kernel drop what it keeps of a stretch of the array in those of its files
// that which chooses.
func (w *Array) dropPages(s view.Stretch, which func(coherence.File) bool) {
	var notices []func()
	w.eachPaged(which, func(n coherence.File, e view.Extent) {
		s := s.In(e)
		off, size := e.Head+s.Off, max(s.N, 0)
		if s == view.Everything {
			off, size = 0, 0
		}
		notices = append(notices, func() { n.NotifyContent(off, size) })
	})
	w.table.Kernel.Notify(notices)
}

// moveEnds makes the kernel see the new end of files that have become longer. A notice that makes
// it ask for the size is not enough. The kernel ignores an answer that it gets after any other
// notice for the file, such as one of the next write. A read of its page cache then ends at the
// former end of the file. A byte that is put into the page cache moves the end at once. It is the
// file's last byte. Its page is dropped again, for another program may write that byte meanwhile. A
// file that shows the array the other way around has no byte that is certainly new.
func (w *Array) moveEnds(which func(coherence.File) bool) {
	var notices []func()
	w.eachPaged(which, func(n coherence.File, e view.Extent) {
		last := make([]byte, 1)
		if e.Reversed || e.Data == 0 {
			return
		}
		if _, err := e.Array.ReadAt(w.table.Ctx, last, e.Data-1); err != nil {
			return // a program that reads it gets the error
		}
		end := e.Head + e.Data
		notices = append(notices, func() {
			n.WriteCache(end-1, last)
			n.NotifyContent(end-1, 1)
		})
	})
	w.table.Kernel.Notify(notices)
}

// dropHeaders makes the kernel drop the headers that it keeps.
func (w *Array) dropHeaders(by coherence.File) {
	var notices []func()
	isOther := func(n coherence.File) bool { return n != by }
	w.eachPaged(isOther, func(n coherence.File, e view.Extent) {
		if e.Head > 0 {
			notices = append(notices, func() { n.NotifyContent(0, e.Head) })
		}
	})
	w.table.Kernel.Notify(notices)
}

// eachPaged visits those files of the array of which the kernel may keep pages, with what they
// show.
func (w *Array) eachPaged(
	which func(coherence.File) bool, visit func(n coherence.File, e view.Extent),
) {
	arr := w.Live()
	if arr == nil {
		return
	}
	for _, n := range w.table.Kernel.Of(w.Path()) {
		v, ok := n.View().(view.ArrayView)
		if !ok || !n.IsPaged() || !which(n) {
			continue
		}
		if head, data, err := v.Parts(arr); err == nil {
			e := view.NewExtent(arr, head, data)
			e.Data = w.shown(arr, data)
			visit(n, e)
		}
	}
}

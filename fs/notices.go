package fs

import (
	"context"
	"time"

	"github.com/zarrfs/zarrfs/fs/selfcopy"

	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
)

// The kernel keeps pages and sizes of each file apart. So what is written to one view of an array
// must be dropped from the others before the WRITE is answered. To drop a page the kernel may have
// to write it first, which comes back as another WRITE. Or it waits until a READ of the page is
// answered. Therefore a notice is sent from a goroutine of its own, and no lock that a request may
// need is held meanwhile. No notice at all is sent for a WRITE of a dirty page: it might be the
// page that the kernel would wait for. What came by pages is made known when it is flushed.

// noticeMost is how long a request waits for its notices. They take microseconds, unless programs
// write shared mappings of two views of one array, whose pages may wait for each other.
const noticeMost = 2 * time.Second

// files returns the files of the array at path that the kernel knows.
func (f *filesystem) files(path string) (files []*fileNode) {
	for _, b := range f.ids.Showing(path) {
		if n, ok := b.EmbeddedInode().Operations().(*fileNode); ok {
			files = append(files, n)
		}
	}
	return files
}

// copiedOntoItself returns an error if the caller is a program that copies, and reads another view
// of the array at path than v.
func (f *filesystem) copiedOntoItself(ctx context.Context, path string, v view.View) error {
	var threads []int
	for _, n := range f.files(path) {
		if n.view != v {
			threads = n.readers.Append(threads)
		}
	}
	return selfcopy.Refuses(threads, func() program.Process { return wire.Caller(ctx) })
}

// resized makes the kernel ask again for the sizes of the files of the node at path, except the
// file by which it was changed. The kernel takes no lock for attributes, so this notice may be sent
// while a request is answered.
func (f *filesystem) resized(path string, by *fileNode) {
	f.stat.Forget(path)
	for _, n := range f.files(path) {
		n.noteSized()
		if n != by {
			n.told.Store(unknownSize)
			n.NotifyContent(-1, 0)
		}
	}
}

// dropPages makes the kernel drop what it keeps of a stretch of the array in those of its files
// that which chooses.
func (w *writing) dropPages(s view.Stretch, which func(*fileNode) bool) {
	var notices []func()
	w.eachPaged(which, func(n *fileNode, e view.Extent) {
		s := s.In(e)
		off, size := e.Head+s.Off, max(s.N, 0)
		if s == view.Everything {
			off, size = 0, 0
		}
		notices = append(notices, func() { n.NotifyContent(off, size) })
	})
	w.fs.notify(notices)
}

// moveEnds makes the kernel see the new end of files that have become longer. A notice that makes
// it ask for the size is not enough. The kernel ignores an answer that it gets after any other
// notice for the file, such as one of the next write. A read of its page cache then ends at the
// former end of the file. A byte that is put into the page cache moves the end at once. It is the
// file's last byte. Its page is dropped again, for another program may write that byte meanwhile. A
// file that shows the array the other way around has no byte that is certainly new.
func (w *writing) moveEnds(which func(*fileNode) bool) {
	var notices []func()
	w.eachPaged(which, func(n *fileNode, e view.Extent) {
		last := make([]byte, 1)
		if e.Reversed || e.Data == 0 {
			return
		}
		if _, err := e.Array.ReadAt(w.fs.ctx, last, e.Data-1); err != nil {
			return // a program that reads it gets the error
		}
		end := e.Head + e.Data
		notices = append(notices, func() {
			n.WriteCache(end-1, last)
			n.NotifyContent(end-1, 1)
		})
	})
	w.fs.notify(notices)
}

// dropArrayPages makes the kernel drop all it keeps of the views of the array at path, dirty pages
// by writing them.
func (f *filesystem) dropArrayPages(path string) {
	var notices []func()
	for _, n := range f.files(path) {
		if _, ok := n.view.(view.ArrayView); ok && n.paged.Load() {
			notices = append(notices, func() { n.NotifyContent(0, 0) })
		}
	}
	f.notify(notices)
}

// dropHeaders makes the kernel drop the headers that it keeps.
func (w *writing) dropHeaders(by *fileNode) {
	var notices []func()
	w.eachPaged(func(n *fileNode) bool { return n != by }, func(n *fileNode, e view.Extent) {
		if e.Head > 0 {
			notices = append(notices, func() { n.NotifyContent(0, e.Head) })
		}
	})
	w.fs.notify(notices)
}

// eachPaged visits those files of the array of which the kernel may keep pages, with what they
// show.
func (w *writing) eachPaged(which func(*fileNode) bool, visit func(n *fileNode, e view.Extent)) {
	arr := w.array()
	if arr == nil {
		return
	}
	for _, n := range w.fs.files(w.path()) {
		v, ok := n.view.(view.ArrayView)
		if !ok || !n.paged.Load() || !which(n) {
			continue
		}
		if head, data, err := v.Parts(arr); err == nil {
			e := view.NewExtent(arr, head, data)
			e.Data = w.shown(arr, data)
			visit(n, e)
		}
	}
}

// notify sends notices and waits until the kernel has acted on them.
func (f *filesystem) notify(notices []func()) {
	if len(notices) == 0 {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, send := range notices {
			send()
		}
	}()
	select {
	case <-done:
	case <-time.After(noticeMost):
		f.log.Debug("the kernel takes long to drop pages")
	}
}

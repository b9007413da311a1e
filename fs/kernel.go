package fs

import (
	"log/slog"
	"syscall"
	"time"

	"github.com/zarrfs/zarrfs/fs/material"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/view"
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

// cachedFile is a file of the mount, of which the kernel keeps the size and pages.
type cachedFile interface {
	View() view.View
	IsPaged() bool   // the kernel may keep pages of it
	IsWritten() bool // programs have it open for writing
	NoteSized()      // notes that the file has another size
	ForgetSize()     // makes the kernel ask for the size again
	NotifyContent(off, n int64) syscall.Errno
	WriteCache(off int64, data []byte) syscall.Errno
}

// cachedFiles are those of a mount.
type cachedFiles struct {
	of       func(path string) []cachedFile // which the kernel knows of the node at path
	stat     *stat.Cache
	material *material.Files
	log      *slog.Logger
}

// resized makes the kernel ask again for the sizes of the files of the node at path, except the
// file by which it was changed. The kernel takes no lock for attributes, so this notice may be sent
// while a request is answered.
func (f *cachedFiles) resized(path string, by cachedFile) {
	f.stat.Forget(path)
	for _, n := range f.of(path) {
		n.NoteSized()
		if n != by {
			n.ForgetSize()
		}
	}
}

// dropArrayPages makes the kernel drop all it keeps of the views of the array at path, dirty pages
// by writing them.
func (f *cachedFiles) dropArrayPages(path string) {
	var notices []func()
	for _, n := range f.of(path) {
		if _, ok := n.View().(view.ArrayView); ok && n.IsPaged() {
			notices = append(notices, func() { n.NotifyContent(0, 0) })
		}
	}
	f.notify(notices)
}

// changedAt makes the kernel ask again for the attributes and bytes of the files of the node at
// path.
func (f *cachedFiles) changedAt(path string) {
	f.material.Rewrite(path)
	f.resized(path, nil)
	var notices []func()
	for _, n := range f.of(path) {
		notices = append(notices, func() { n.NotifyContent(0, 0) })
	}
	f.notify(notices)
}

// notify sends notices and waits until the kernel has acted on them.
func (f *cachedFiles) notify(notices []func()) {
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

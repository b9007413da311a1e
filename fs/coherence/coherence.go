// Package coherence makes the kernel drop what it keeps of files that have changed.
//
// The kernel keeps pages and sizes of each file apart. So what is written to one view of an array
// must be dropped from the others before the WRITE is answered. To drop a page the kernel may have
// to write it first, which comes back as another WRITE. Or it waits until a READ of the page is
// answered. Therefore a notice is sent from a goroutine of its own, and no lock that a request may
// need is held meanwhile. No notice at all is sent for a WRITE of a dirty page: it might be the
// page that the kernel would wait for. What came by pages is made known when it is flushed.
package coherence

import (
	"log/slog"
	"syscall"
	"time"

	"github.com/zarrfs/zarrfs/fs/material"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/view"
)

// noticeMost is how long a request waits for its notices. They take microseconds, unless programs
// write shared mappings of two views of one array, whose pages may wait for each other.
const noticeMost = 2 * time.Second

// File is a file of the mount, of which the kernel keeps the size and pages.
type File interface {
	View() view.View
	IsPaged() bool   // the kernel may keep pages of it
	IsWritten() bool // programs have it open for writing
	// CanBeMapped reports whether a program that has it open can map it and write to it. The only
	// writer through the file by does not count.
	CanBeMapped(by File) bool
	NoteSized()  // notes that the file has another size
	ForgetSize() // makes the kernel ask for the size again
	NotifyContent(off, n int64) syscall.Errno
	// MoveEnd makes the kernel see that the file ends at end. What programs have written in
	// mappings stays if the kernel can be made to ask. last is the file's last byte.
	MoveEnd(end int64, last []byte)
}

// Kernel is the kernel as a mount sees it: it keeps sizes and pages of the files.
type Kernel struct {
	Of       func(path string) []File // the files of the node at path that it knows
	stat     *stat.Cache
	material *material.Files
	log      *slog.Logger
}

// New returns the kernel of a mount. of returns the files of the node at a path that it knows.
func New(
	of func(path string) []File, stat *stat.Cache, material *material.Files, log *slog.Logger,
) *Kernel {
	return &Kernel{of, stat, material, log}
}

// Resized makes the kernel ask again for the sizes of the files of the node at path, except the
// file by which it was changed. The kernel takes no lock for attributes, so this notice may be sent
// while a request is answered.
func (k *Kernel) Resized(path string, by File) {
	k.stat.Forget(path)
	for _, n := range k.Of(path) {
		n.NoteSized()
		if n != by {
			n.ForgetSize()
		}
	}
}

// DropArray makes the kernel drop all it keeps of the views of the array at path, dirty pages
// by writing them.
func (k *Kernel) DropArray(path string) {
	var notices []func()
	for _, n := range k.Of(path) {
		if _, ok := n.View().(view.ArrayView); ok && n.IsPaged() {
			notices = append(notices, func() { n.NotifyContent(0, 0) })
		}
	}
	k.Notify(notices)
}

// Changed makes the kernel ask again for the attributes and bytes of the files of the node at
// path.
func (k *Kernel) Changed(path string) {
	k.material.Rewrite(path)
	k.Resized(path, nil)
	var notices []func()
	for _, n := range k.Of(path) {
		notices = append(notices, func() { n.NotifyContent(0, 0) })
	}
	k.Notify(notices)
}

// Notify sends notices and waits until the kernel has acted on them.
func (k *Kernel) Notify(notices []func()) {
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
		k.log.Debug("the kernel takes long to drop pages")
	}
}

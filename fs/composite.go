package fs

import (
	"context"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/composite"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/writing"
)

// A composite file shows many arrays. Its reads pass the page cache by, which knows files of one
// array only. What a program writes to an array is written as by the array's .raw file, so that all
// other files follow. What would change the structure is refused.

// compositeHandle is an open composite file.
type compositeHandle struct {
	*handle
	of     *view.Composite
	writer *composite.Writer // nil: the file cannot be written
}

var (
	_ = (gofuse.FileWriter)((*compositeHandle)(nil))
	_ = (gofuse.FileFlusher)((*compositeHandle)(nil))
	_ = (gofuse.FileFsyncer)((*compositeHandle)(nil))
	_ = (gofuse.FileAllocater)((*compositeHandle)(nil))
	_ = (gofuse.FileReleaser)((*compositeHandle)(nil))
)

// openComposite opens a composite file. writes says whether it can be written.
func (n opening) openComposite(
	v view.CompositeView, writes bool,
) (gofuse.FileHandle, uint32, syscall.Errno) {
	f := n.fs
	req := f.request(n.ctx)
	defer req.End()
	f.stat.Forget(n.path())
	c, err := v.OpenMany(req, f.h, n.path(), f.composites.Layout)
	if err != nil {
		return nil, 0, f.AnswerRead("open", n.path(), err)
	}
	if err := f.composites.Refuses(n.ctx, c); err != nil {
		c.Close()
		return nil, 0, f.AnswerRead("open", n.path(), err)
	}
	if !n.use().composites.Enter(req, c) { // mappings of what is open keep their bytes
		c.Close()
		f.ids.Renew(&n.Node)
		return nil, 0, n.mustLookAgain(n.ctx) // and the kernel opens another inode
	}
	for _, why := range c.Left() {
		f.log.Warn("a file shows less than the group has",
			"file", n.path()+"."+v.Name(), "err", why)
	}
	f.count.Opens.Add(1)
	f.count.OpenDirect.Add(1)
	h := &compositeHandle{handle: newHandle(n.fileNode, c), of: c}
	h.direct = true
	n.announce(c.Size())
	n.dropMapped()
	if !writes {
		return h, fuse.FOPEN_DIRECT_IO | fuse.FOPEN_NOFLUSH, 0
	}
	f.count.OpenWrite.Add(1)
	h.writer = f.composites.Open(n.fileNode, c)
	return h, fuse.FOPEN_DIRECT_IO, 0
}

// dropMapped makes the kernel drop the pages that a mapping of the file has left: the arrays may
// have changed since.
func (n *fileNode) dropMapped() {
	if n.use().paged.Swap(false) {
		n.fs.kernel.Notify([]func(){func() { n.NotifyContent(0, 0) }})
	}
}

// openSize returns the size of a composite file that is open.
func (n *fileNode) openSize() (size int64, ok bool) {
	used := n.used.Load()
	if used == nil {
		return 0, false
	}
	return used.composites.Size()
}

// openSize returns the size of the composite file of a view of the group or array at path, if that
// is open.
func (f *filesystem) openSize(path string, v view.View) (size int64, ok bool) {
	for _, b := range f.ids.Known(path) {
		file, isFile := b.EmbeddedInode().Operations().(*fileNode)
		if !isFile || file.view != v {
			continue
		}
		if size, ok := file.openSize(); ok {
			return size, true
		}
	}
	return 0, false
}

// Write takes bytes of arrays. Bytes of the structure must be as they are.
func (h *compositeHandle) Write(ctx context.Context, p []byte, off int64) (uint32, syscall.Errno) {
	f := h.node.fs
	note := f.notes.Of(ctx)
	f.count.Wrote(len(p))
	err := error(syscall.EBADF)
	if h.writer != nil {
		err = h.writer.Write(ctx, p, off, writing.HowOf(note), note.Synced)
	}
	if errno := f.AnswerChange("write", h.node.path(), err); errno != 0 {
		return 0, errno
	}
	return uint32(len(p)), 0
}

// Flush stores what was written.
func (h *compositeHandle) Flush(context.Context) syscall.Errno { return h.flush("close", false) }

// Fsync stores what was written so that it survives a power cut.
func (h *compositeHandle) Fsync(context.Context, uint32) syscall.Errno {
	return h.flush("fsync", true)
}

func (h *compositeHandle) flush(op string, durable bool) syscall.Errno {
	if h.writer == nil {
		return 0
	}
	return h.node.fs.Answer(op, h.node.path(), h.writer.Flush(durable))
}

// Allocate takes space that is there already.
func (h *compositeHandle) Allocate(_ context.Context, off, size uint64, mode uint32) syscall.Errno {
	if mode == 0 && off+size >= off && off+size <= uint64(h.of.Size()) {
		return 0
	}
	return h.node.fs.Answer("fallocate", h.node.path(), view.ErrStructure(h.node.view, "space in"))
}

// Release ends the handle. What could not be stored stays in memory, and is named in the log.
func (h *compositeHandle) Release(context.Context) syscall.Errno {
	if h.writer != nil {
		h.writer.Close()
	}
	h.node.use().composites.Leave(h.of)
	h.end()
	return 0
}

// setCompositeSize takes the size that a composite file has, and no other.
func (n resizing) setCompositeSize(v view.CompositeView, size int64) error {
	now, isOpen := n.use().composites.Size()
	if !isOpen {
		var err error
		if now, err = n.fs.composites.Sizes.Of(n.ctx, n.fs.h, v, n.path()); err != nil {
			return err
		}
	}
	if size == now || size == 0 { // a program that copies files is about to write all of it
		return nil
	}
	return view.ErrStructure(v, "another size for")
}

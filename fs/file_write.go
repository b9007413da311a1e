package fs

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// writer is a writable handle of an array's view.
type writer struct {
	*handle
	view    arrayView
	writing *writing
	by      process // that opened a .npy file; see program.OfThread why that is not asked at FLUSH
}

var (
	_ = (gofuse.FileWriter)((*writer)(nil))
	_ = (gofuse.FileFlusher)((*writer)(nil))
	_ = (gofuse.FileFsyncer)((*writer)(nil))
	_ = (gofuse.FileAllocater)((*writer)(nil))
	_ = (gofuse.FileReleaser)((*writer)(nil))
	_ = (gofuse.FileFsyncer)((*handle)(nil))
)

// openForWriting opens an array's view. What is written is kept in memory until it is flushed, so an interrupted request
// goes on: half of it could not be taken back.
func (n *fileNode) openForWriting(ctx context.Context, v arrayView) (gofuse.FileHandle, uint32, syscall.Errno) {
	f := n.fs
	f.recent.forget(n.path())
	if n.reading().openedForWriting() == renewed {
		return nil, 0, n.renew()
	}
	if h := n.openNewborn(ctx, v); h != nil {
		return h, fuse.FOPEN_DIRECT_IO, 0
	}
	w, c, err := n.write(v)
	if err != nil {
		n.reading().released(false)
		if text, ok := v.(textView); ok && errors.Is(err, zarrcore.ErrVlen) {
			return n.openWhole(text)
		}
		if errors.Is(err, iofs.ErrNotExist) {
			return nil, 0, syscall.ESTALE // the kernel looks the name up again, and creates the file if that is asked for
		}
		return nil, 0, f.answer("open", n.path(), err)
	}
	f.count.opens.Add(1)
	f.count.openWrite.Add(1)
	n.announce(c.size())
	h := newHandle(n, c)
	h.direct = true
	opened := &writer{handle: h, view: v, writing: w}
	if isHeaded(v) {
		opened.by = caller(ctx)
	}
	return opened, fuse.FOPEN_DIRECT_IO, 0
}

// write opens the array for writing.
func (n *fileNode) write(v arrayView) (*writing, *flat, error) {
	c, err := openFlat(n.fs.ctx, n.fs.h, n.path(), v)
	if err != nil {
		return nil, nil, err
	}
	err = c.array().Writable()
	if err == nil {
		err = n.fs.mayStore(n.path())
	}
	if err != nil {
		c.close()
		return nil, nil, err
	}
	n.writers.Add(1)
	n.fs.material.written(n.path())
	return n.fs.writings.open(n.path(), c.array(), v), c, nil
}

// Write takes bytes of write(2), or of the kernel's dirty pages of a mapping.
func (h *writer) Write(ctx context.Context, p []byte, off int64) (uint32, syscall.Errno) {
	f := h.node.fs
	note := f.notes.of(ctx)
	kind := note.how()
	f.count.writes.Add(1)
	f.count.writeBytes.Add(int64(len(p)))
	var err error
	if kind != byPage { // a mapping of a file that is created has no pages: these are of the removed one
		err = h.begin(ctx)
	}
	if err == nil {
		err = h.grows(ctx, off+int64(len(p)), kind)
	}
	if err == nil && kind == atOffset {
		err = h.skips(ctx, off)
	}
	if err == nil {
		err = h.writing.put(f.ctx, h.node, h.view, p, off, kind)
	}
	if err == nil && note.synced {
		err = h.writing.sync(f.ctx)
	}
	if errno := f.answerChange("write", h.node.path(), err); errno != 0 {
		return 0, errno
	}
	known := h.node.told.Load()
	if size, ok := h.writing.size(h.view); ok {
		h.node.wrote(known, off+int64(len(p)), size)
	}
	return uint32(len(p)), 0
}

// begin is begin of the file, unless the program that writes would cut the array that it is about to copy.
func (h *writer) begin(ctx context.Context) error {
	if !h.writing.empty(h.view) {
		return nil
	}
	if err := h.node.fs.copiedOntoItself(ctx, h.node.path(), h.view); err != nil {
		return err
	}
	return h.writing.begin(h.node.fs.ctx, h.node, h.view)
}

// grows returns an error if bytes up to end would let the array grow, and must not.
func (h *writer) grows(ctx context.Context, end int64, kind how) error {
	if size, ok := h.writing.size(h.view); kind == byPage || ok && kind == atOffset && end <= size {
		return nil
	}
	return h.node.fs.copiedOntoItself(ctx, h.node.path(), h.view)
}

// skips makes zero what a program that copies a sparse file leaves out before off.
func (h *writer) skips(ctx context.Context, off int64) error {
	size, ok := h.writing.size(h.view)
	if reach := h.writing.npy.come.end(); !ok || off <= size && (reach == 0 || off <= reach) {
		return nil
	}
	from, sparse := h.writing.copied(ctx, h.view)
	if !sparse {
		return nil
	}
	return h.writing.fillGap(h.node, h.view, from, off)
}

// Flush stores what was written: a close(2) that succeeds means that it is in the store.
func (h *writer) Flush(context.Context) syscall.Errno {
	if errno := h.store("close", false); errno != 0 || !isHeaded(h.view) {
		return errno
	}
	return h.whole()
}

// whole refuses what a program that copies has left of a .npy file, if it is not all of it. What has come is stored.
func (h *writer) whole() syscall.Errno {
	e := h.writing.extent(h.view)
	err := h.writing.npy.come.missing(e.head + e.data)
	if err == nil || !h.by.Mover {
		return 0
	}
	return h.node.fs.answer("close", h.node.path(), err)
}

// Fsync stores what was written so that it survives a power cut.
func (h *writer) Fsync(_ context.Context, _ uint32) syscall.Errno {
	return h.store("fsync", true)
}

func (h *writer) store(op string, durable bool) syscall.Errno {
	w := h.writing
	w.tellPaged()
	before := w.extent(h.view)
	err := w.flush(w.fs.ctx, h.view, durable)
	w.changed(nil, h.view, before, stretch{}) // a header that was taken, or rows that were dropped, change the size
	return w.fs.answer(op, h.node.path(), err)
}

// Fsync of a handle that cannot write stores what others wrote, as for any file.
func (h *handle) Fsync(context.Context, uint32) syscall.Errno {
	w := h.node.fs.writings.find(h.node.path())
	if w == nil {
		return 0
	}
	w.tellPaged()
	return h.node.fs.answer("fsync", h.node.path(), w.flush(h.node.fs.ctx, h.node.view, true))
}

// Allocate answers fallocate(2): space is extended by the fill value, and a hole is zero bytes.
func (h *writer) Allocate(ctx context.Context, off, size uint64, mode uint32) syscall.Errno {
	f := h.node.fs
	h.writing.npy.come.settle()
	if off+size > 1<<63-1 || off+size < off {
		err := fmt.Errorf("%w: %d bytes at %d", errno.ErrTooBig, size, off)
		return f.answer("fallocate", h.node.path(), err)
	}
	keep := mode&unix.FALLOC_FL_KEEP_SIZE != 0
	err := h.begin(ctx)
	if err != nil {
		return f.answerChange("fallocate", h.node.path(), err)
	}
	switch mode &^ unix.FALLOC_FL_KEEP_SIZE {
	case 0:
		err = h.extend(int64(off+size), keep)
	case unix.FALLOC_FL_PUNCH_HOLE:
		err = h.clear(int64(off), int64(size))
	case unix.FALLOC_FL_ZERO_RANGE:
		if err = h.extend(int64(off+size), keep); err == nil {
			err = h.clear(int64(off), int64(size))
		}
	default:
		err = fmt.Errorf("fallocate mode %#x: %w; expected 0, a hole, or a range of zeros", mode, errors.ErrUnsupported)
	}
	return f.answerChange("fallocate", h.node.path(), err)
}

// extend makes the file at least size bytes large, unless its size is to be kept.
func (h *writer) extend(size int64, keep bool) error {
	if now, _ := h.writing.size(h.view); keep || size <= now {
		return nil
	}
	return h.writing.resize(h.node.fs.ctx, h.node, h.view, size)
}

func (h *writer) clear(off, n int64) error {
	w := h.writing
	before := w.extent(h.view)
	s := before.stretch(off, n)
	w.dropPages(s, func(n *fileNode) bool { return n != h.node && n.writers.Load() > 0 })
	err := w.clear(w.fs.ctx, h.view, off, n)
	w.changed(h.node, h.view, before, s)
	return err
}

// Release ends the handle. What could not be stored stays in memory, is tried again, and is named in the log.
func (h *writer) Release(ctx context.Context) syscall.Errno {
	h.node.writers.Add(-1)
	if bytes, err := h.writing.unsaved(); err != nil {
		h.node.fs.log.Error("closed, but not stored", "path", h.node.path(), "bytes", bytes, "err", err)
	}
	h.writing.close(h.view)
	return h.handle.Release(ctx)
}

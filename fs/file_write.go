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
	"github.com/zarrfs/zarrfs/fs/pagecache"
	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/fs/writing"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// writer is a writable handle of an array's view.
type writer struct {
	*handle
	*writing.Handle
	maps bool // see uses.noteMapper
}

var (
	_ = (gofuse.FileWriter)((*writer)(nil))
	_ = (gofuse.FileFlusher)((*writer)(nil))
	_ = (gofuse.FileFsyncer)((*writer)(nil))
	_ = (gofuse.FileAllocater)((*writer)(nil))
	_ = (gofuse.FileReleaser)((*writer)(nil))
	_ = (gofuse.FileFsyncer)((*handle)(nil))
)

// openForWriting opens an array's view. What is written is kept in memory until it is flushed, so
// an interrupted request goes on: half of it could not be taken back.
func (n opening) openForWriting(v view.ArrayView) (gofuse.FileHandle, uint32, syscall.Errno) {
	f := n.fs
	f.stat.Forget(n.path())
	if n.use().habit.OpenedForWriting() == pagecache.NewInode {
		return nil, 0, n.renew(n.ctx)
	}
	if h := n.openHeaderless(v); h != nil {
		return h, fuse.FOPEN_DIRECT_IO, 0
	}
	w, c, err := n.writeWhereItIs(v)
	if err != nil {
		n.use().habit.Released(false)
		if text, ok := v.(view.TextView); ok && errors.Is(err, zarrcore.ErrVlen) {
			return n.openWhole(text)
		}
		if errors.Is(err, iofs.ErrNotExist) {
			return nil, 0, n.lookAgain(n.ctx)
		}
		return nil, 0, f.Answer("open", n.path(), err)
	}
	f.count.Opens.Add(1)
	f.count.OpenWrite.Add(1)
	h := newHandle(n.fileNode, c)
	n.announce(h.size())
	h.direct, h.writes = true, true
	opened := &writer{handle: h,
		Handle: writing.NewHandle(w, v, n.fileNode, wire.Caller(n.ctx))}
	return opened, fuse.FOPEN_DIRECT_IO, 0
}

// writeWhereItIs opens the array for writing. If this mount has renamed the array meanwhile, it is
// opened under its new name.
func (n opening) writeWhereItIs(v view.ArrayView) (*writing.Array, *view.Flat, error) {
	for {
		since, path := n.fs.sites.Now(), n.path()
		w, c, err := n.write(v)
		if !errors.Is(err, iofs.ErrNotExist) || !since.HasMoved(n.path, path) {
			return w, c, err
		}
	}
}

// write opens the array for writing, for the user of a request.
func (n opening) write(v view.ArrayView) (*writing.Array, *view.Flat, error) {
	c, err := view.OpenFlat(n.fs.ctx, n.fs.h, n.path(), v)
	if err != nil {
		return nil, nil, err
	}
	err = c.Writable()
	if err == nil {
		err = n.fs.rights.RefusesStoring(n.ctx, n.fs.h, n.path())
	}
	if err == nil && view.IsDerived(v) { // a write shows whether the header has the same bytes
		err = n.fs.rights.RefusesBytes(rights.UserOf(n.ctx), n.path(), c.Rights())
	}
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	n.use().writers.Add(1)
	n.fs.material.Outdate(n.path())
	return n.fs.writings.Open(n.path, c.Array(), v), c, nil
}

// Write takes bytes of write(2), or of the kernel's dirty pages of a mapping.
func (h *writer) Write(ctx context.Context, p []byte, off int64) (uint32, syscall.Errno) {
	f := h.node.fs
	note := f.notes.Of(ctx)
	kind := writing.HowOf(note)
	f.count.Wrote(len(p))
	if c := h.Comparing(); c != nil && kind != writing.ByPage {
		errno := f.AnswerChange("write", h.node.path(), c.Write(f.ctx, p, off))
		if errno != 0 {
			return 0, errno
		}
		return uint32(len(p)), 0
	}
	var err error
	// A mapping of a file that is created has no pages: these are of the removed one.
	if kind != writing.ByPage {
		err = h.begin(ctx)
	}
	if err == nil {
		err = h.checkGrowth(ctx, off+int64(len(p)), kind)
	}
	if err == nil && kind == writing.AtOffset {
		err = h.Skips(ctx, off)
	}
	if err == nil {
		err = h.Put(f.ctx, p, off, kind, note.Owner)
	}
	if err == nil && note.Synced {
		err = h.Of.Sync(f.ctx, h.Handle)
	}
	if errno := f.AnswerChange("write", h.node.path(), err); errno != 0 {
		return 0, errno
	}
	known := h.node.told.Load()
	if size, ok := h.Of.Size(h.View); ok {
		h.node.wrote(known, off+int64(len(p)), size)
	}
	return uint32(len(p)), 0
}

// begin is begin of the file, unless the writing program would truncate the array that it is about
// to copy.
func (h *writer) begin(ctx context.Context) error {
	if !h.Of.IsEmpty(h.View) {
		return nil
	}
	if err := h.node.fs.copiedOntoItself(ctx, h.node.path(), h.View); err != nil {
		return err
	}
	return h.Of.Begin(h.node.fs.ctx, h.node, h.View)
}

// checkGrowth returns an error if bytes up to end would let the array grow, and must not.
func (h *writer) checkGrowth(ctx context.Context, end int64, kind writing.How) error {
	size, ok := h.Of.Size(h.View)
	if kind == writing.ByPage || ok && kind == writing.AtOffset && end <= size {
		return nil
	}
	return h.node.fs.copiedOntoItself(ctx, h.node.path(), h.View)
}

// Allocate answers fallocate(2): space is extended by the fill value, and a hole is zero bytes.
func (h *writer) Allocate(ctx context.Context, off, size uint64, mode uint32) syscall.Errno {
	f := h.node.fs
	h.Of.Settle()
	if off+size > 1<<63-1 || off+size < off {
		err := fmt.Errorf("%w: %d bytes at %d", errno.ErrTooBig, size, off)
		return f.Answer("fallocate", h.node.path(), err)
	}
	if h.Comparing() != nil { // nothing is written
		return f.Answer("fallocate", h.node.path(), errors.ErrUnsupported)
	}
	keep := mode&unix.FALLOC_FL_KEEP_SIZE != 0
	err := h.begin(ctx)
	if err != nil {
		return f.AnswerChange("fallocate", h.node.path(), err)
	}
	switch mode &^ unix.FALLOC_FL_KEEP_SIZE {
	case 0:
		err = h.Extend(int64(off+size), keep)
	case unix.FALLOC_FL_PUNCH_HOLE:
		err = h.Clear(int64(off), int64(size))
	case unix.FALLOC_FL_ZERO_RANGE:
		if err = h.Extend(int64(off+size), keep); err == nil {
			err = h.Clear(int64(off), int64(size))
		}
	default:
		err = fmt.Errorf("fallocate mode %#x: %w; expected 0, a hole, or a range of zeros", mode,
			errors.ErrUnsupported)
	}
	return f.AnswerChange("fallocate", h.node.path(), err)
}

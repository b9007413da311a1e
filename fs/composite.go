package fs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"sync"
	"sync/atomic"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/writing"
	"github.com/zarrfs/zarrfs/layout/hdf5"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// A composite file shows many arrays. Its reads pass the page cache by, which knows files of one
// array only. What a program writes to an array is written as by the array's .raw file, so that all
// other files follow. What would change the structure is refused.

// composites are the open handles of a composite file. All of them show the same, because the kernel
// has one size and one page cache for them.
type composites struct {
	mu     sync.Mutex
	opened map[*view.Composite]struct{}
	size   int64 // of each
}

// enter notes a handle. ok is false if those that are open show something else.
func (c *composites) enter(ctx context.Context, of *view.Composite) (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other := range c.opened {
		if !other.IsLike(ctx, of) {
			return false
		}
	}
	if c.opened == nil {
		c.opened = make(map[*view.Composite]struct{})
	}
	c.opened[of] = struct{}{}
	c.size = of.Size()
	return true
}

// leave notes the end of a handle.
func (c *composites) leave(of *view.Composite) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.opened, of)
}

// open returns the size of the file while it is open.
func (c *composites) open() (size int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size, len(c.opened) > 0
}

// compositeHandle is an open composite file.
type compositeHandle struct {
	*handle
	of *view.Composite

	mu     sync.Mutex
	writes map[*hdf5.Dataset]*partWriter // nil: the file cannot be written
}

// partWriter is an array that is written through a composite file. The file outlives the array, so
// that a program must learn that what it wrote is lost.
type partWriter struct {
	*writing.Array
	from  string      // the path at which it was opened
	fresh atomic.Bool // it was written since it was flushed
}

// lost returns an error if the array was removed.
func (w *partWriter) lost() error {
	if w.IsEnded() {
		return view.ErrNoPlace(w.from)
	}
	return nil
}

// flush stores what was written.
func (w *partWriter) flush(ctx context.Context, durable bool) error {
	if !w.fresh.Swap(false) {
		return w.Array.Flush(ctx, view.Plain(), nil, durable)
	}
	err := w.Array.Flush(ctx, view.Plain(), nil, durable)
	if err = errors.Join(w.lost(), err); err != nil {
		w.fresh.Store(true)
	}
	return err
}

var (
	_ = (gofuse.FileWriter)((*compositeHandle)(nil))
	_ = (gofuse.FileFlusher)((*compositeHandle)(nil))
	_ = (gofuse.FileFsyncer)((*compositeHandle)(nil))
	_ = (gofuse.FileAllocater)((*compositeHandle)(nil))
	_ = (gofuse.FileReleaser)((*compositeHandle)(nil))
)

// openComposite opens a composite file. writes says whether it can be written.
func (n *fileNode) openComposite(
	ctx context.Context,
	v view.CompositeView,
	writes bool,
) (gofuse.FileHandle, uint32, syscall.Errno) {
	f := n.fs
	req := f.request(ctx)
	defer req.End()
	f.stat.Forget(n.path())
	c, err := v.OpenMany(req, f.h, n.path(), f.o.HDF5Layout)
	if err != nil {
		return nil, 0, f.AnswerRead("open", n.path(), err)
	}
	if err := f.refusesNodes(ctx, c); err != nil {
		c.Close()
		return nil, 0, f.AnswerRead("open", n.path(), err)
	}
	if !n.use().composites.enter(f.ctx, c) { // mappings of what is open keep their bytes
		c.Close()
		f.ids.Renew(&n.Node)
		return nil, 0, syscall.ESTALE // the kernel looks the name up again, and opens another inode
	}
	for _, why := range c.Left() {
		f.log.Warn(
			"a file shows less than the group has",
			"file",
			n.path()+"."+v.Name(),
			"err",
			why,
		)
	}
	f.count.Opens.Add(1)
	f.count.OpenDirect.Add(1)
	h := &compositeHandle{handle: newHandle(n, c), of: c}
	h.direct = true
	n.announce(c.Size())
	n.dropMapped()
	if !writes {
		return h, fuse.FOPEN_DIRECT_IO | fuse.FOPEN_NOFLUSH, 0
	}
	f.count.OpenWrite.Add(1)
	h.writes = make(map[*hdf5.Dataset]*partWriter)
	return h, fuse.FOPEN_DIRECT_IO, 0
}

// refusesNodes returns why a user may not know what a composite file shows of the documents.
func (f *filesystem) refusesNodes(ctx context.Context, c *view.Composite) error {
	if !f.o.AllowOther {
		return nil
	}
	user := rights.UserOf(ctx)
	for _, n := range c.Nodes() {
		err := f.rights.RefusesReading(user, n)
		if err == nil {
			err = f.rights.RefusesListing(user, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dropMapped makes the kernel drop the pages that a mapping of the file has left: the arrays may
// have changed since.
func (n *fileNode) dropMapped() {
	if n.use().paged.Swap(false) {
		n.fs.kernel.Notify([]func(){func() { n.NotifyContent(0, 0) }})
	}
}

// openAttr sets the size of a composite file that is open, and reports whether it is.
func (n *fileNode) openAttr(a *fuse.Attr) (ok bool) {
	used := n.used.Load()
	if used == nil {
		return false
	}
	size, ok := used.composites.open()
	if ok {
		a.Size = uint64(size)
	}
	return ok
}

// compositeAttr sets the size of a composite file. Its time is that of the node.
func (f *filesystem) compositeAttr(
	ctx context.Context,
	n *zarrcore.Node,
	v view.CompositeView,
	a *fuse.Attr,
) error {
	for _, b := range f.ids.Known(n.Path) {
		file, ok := b.EmbeddedInode().Operations().(*fileNode)
		if ok && file.view == v && file.openAttr(a) {
			return nil
		}
	}
	size, err := f.sizes.of(ctx, f.h, v, n.Path)
	if errors.Is(err, iofs.ErrNotExist) || errors.Is(err, errno.ErrTooBig) {
		return err
	}
	if err != nil {
		a.Mode &^= 0o222
		return nil // opening the file says why
	}
	a.Size = uint64(size)
	return nil
}

// errStructure refuses what would change more than the bytes of arrays.
func (h *compositeHandle) errStructure(what string) error {
	return view.ErrStructure(h.node.view, what)
}

// Write takes bytes of arrays. Bytes of the structure must be as they are.
func (h *compositeHandle) Write(ctx context.Context, p []byte, off int64) (uint32, syscall.Errno) {
	f := h.node.fs
	note := f.notes.Of(ctx)
	f.count.Wrote(len(p))
	err := h.check(ctx, p, off)
	if err == nil {
		err = h.put(p, off, writing.HowOf(note))
	}
	if err == nil && note.Synced {
		err = h.flush(true)
	}
	if errno := f.AnswerChange("write", h.node.path(), err); errno != 0 {
		return 0, errno
	}
	return uint32(len(p)), 0
}

// check refuses p at off before any of it is written.
func (h *compositeHandle) check(ctx context.Context, p []byte, off int64) error {
	if h.writes == nil {
		return syscall.EBADF
	}
	if off+int64(len(p)) > h.of.Size() {
		return h.errStructure("bytes behind the end of")
	}
	at := int64(0)
	return h.of.Stretches(off, int64(len(p)), func(s view.Piece) error {
		part := p[at : at+s.N]
		at += s.N
		switch {
		case s.Of != nil && h.isShown(ctx, part, s, off+at-s.N):
			return nil
		case s.Of != nil:
			_, err := h.writerOf(ctx, s)
			return err
		case s.IsGap && !isZero(part):
			return h.errStructure("bytes that belong to no array in")
		case !s.IsGap && !h.of.IsMetadata(part, s.Off):
			return h.errStructure("a change of the structure of")
		}
		return nil
	})
}

// isShown reports whether a file has these bytes at off, of an array whose elements it has in
// another form. They can be written as they are.
func (h *compositeHandle) isShown(ctx context.Context, p []byte, s view.Piece, off int64) bool {
	if _, inPlace := h.of.Source(s.Of); inPlace {
		return false
	}
	found, err := h.of.Read(ctx, off, s.N)
	if err != nil {
		return false
	}
	defer found.Done()
	return bytes.Equal(found.Bytes(nil), p)
}

func isZero(p []byte) bool {
	for _, b := range p {
		if b != 0 {
			return false
		}
	}
	return true
}

// put writes p at off.
func (h *compositeHandle) put(p []byte, off int64, kind writing.How) error {
	ctx, raw := h.node.fs.ctx, view.Plain()
	if kind == writing.AtEnd {
		return h.errStructure("bytes behind the end of")
	}
	at := int64(0)
	return h.of.Stretches(off, int64(len(p)), func(s view.Piece) error {
		part := p[at : at+s.N]
		at += s.N
		if _, inPlace := h.of.Source(s.Of); s.Of == nil || !inPlace {
			return nil
		}
		w, err := h.writerOf(ctx, s)
		if err != nil {
			return err
		}
		w.fresh.Store(true)
		for from, to := range h.of.Places(s) {
			if _, err = w.Put(ctx, h.node, raw, part[from:][:to.N], to.Off, kind); err != nil {
				return err
			}
		}
		return nil
	})
}

// writerOf returns the array to which a stretch belongs, for writing.
func (h *compositeHandle) writerOf(ctx context.Context, s view.Piece) (*partWriter, error) {
	source, ok := h.of.Source(s.Of)
	if !ok {
		return nil, fmt.Errorf(
			"%w: the texts of %q can only be read in a .%s file: write them by the array's "+
				".npy or .jsonl",
			syscall.EPERM,
			source.Path,
			h.node.view.Name(),
		)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	arr, err := h.of.Opened(ctx, s.Of)
	if err != nil {
		return nil, err
	}
	w := h.writes[s.Of]
	if w == nil {
		if w, err = h.openPart(ctx, arr); err != nil {
			return nil, err
		}
		h.writes[s.Of] = w
	}
	w.Arrive(ctx)
	if err := w.lost(); err != nil {
		return nil, err
	}
	return w, view.CheckArray(source, w.Live())
}

// openPart opens an array for writing.
func (h *compositeHandle) openPart(ctx context.Context, arr *zarrcore.Array) (*partWriter, error) {
	f, path := h.node.fs, arr.Path()
	n, err := f.h.Node(f.ctx, path)
	if errors.Is(err, iofs.ErrNotExist) {
		return nil, view.ErrNoPlace(path)
	}
	if err == nil {
		err = f.rights.RefusesWriting(rights.UserOf(ctx), n)
	}
	if err == nil {
		err = arr.Writable()
	}
	if err == nil {
		err = f.rights.RefusesStoring(ctx, f.h, path)
	}
	if err != nil {
		return nil, err
	}
	f.material.Outdate(path)
	return &partWriter{Array: f.writings.Open(func() string { return path }, arr, view.Plain()), from: path}, nil
}

// writers returns the arrays that were written.
func (h *compositeHandle) writers() (all []*partWriter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.writes {
		all = append(all, w)
	}
	return all
}

// flush stores what was written. If durable is set, it survives a power cut.
func (h *compositeHandle) flush(durable bool) error {
	var errs []error
	for _, w := range h.writers() {
		w.TellPaged()
		errs = append(errs, w.flush(h.node.fs.ctx, durable))
	}
	return errors.Join(errs...)
}

// Flush stores what was written.
func (h *compositeHandle) Flush(context.Context) syscall.Errno {
	return h.node.fs.Answer("close", h.node.path(), h.flush(false))
}

// Fsync stores what was written so that it survives a power cut.
func (h *compositeHandle) Fsync(context.Context, uint32) syscall.Errno {
	return h.node.fs.Answer("fsync", h.node.path(), h.flush(true))
}

// Allocate takes space that is there already.
func (h *compositeHandle) Allocate(_ context.Context, off, size uint64, mode uint32) syscall.Errno {
	if mode == 0 && off+size >= off && off+size <= uint64(h.of.Size()) {
		return 0
	}
	return h.node.fs.Answer("fallocate", h.node.path(), h.errStructure("space in"))
}

// Release ends the handle. What could not be stored stays in memory, and is named in the log.
func (h *compositeHandle) Release(context.Context) syscall.Errno {
	for _, w := range h.writers() {
		if bytes, err := w.Unsaved(); err != nil {
			h.node.fs.log.Error(
				"closed, but not stored",
				"path",
				w.Path(),
				"bytes",
				bytes,
				"err",
				err,
			)
		}
		w.Close(view.Plain())
	}
	h.node.use().composites.leave(h.of)
	h.end()
	return 0
}

// setCompositeSize takes the size that a composite file has, and no other.
func (n *fileNode) setCompositeSize(ctx context.Context, v view.CompositeView, size int64) error {
	now, isOpen := n.use().composites.open()
	if !isOpen {
		var err error
		if now, err = n.fs.sizes.of(ctx, n.fs.h, v, n.path()); err != nil {
			return err
		}
	}
	if size == now || size == 0 { // a program that copies files is about to write all of it
		return nil
	}
	return view.ErrStructure(v, "another size for")
}

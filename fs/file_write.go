package fs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/compare"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/input"
	"github.com/zarrfs/zarrfs/fs/pagecache"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// writer is a writable handle of an array's view.
type writer struct {
	*handle
	input.Emptying // by is known of a .npy file; see program.OfThread why that is not asked at FLUSH
	view           view.ArrayView
	writing        *writing
	opener         program.Process // copies trees, or is not known

	// cuts is how often a .npy had been truncated to nothing when this handle began to write it.
	// The lock of its ender guards it.
	cuts int
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
func (n *fileNode) openForWriting(ctx context.Context, v view.ArrayView) (gofuse.FileHandle, uint32, syscall.Errno) {
	f := n.fs
	f.stat.Forget(n.path())
	if n.reading().OpenedForWriting() == pagecache.Renewed {
		return nil, 0, n.renew()
	}
	if h := n.openNewborn(ctx, v); h != nil {
		return h, fuse.FOPEN_DIRECT_IO, 0
	}
	w, c, err := n.writeWhereItIs(ctx, v)
	if err != nil {
		n.reading().Released(false)
		if text, ok := v.(view.TextView); ok && errors.Is(err, zarrcore.ErrVlen) {
			return n.openWhole(ctx, text)
		}
		if errors.Is(err, iofs.ErrNotExist) {
			return nil, 0, n.lookAgain(ctx)
		}
		return nil, 0, f.answer("open", n.path(), err)
	}
	f.count.opens.Add(1)
	f.count.openWrite.Add(1)
	h := newHandle(n, c)
	n.announce(h.size())
	h.direct = true
	opened := &writer{handle: h, view: v, writing: w}
	by := wire.Caller(ctx)
	if view.IsHeaded(v) {
		opened.By = by
	}
	if by.Mover {
		opened.opener = by
	}
	return opened, fuse.FOPEN_DIRECT_IO, 0
}

// writeWhereItIs opens the array for writing. If this mount has renamed the array meanwhile, it is
// opened under its new name.
func (n *fileNode) writeWhereItIs(
	ctx context.Context, v view.ArrayView,
) (*writing, *view.Flat, error) {
	for {
		path := n.path()
		w, c, err := n.write(ctx, v)
		if !errors.Is(err, iofs.ErrNotExist) || !n.fs.hasMoved(n.path, path) {
			return w, c, err
		}
	}
}

// write opens the array for writing, for the user of a request.
func (n *fileNode) write(ctx context.Context, v view.ArrayView) (*writing, *view.Flat, error) {
	c, err := view.OpenFlat(n.fs.ctx, n.fs.h, n.path(), v)
	if err != nil {
		return nil, nil, err
	}
	err = c.Writable()
	if err == nil {
		err = n.fs.refusesStoring(ctx, n.path())
	}
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	n.writers.Add(1)
	n.fs.material.Outdate(n.path())
	return n.fs.writings.open(n.path(), c.Array(), v), c, nil
}

// Write takes bytes of write(2), or of the kernel's dirty pages of a mapping.
func (h *writer) Write(ctx context.Context, p []byte, off int64) (uint32, syscall.Errno) {
	f := h.node.fs
	note := f.notes.Of(ctx)
	kind := howOf(note)
	f.count.writes.Add(1)
	f.count.writeBytes.Add(int64(len(p)))
	if c := h.comparing(); c != nil && kind != byPage {
		errno := f.answerChange("write", h.node.path(), c.Write(f.ctx, p, off))
		if errno != 0 {
			return 0, errno
		}
		return uint32(len(p)), 0
	}
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
		err = h.put(f.ctx, p, off, kind, note.Owner)
	}
	if err == nil && note.Synced {
		err = h.writing.sync(f.ctx, h)
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

// comparing returns the comparison that the program makes by h; nil: it writes.
func (h *writer) comparing() *compare.Comparison {
	if !h.opener.Mover {
		return nil
	}
	return h.writing.compared.Of(h.opener, h.view)
}

// put is put of the file, and notes that a program may have written its end by this handle.
func (h *writer) put(ctx context.Context, p []byte, off int64, kind how, owner uint64) error {
	w := h.writing
	if kind == byPage { // of which handle is not known; the file does not grow
		_, err := w.put(ctx, h.node, h.view, p, off, kind)
		return err
	}
	at := off
	w.writeBegins(h)
	defer func() { w.writeEnds(h, at, len(p)) }()
	if view.IsHeaded(h.view) {
		w.npy.ender.begins(h, off)
	}
	h.Wrote()
	h.endsAt(off+int64(len(p)), kind, owner)
	at, err := w.put(ctx, h.node, h.view, p, off, kind)
	h.endsAt(off+int64(len(p)), kind, owner) // the array may have been truncated since
	if err == nil {
		w.writtenAnewBy(h, off+int64(len(p)))
	}
	return err
}

// begin is begin of the file, unless the program that writes would truncate the array that it is
// about to copy.
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
	if reach := h.writing.npy.come.End(); !ok || off <= size && (reach == 0 || off <= reach) {
		return nil
	}
	from, sparse := h.writing.copied(ctx, h.view)
	if !sparse {
		return nil
	}
	return h.writing.fillGap(h.node, h.view, from, off)
}

// how says in which way bytes were written.
type how uint8

const (
	atOffset how = iota
	atEnd        // O_APPEND
	byPage       // the kernel's dirty page of a mapping
)

// howOf returns which way the bytes of a WRITE are meant, of which this is noted.
func howOf(note wire.Note) how {
	switch {
	case note.Paged:
		return byPage
	case note.AtEnd:
		return atEnd
	}
	return atOffset
}

// write writes p at off of a view's file, or where kind tells. It returns where.
func (w *writing) write(
	ctx context.Context, v view.ArrayView, p []byte, off int64, kind how,
) (at int64, err error) {
	switch kind {
	case byPage:
		w.npy.come.Settle()
		return off, w.accept(ctx, v, p, off)
	case atEnd:
		w.appending.Lock()
		defer w.appending.Unlock()
		at, inside := w.goesOnAt(v)
		if !inside {
			return w.append(ctx, v, p)
		}
		off = at
	}
	return off, w.writeAt(ctx, v, p, off)
}

// writeAt writes p at off of a view's file, which may be new.
func (w *writing) writeAt(ctx context.Context, v view.ArrayView, p []byte, off int64) error {
	if view.IsHeaded(v) {
		return w.npy.write(ctx, w, p, off)
	}
	w.npy.come.Settle()
	if view.IsDerived(v) {
		file, err := w.derivedOf(v)
		if err != nil {
			return err
		}
		return file.writeAt(ctx, p, off)
	}
	_, data, err := v.Parts(w.array())
	if err == nil {
		_, err = data.WriteAt(ctx, p, off)
	}
	return err
}

// goesOnAt returns where a program that appends to a view's file goes on, if that is inside of the
// array: the .npy has come up to there. The caller holds appending.
func (w *writing) goesOnAt(v view.ArrayView) (at int64, inside bool) {
	if in := w.awaiting(v); in != nil {
		return in.Size(), true
	}
	if !view.IsHeaded(v) {
		return 0, false
	}
	return w.npy.come.Next()
}

// append writes p behind the array's last byte, and returns where that is. The caller holds
// appending.
func (w *writing) append(ctx context.Context, v view.ArrayView, p []byte) (at int64, err error) {
	if view.IsDerived(v) {
		file, err := w.derivedOf(v)
		return 0, cmp.Or(err, file.keepsSize(file.size()+int64(len(p))))
	}
	_, data, err := v.Parts(w.array())
	if err != nil {
		return 0, err
	}
	at = data.Size()
	if view.IsHeaded(v) {
		_, err = input.OneArray{Array: data, Seam: &w.npy.seam}.WriteAt(ctx, p, at)
	} else {
		w.npy.come.Settle()
		_, err = data.WriteAt(ctx, p, at)
	}
	return w.extent(v).Head + at, err
}

// accept takes bytes of a dirty page. The header cannot be changed by a mapping, whose pages may be
// older than it is; nor does the array grow: what lies behind its end was truncated while the page
// waited.
func (w *writing) accept(ctx context.Context, v view.ArrayView, p []byte, off int64) error {
	arr := w.array()
	if arr == nil {
		return fmt.Errorf("%w: a page of a file without an array", iofs.ErrInvalid)
	}
	head, data, err := v.Parts(arr)
	if err != nil {
		return err
	}
	at := off - int64(len(head))
	if at < 0 {
		p, at = p[min(int64(len(p)), -at):], 0
	}
	if n := min(int64(len(p)), data.Size()-at); n > 0 {
		_, err = data.Accept(ctx, p[:n], at)
	}
	return err
}

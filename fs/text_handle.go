package fs

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"syscall"
	"time"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/input"
	"github.com/zarrfs/zarrfs/fs/nodes"
	"github.com/zarrfs/zarrfs/fs/texts"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// textHandle is the common part of writable handles of texts that are taken as a whole at a flush.
// These are documents, and arrays whose elements have no fixed size.
type textHandle struct {
	node *fileNode
}

// openText counts a handle.
func (n *fileNode) openText() textHandle {
	n.opened()
	return textHandle{n}
}

// closed ends the count of a handle.
func (h textHandle) closed() {
	h.node.closed()
}

// Allocate is refused: no space is set aside for a text.
func (h textHandle) Allocate(context.Context, uint64, uint64, uint32) syscall.Errno {
	return h.node.fs.Answer("fallocate", h.node.path(),
		fmt.Errorf("%w: no space is set aside for a text", errors.ErrUnsupported))
}

// resizeClosed rejects truncate(2) of a text file that is not open for writing, because a partial
// text cannot be applied.
func (n resizing) resizeClosed(what string, size int64) error {
	switch {
	case n.fs.o.Rights.ReadOnly:
		return syscall.EROFS
	case size == 0:
		return view.ErrEmpty(n.view)
	}
	return fmt.Errorf("%w: %s cannot be truncated to %d bytes", iofs.ErrInvalid, what, size)
}

// wholeHandle is a writable handle of such a file. It reads what is written, taken or not.
type wholeHandle struct {
	textHandle
	input.Emptying
	whole *texts.File
	array *zarrcore.VlenArray
}

var (
	_ = (gofuse.FileReader)((*wholeHandle)(nil))
	_ = (gofuse.FileWriter)((*wholeHandle)(nil))
	_ = (gofuse.FileFlusher)((*wholeHandle)(nil))
	_ = (gofuse.FileFsyncer)((*wholeHandle)(nil))
	_ = (gofuse.FileAllocater)((*wholeHandle)(nil))
	_ = (gofuse.FileReleaser)((*wholeHandle)(nil))
)

// openWhole opens the file for writing.
func (n opening) openWhole(v view.TextView) (gofuse.FileHandle, uint32, syscall.Errno) {
	f, path := n.fs, n.path()
	f.stat.Forget(path)
	arr, err := f.h.OpenVlen(f.ctx, path)
	if err == nil {
		err = arr.Writable()
	}
	if err == nil {
		err = f.rights.RefusesStoring(n.ctx, f.h, path)
	}
	if errors.Is(err, iofs.ErrNotExist) {
		return nil, 0, n.lookAgain(n.ctx)
	}
	var w *texts.File
	if err == nil {
		w, err = f.wholes.Open(n.path, v)
	}
	if err == nil {
		err = w.Refresh()
	}
	if err != nil {
		return nil, 0, f.Answer("open", path, err)
	}
	opened := &wholeHandle{textHandle: n.openText(), whole: w, array: arr}
	opened.By = wire.Caller(n.ctx)
	return opened, fuse.FOPEN_DIRECT_IO, 0
}

// setWholeSize truncates or extends the file.
func (n resizing) setWholeSize(size int64) error {
	w := n.fs.wholes.FindAt(n.path, n.view)
	text, _ := n.view.(view.TextView)
	if w != nil {
		if err := n.fs.rights.RefusesReplacing(n.ctx, n.fs.h, n.path()); err != nil {
			return err
		}
	}
	switch {
	case w != nil && size == 0:
		w.CopyBegins(wire.Caller(n.ctx))
		return w.Truncate()
	case w != nil:
		return w.SetSize(size)
	case size == 0 && text.Appends() && !n.fs.o.Rights.ReadOnly:
		return n.emptyClosed(text)
	}
	return n.resizeClosed("the lines of an array", size)
}

// emptyClosed makes a text empty that no program has open for writing.
func (n resizing) emptyClosed(v view.TextView) error {
	opened, _, errno := opening(n).openWhole(v)
	if errno != 0 {
		return errno
	}
	h := opened.(*wholeHandle)
	defer h.Release(n.ctx)
	if err := h.whole.Truncate(); err != nil {
		return err
	}
	return h.whole.TakeEmpty()
}

// awaitEmptied waits until an empty text is taken whose program has just closed it. The RELEASE of
// a file comes some time after its close.
func (n *fileNode) awaitEmptied() {
	for end := time.Now().Add(nodes.ReleaseWait); time.Now().Before(end); time.Sleep(
		nodes.ReleaseGrain) {
		w := n.fs.wholes.FindAt(n.path, n.view)
		if w == nil || !w.IsEmptied() {
			return
		}
	}
}

// Read reads the text.
func (h *wholeHandle) Read(
	_ context.Context, dest []byte, off int64,
) (fuse.ReadResult, syscall.Errno) {
	n, err := h.whole.Read(dest, off)
	if err != nil {
		return nil, h.node.fs.AnswerRead("read", h.node.path(), err)
	}
	return fuse.ReadResultData(dest[:n]), 0
}

// Write changes the text.
func (h *wholeHandle) Write(ctx context.Context, p []byte, off int64) (uint32, syscall.Errno) {
	f := h.node.fs
	f.count.Wrote(len(p))
	err := h.whole.Write(p, off, f.notes.Of(ctx).AtEnd, h.array.AcceptsLine)
	if errno := f.AnswerChange("write", h.node.path(), err); errno != 0 {
		return 0, errno
	}
	h.Wrote()
	h.node.told.Store(unknownSize)
	return uint32(len(p)), 0
}

// Flush takes the text.
func (h *wholeHandle) Flush(context.Context) syscall.Errno {
	f := h.node.fs
	switch {
	case !h.IsMeant() || !h.whole.IsEmptied():
		return h.take("close", false)
	case !h.whole.View.Appends():
		return f.Answer("close", h.node.path(), view.ErrEmpty(h.whole.View))
	}
	return h.empty()
}

// Fsync takes the text, so that it survives a power cut.
func (h *wholeHandle) Fsync(context.Context, uint32) syscall.Errno { return h.take("fsync", true) }

func (h *wholeHandle) take(op string, durable bool) syscall.Errno {
	err := h.whole.Take(durable)
	h.node.fs.kernel.Changed(h.node.path())
	return h.node.fs.Answer(op, h.node.path(), err)
}

// Release ends the handle, and takes what pages of a mapping have brought behind the last close.
func (h *wholeHandle) Release(context.Context) syscall.Errno {
	if h.whole.IsDue() {
		h.take("release", false) // its error is in the log
	}
	h.closed()
	h.empty()
	h.node.fs.wholes.Close(h.whole)
	h.node.ForgetSize()
	return 0
}

// empty takes a text that programs have truncated to nothing, if this is its last handle.
func (h *wholeHandle) empty() syscall.Errno {
	f := h.node.fs
	taken, err := f.wholes.Empty(h.whole)
	if taken {
		f.kernel.Changed(h.whole.Path())
	}
	return f.Answer("close", h.whole.Path(), err)
}

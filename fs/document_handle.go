package fs

import (
	"context"
	"errors"
	iofs "io/fs"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/document"
	"github.com/zarrfs/zarrfs/fs/input"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// documentHandle is an open document that can be written. It reads what is written, applied or not.
type documentHandle struct {
	textHandle
	input.Emptying // see program.OfThread why by is not asked at FLUSH
	doc            *document.File

	awaited *transient.File // stands for a new array; nil: it was there
	created bool            // the file was created, though the array was there
}

// origin returns what there was when the handle was opened.
func (h *documentHandle) origin() document.Origin {
	switch {
	case h.awaited != nil:
		return document.Missing
	case h.created:
		return document.Removed
	}
	return document.Opened
}

var (
	_ = (gofuse.FileReader)((*documentHandle)(nil))
	_ = (gofuse.FileWriter)((*documentHandle)(nil))
	_ = (gofuse.FileFlusher)((*documentHandle)(nil))
	_ = (gofuse.FileFsyncer)((*documentHandle)(nil))
	_ = (gofuse.FileAllocater)((*documentHandle)(nil))
	_ = (gofuse.FileReleaser)((*documentHandle)(nil))
)

// openDocument opens the document for writing.
func (n opening) openDocument() (gofuse.FileHandle, uint32, syscall.Errno) {
	path, x := n.path(), n.hold()
	node, err := n.fs.h.Node(n.ctx, path)
	missing := errors.Is(err, iofs.ErrNotExist)
	switch {
	case missing && x == nil:
		return nil, 0, n.lookAgain(n.ctx)
	case missing:
		node = &zarrcore.Node{}
	default:
		err = n.refusesDocument(node, err)
	}
	if err != nil && !missing {
		n.letGo(x, false)
		return nil, 0, n.fs.Answer("open", path, err)
	}
	d, isFirst := n.fs.documents.Open(n.ctx, n.path, node)
	if !missing {
		d.NoteExisted()
	}
	if !missing && !isFirst {
		d.Refresh(n.ctx) // what is not there by now is found out when the text is applied
	}
	h := &documentHandle{textHandle: n.openText(), doc: d, awaited: x}
	h.By = wire.Caller(n.ctx)
	return h, fuse.FOPEN_DIRECT_IO, 0
}

// refusesDocument returns why the user of a request may not write the document of a node, which was
// looked up with err. A new shape changes chunks, so that the rights to them count too.
func (n opening) refusesDocument(node *zarrcore.Node, err error) error {
	if err == nil {
		err = n.fs.rights.RefusesStoring(n.ctx, n.fs.h, node.Path)
	}
	return err
}

// setDocumentSize truncates or extends the document.
func (n resizing) setDocumentSize(size int64) error {
	if d := n.fs.documents.FindAt(n.path); d != nil {
		err := d.Text.SetSize(size)
		d.Text.NoteCut(err == nil && size == 0)
		return err
	}
	return n.resizeClosed("a document", size)
}

// noteRead remembers that the caller knows the document as it is now.
func (h *documentHandle) noteRead(ctx context.Context) {
	h.doc.Text.Look(func(text []byte) {
		h.node.fs.reads.Note(h.node.path(), wire.Caller(ctx), text)
	})
}

// Read reads the text.
func (h *documentHandle) Read(
	_ context.Context, dest []byte, off int64,
) (fuse.ReadResult, syscall.Errno) {
	n := 0
	h.doc.Text.Look(func(text []byte) { n = copy(dest, text[min(off, int64(len(text))):]) })
	return fuse.ReadResultData(dest[:n]), 0
}

// Write changes the text.
func (h *documentHandle) Write(ctx context.Context, p []byte, off int64) (uint32, syscall.Errno) {
	err := h.doc.Text.Write(p, off, h.node.fs.notes.Of(ctx).AtEnd)
	if errno := h.node.fs.AnswerChange("write", h.node.path(), err); errno != 0 {
		return 0, errno
	}
	h.Wrote()
	h.node.told.Store(unknownSize)
	return uint32(len(p)), 0
}

// Flush applies the text.
func (h *documentHandle) Flush(context.Context) syscall.Errno {
	if emptied, _ := h.doc.IsEmptied(); emptied && h.IsMeant() {
		return h.node.fs.Answer("close", h.node.path(), view.ErrEmpty(h.node.view))
	}
	return h.apply("close")
}

// Fsync applies the text.
func (h *documentHandle) Fsync(context.Context, uint32) syscall.Errno {
	return h.apply("fsync")
}

func (h *documentHandle) apply(op string) syscall.Errno {
	err := h.doc.ApplyInTurn(h.node.fs.ctx, h.By, h.origin())
	if err != nil {
		h.keepRefused()
	}
	h.node.ForgetSize()
	return h.node.fs.Answer(op, h.node.path(), err)
}

// Release ends the handle, and applies what pages of a mapping have brought behind the last close.
func (h *documentHandle) Release(context.Context) syscall.Errno {
	f := h.node.fs
	if h.doc.Text.IsDue() {
		h.apply("release") // its error is in the log
	}
	h.closed()
	size := h.doc.Text.Offered()
	last := f.documents.Close(h.doc)
	if _, cut := h.doc.IsEmptied(); last && cut {
		f.Answer("close", h.node.path(), view.ErrEmpty(h.node.view)) // for the log
	}
	refused := last && h.doc.Text.IsRefused()
	h.node.letGo(h.awaited, refused)
	if refused {
		f.log.Warn("a document that a program wrote was refused; `zarrfs errors` has the reason",
			"path", h.node.path(), "bytes", size, "kept", h.doc.Text.IsKept())
	}
	if last {
		h.node.ForgetSize()
	}
	return 0
}

// keepRefused keeps the text of a new document that was refused, when the mount ends, as other
// files are. Its program is told, but not every program looks at the error of a write or a close.
// The text is kept no longer once a document is taken under that name.
func (h *documentHandle) keepRefused() {
	d, f := h.doc, h.node.fs
	if h.awaited == nil || !f.transients.Has(h.awaited) {
		return // there is an array, or the file was removed
	}
	err := d.Text.KeepRefused(func(text []byte) error {
		return f.transients.KeepText(document.Spot(d.Path()), text)
	})
	if err != nil {
		f.log.Error("a document was refused, and its text cannot be kept", "path", d.Path(),
			"bytes", d.Text.Offered(), "err", err)
	}
}

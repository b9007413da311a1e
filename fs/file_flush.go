package fs

import (
	"context"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/view"
)

// Flush stores what was written: a close(2) that succeeds means that it is in the store.
func (h *writer) Flush(ctx context.Context) syscall.Errno {
	if c := h.Comparing(); c != nil {
		return h.node.fs.Answer("close", h.node.path(), c.Close(h.node.fs.ctx))
	}
	if h.IsMeant() {
		if err := h.empty(ctx); err != nil {
			return h.node.fs.Answer("close", h.node.path(), err)
		}
	}
	short := h.CutShort()
	if err := h.Store(false); err != nil {
		return h.node.fs.Answer("close", h.node.path(), err)
	}
	if !view.IsHeaded(h.View) {
		return h.node.fs.Answer("close", h.node.path(), short)
	}
	return h.node.fs.Answer("close", h.node.path(), h.CheckWhole(h.node.fs.notes.Of(ctx).Owner))
}

// empty makes the array as empty as its file is, which the program means to be so.
func (h *writer) empty(ctx context.Context) error {
	if h.IsEmptied() {
		return view.ErrEmpty(h.View)
	}
	return h.begin(ctx)
}

// Fsync stores what was written so that it survives a power cut.
func (h *writer) Fsync(_ context.Context, _ uint32) syscall.Errno {
	return h.node.fs.Answer("fsync", h.node.path(), h.Store(true))
}

// Fsync of a handle that cannot write stores what others wrote, as for any file.
func (h *handle) Fsync(context.Context, uint32) syscall.Errno {
	w := h.node.fs.writings.FindAt(h.node.path)
	if w == nil {
		return 0
	}
	w.TellPaged()
	return h.node.fs.Answer("fsync", h.node.path(), w.Flush(h.node.fs.ctx, h.node.view, nil, true))
}

// Release ends the handle. What could not be stored stays in memory, is tried again, and is named
// in the log.
func (h *writer) Release(ctx context.Context) syscall.Errno {
	h.node.use().writers.Add(-1)
	if h.maps {
		h.node.use().mappers.Add(-1)
	}
	if h.Closes() && h.node.use().writers.Load() == 0 {
		h.node.fs.Answer("close", h.node.path(), view.ErrEmpty(h.View)) // for the log
	}
	if bytes, err := h.Of.Unsaved(); err != nil {
		h.node.fs.log.Error("closed, but not stored", "path", h.node.path(), "bytes", bytes, "err",
			err)
	}
	h.Of.Close(h.View)
	return h.handle.Release(ctx)
}

package fs

import (
	"context"
	"errors"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// Flush stores what was written: a close(2) that succeeds means that it is in the store.
func (h *writer) Flush(ctx context.Context) syscall.Errno {
	if c := h.comparing(); c != nil {
		return h.node.fs.answer("close", h.node.path(), c.Close(h.node.fs.ctx))
	}
	if h.IsMeant() {
		if err := h.empty(ctx); err != nil {
			return h.node.fs.answer("close", h.node.path(), err)
		}
	}
	short := h.cutShort()
	if errno := h.store("close", false); errno != 0 {
		return errno
	}
	if !view.IsHeaded(h.view) {
		return h.node.fs.answer("close", h.node.path(), short)
	}
	return h.whole(h.node.fs.notes.Of(ctx).Owner)
}

// empty makes the array as empty as its file is, which the program means to be so.
func (h *writer) empty(ctx context.Context) error {
	if h.writing.isEmptied(h.view) {
		return view.ErrEmpty(h.view)
	}
	return h.begin(ctx)
}

// isEmptied reports whether the .npy file of an array that is there is empty.
func (w *writing) isEmptied(v view.View) bool {
	in := w.awaiting(v)
	return in != nil && in.Size() == 0 && w.array() != nil
}

// whole refuses what a program has left of a .npy file, if it is not all of it. What has come is
// stored. A program that does not copy trees is told so only of what it has itself written in
// order: it may also have the descriptor from the program that goes on.
func (h *writer) whole(owner uint64) syscall.Errno {
	npy := &h.writing.npy
	came := npy.come.Came()
	copied := h.By.Mover && !h.writing.isLeftTo(h, h.view)
	if !copied && !(came.IsShort() && npy.ender.isBy(h, owner)) {
		return 0
	}
	return h.node.fs.answer("close", h.node.path(), came.Missing())
}

// settle notes that the .npy is as its writer wants it, although its end has not come: readers see
// all of it. A FLUSH does not do so, since NumPy's tofile closes a duplicate of the file after each
// piece.
func (w *writing) settle() {
	before := w.extent(w.npy.view)
	w.npy.come.Settle()
	if w.extent(w.npy.view) != before {
		w.changed(nil, w.npy.view, before, view.Everything)
	}
}

// Fsync stores what was written so that it survives a power cut.
func (h *writer) Fsync(_ context.Context, _ uint32) syscall.Errno {
	return h.store("fsync", true)
}

func (h *writer) store(op string, durable bool) syscall.Errno {
	w := h.writing
	w.tellPaged()
	before := w.extent(h.view)
	err := w.flush(w.fs.ctx, h.view, h, durable)
	w.changed(nil, h.view, before, view.Stretch{}) // a header that was taken, or rows that were dropped, change the size
	return w.fs.answer(op, h.node.path(), err)
}

// Fsync of a handle that cannot write stores what others wrote, as for any file.
func (h *handle) Fsync(context.Context, uint32) syscall.Errno {
	w := h.node.fs.writings.find(h.node.path())
	if w == nil {
		return 0
	}
	w.tellPaged()
	return h.node.fs.answer("fsync", h.node.path(), w.flush(h.node.fs.ctx, h.node.view, nil, true))
}

// Release ends the handle. What could not be stored stays in memory, is tried again, and is named in the log.
func (h *writer) Release(ctx context.Context) syscall.Errno {
	h.node.writers.Add(-1)
	h.writing.row.closed(h)
	h.writing.npy.ender.closed(h)
	if h.writing.npy.cut.Load() && h.writing.isEmptied(h.view) && h.node.writers.Load() == 0 {
		h.node.fs.answer("close", h.node.path(), view.ErrEmpty(h.view)) // for the log
	}
	if bytes, err := h.writing.unsaved(); err != nil {
		h.node.fs.log.Error("closed, but not stored", "path", h.node.path(), "bytes", bytes, "err", err)
	}
	h.writing.close(h.view)
	return h.handle.Release(ctx)
}

// flush stores what was written by any handle of any view, for the program that has the handle by,
// nil if it has none. If durable is set, it survives a power cut.
func (w *writing) flush(ctx context.Context, v view.View, by *writer, durable bool) error {
	var errs []error
	if view.IsHeaded(v) && !w.isLeftTo(by, v) {
		errs = append(errs, w.npy.settle(ctx, w))
	}
	if arr := w.array(); arr != nil {
		errs = append(errs, w.flushArray(ctx, arr, by, durable))
		w.fs.stat.ForgetAll(w.path())
	}
	return errors.Join(errs...)
}

// flushArray stores what was written to the array. A last row that is not whole stays as long as
// another handle may go on with it. So may a duplicate of the descriptor, unless durable is set.
func (w *writing) flushArray(ctx context.Context, arr *zarrcore.Array, by *writer, durable bool) error {
	err := arr.Save(ctx, durable)
	if !errors.Is(err, zarrcore.ErrFraction) {
		return err
	}
	return w.endFlush(ctx, arr, by, durable, err)
}

// sync makes durable what the handle by wrote with O_SYNC, which may be a piece of a row, or of a
// header.
func (w *writing) sync(ctx context.Context, by *writer) error {
	arr := w.array()
	if arr == nil {
		return nil
	}
	err := arr.Save(ctx, true)
	if errors.Is(err, zarrcore.ErrFraction) && w.isInRow(by) {
		return nil
	}
	return exceptOpenRow(arr, err)
}

// unsaved returns how many bytes are not stored, and why the last attempt to store them failed.
func (w *writing) unsaved() (bytes int64, err error) {
	arr := w.array()
	if arr == nil {
		return 0, nil
	}
	return arr.Dirty()
}

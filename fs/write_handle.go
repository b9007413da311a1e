package fs

import (
	"cmp"
	"context"
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/fs/coherence"
	"github.com/zarrfs/zarrfs/fs/compare"
	"github.com/zarrfs/zarrfs/fs/input"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/view"
)

// writeHandle is what the mount knows of a writable handle of an array's view.
type writeHandle struct {
	input.Emptying // By is known of a .npy file; see program.OfThread why that is not asked at FLUSH
	view           view.ArrayView
	of             *writing
	file           coherence.File
	opener         program.Process // copies trees, or is not known

	// cuts is how often a .npy had been truncated to nothing when this handle began to write it.
	// The lock of its ender guards it.
	cuts int
}

// newWriteHandle returns a handle of a view of an array, of the file that shows it. by is the process
// that has opened it.
func newWriteHandle(
	of *writing, v view.ArrayView, file coherence.File, by program.Process,
) *writeHandle {
	h := &writeHandle{view: v, of: of, file: file}
	if view.IsHeaded(v) {
		h.By = by
	}
	if by.Mover {
		h.opener = by
	}
	return h
}

// comparing returns the comparison that the program makes by h; nil: it writes.
func (h *writeHandle) comparing() *compare.Comparison {
	if !h.opener.Mover {
		return nil
	}
	return h.of.compared.Of(h.opener, h.view)
}

// put is put of the file, and notes that a program may have written its end by this handle.
func (h *writeHandle) put(ctx context.Context, p []byte, off int64, kind how, owner uint64) error {
	w := h.of
	if kind == byPage { // of which handle is not known; the file does not grow
		_, err := w.put(ctx, h.file, h.view, p, off, kind)
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
	at, err := w.put(ctx, h.file, h.view, p, off, kind)
	h.endsAt(off+int64(len(p)), kind, owner) // the array may have been truncated since
	if err == nil {
		w.writtenAnewBy(h, off+int64(len(p)))
	}
	return err
}

// skips makes zero what a program that copies a sparse file leaves out before off.
func (h *writeHandle) skips(ctx context.Context, off int64) error {
	size, ok := h.of.size(h.view)
	if reach := h.of.npy.come.End(); !ok || off <= size && (reach == 0 || off <= reach) {
		return nil
	}
	from, sparse := h.of.copied(ctx, h.view)
	if !sparse {
		return nil
	}
	return h.of.fillGap(h.file, h.view, from, off)
}

// cutShort returns an error if a program closes a derived file that it writes from its beginning,
// and has not come to the end. What it has left out becomes zero. If no byte of the array has come,
// the array stays as it is.
func (h *writeHandle) cutShort() error {
	reach, ok := h.of.leftBy(h)
	if !ok {
		return nil
	}
	file, err := h.of.derivedOf(h.view)
	if err != nil {
		return err
	}
	size := file.size()
	if reach >= size {
		return nil
	}
	rest := "the array is as it was"
	if reach > int64(len(file.head)) {
		rest = "the rest of the array is zero bytes"
		err = h.clear(reach, size-reach)
	}
	return cmp.Or(err, fmt.Errorf("%w: expected the %d bytes of a .%s file, found %d: %s; "+
		"copy it again", iofs.ErrInvalid, size, h.view.Name(), reach, rest))
}

// store stores what was written. If durable is set, it survives a power cut.
func (h *writeHandle) store(durable bool) error {
	w := h.of
	w.tellPaged()
	before := w.extent(h.view)
	err := w.flush(w.table.Ctx, h.view, h, durable)
	w.changed(nil, h.view, before, view.Stretch{}) // a header that was taken, or rows that were dropped, change the size
	return err
}

// whole refuses what a program has left of a .npy file, if it is not all of it. What has come is
// stored. A program that does not copy trees is told so only of what it has itself written in
// order: it may also have the descriptor from the program that goes on.
func (h *writeHandle) whole(owner uint64) error {
	npy := &h.of.npy
	came := npy.come.Came()
	copied := h.By.Mover && !h.of.isLeftTo(h, h.view)
	if !copied && !(came.IsShort() && npy.ender.isBy(h, owner)) {
		return nil
	}
	return came.Missing()
}

// closes notes that the handle is about to end. It reports whether the .npy is empty because a
// program has truncated it to nothing.
func (h *writeHandle) closes() (emptied bool) {
	h.of.row.closed(h)
	h.of.npy.ender.closed(h)
	return h.of.npy.cut.Load() && h.of.isEmptied(h.view)
}

// extend makes the file at least size bytes large, unless its size is to be kept.
func (h *writeHandle) extend(size int64, keep bool) error {
	if now, _ := h.of.size(h.view); keep || size <= now {
		return nil
	}
	return h.of.resize(h.of.table.Ctx, h.file, h.view, size)
}

func (h *writeHandle) clear(off, n int64) error {
	w := h.of
	before := w.extent(h.view)
	s := before.Stretch(off, n)
	w.dropPages(s, func(n coherence.File) bool { return n != h.file && n.IsWritten() })
	err := w.clear(w.table.Ctx, h.view, off, n)
	w.changed(h.file, h.view, before, s)
	return err
}

// endsAt notes that a program writes up to end, if the .npy has not come further.
func (h *writeHandle) endsAt(end int64, kind how, owner uint64) {
	if !view.IsHeaded(h.view) || kind == atOffset && end < h.of.come(h.view) {
		return
	}
	h.of.npy.ender.set(h, owner)
}

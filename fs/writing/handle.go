package writing

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

// Handle is what the mount knows of a writable handle of an array's view.
type Handle struct {
	// By is known of a .npy file; see program.OfThread why that is not asked at FLUSH.
	input.Emptying
	View   view.ArrayView
	Of     *Array
	file   coherence.File
	opener program.Process // copies trees, or is not known

	// truncations is how often a .npy had been truncated to nothing when this handle began to write
	// it. The lock of its ender guards it.
	truncations int
}

// NewHandle returns a handle of a view of an array, of the file that shows it. by is the process
// that has opened it.
func NewHandle(
	of *Array, v view.ArrayView, file coherence.File, by program.Process,
) *Handle {
	h := &Handle{View: v, Of: of, file: file}
	if view.IsHeaded(v) {
		h.By = by
	}
	if by.Mover {
		h.opener = by
	}
	return h
}

// shown returns the file as its array shows it.
func (h *Handle) shown() viewFile { return viewFile{h.Of, h.View} }

// IsEmptied reports whether the handle is of an empty .npy file of an existing array.
func (h *Handle) IsEmptied() bool {
	in := h.Of.Awaiting(h.View)
	return in != nil && in.Size() == 0 && h.Of.Live() != nil
}

// Comparing returns the comparison that the program makes by h; nil: it writes.
func (h *Handle) Comparing() *compare.Comparison {
	if !h.opener.Mover {
		return nil
	}
	return h.Of.compared.Of(h.opener, h.View)
}

// Put is put of the file, and notes that a program may have written its end by this handle.
func (h *Handle) Put(ctx context.Context, p []byte, off int64, kind How, owner uint64) error {
	w := h.Of
	if kind == ByPage { // of which handle is not known; the file does not grow
		_, err := w.Put(ctx, h.file, h.View, p, off, kind)
		return err
	}
	at := off
	w.row.begins(h)
	defer func() { w.row.ends(h, at, len(p)) }()
	if view.IsHeaded(h.View) {
		w.npy.ender.begins(h, off)
	}
	h.Wrote()
	h.endsAt(off+int64(len(p)), kind, owner)
	at, err := w.Put(ctx, h.file, h.View, p, off, kind)
	h.endsAt(off+int64(len(p)), kind, owner) // the array may have been truncated since
	if err == nil {
		h.noteRewrite(off + int64(len(p)))
	}
	return err
}

// Skips makes zero what a program that copies a sparse file leaves out before off.
func (h *Handle) Skips(ctx context.Context, off int64) error {
	size, ok := h.Of.Size(h.View)
	if reach := h.Of.npy.come.End(); !ok || off <= size && (reach == 0 || off <= reach) {
		return nil
	}
	from, sparse := h.shown().copied(ctx)
	if !sparse {
		return nil
	}
	return h.shown().fillGap(h.file, from, off)
}

// CutShort returns an error if a program closes a derived file that it writes from its beginning,
// and has not come to the end. What it has left out becomes zero. If no byte of the array has come,
// the array stays as it is.
func (h *Handle) CutShort() error {
	reach, ok := h.left()
	if !ok {
		return nil
	}
	file, err := h.shown().derived()
	if err != nil {
		return err
	}
	size := file.size()
	if reach >= file.end() { // the rest is zeros
		return nil
	}
	rest := "the array is as it was"
	if reach > file.head {
		rest = "the rest of the array is zero bytes"
		err = h.Clear(reach, size-reach)
	}
	return cmp.Or(err, fmt.Errorf("%w: expected the %d bytes of a .%s file, found %d: %s; "+
		"copy it again", iofs.ErrInvalid, size, h.View.Name(), reach, rest))
}

// Store stores what was written. If durable is set, it survives a power cut.
func (h *Handle) Store(durable bool) error {
	w, f := h.Of, h.shown()
	w.TellPaged()
	before := f.extent()
	err := w.Flush(w.table.Ctx, h.View, h, durable)
	// The size changes if a header was taken or rows were dropped.
	w.others.changed(nil, f, before, view.Stretch{})
	return err
}

// CheckWhole refuses an incomplete .npy file that a program has left. What has come is stored. A
// program that does not copy trees is told so only of its own bytes, written in order. The reason:
// it may have the descriptor from another program, and that one goes on writing.
func (h *Handle) CheckWhole(owner uint64) error {
	npy := &h.Of.npy
	came := npy.come.Came()
	copied := h.By.Mover && !npy.ender.isLeftTo(h, h.Of.OpensOf(h.View))
	if !copied && !(came.IsShort() && npy.ender.isBy(h, owner)) {
		return nil
	}
	return came.Missing()
}

// Closes notes that the handle is about to end. It reports whether the .npy is empty because a
// program has truncated it to nothing.
func (h *Handle) Closes() (emptied bool) {
	h.Of.row.closed(h)
	h.Of.npy.ender.closed(h)
	return h.Of.npy.emptied.Load() && h.IsEmptied()
}

// Extend makes the file at least size bytes large, unless its size is to be kept.
func (h *Handle) Extend(size int64, keep bool) error {
	if now, _ := h.Of.Size(h.View); keep || size <= now {
		return nil
	}
	return h.shown().resize(h.Of.table.Ctx, h.file, size)
}

// Clear makes n bytes at byte off of the file zeros, as far as the file has them.
func (h *Handle) Clear(off, n int64) error {
	w, f := h.Of, h.shown()
	before := f.extent()
	s := before.Stretch(off, n)
	w.others.drop(s, func(n coherence.File) bool { return n != h.file && n.IsWritten() })
	err := f.clear(w.table.Ctx, off, n)
	w.others.changed(h.file, f, before, s)
	return err
}

// endsAt notes that a program writes up to end, if the .npy has not come further.
func (h *Handle) endsAt(end int64, kind How, owner uint64) {
	if !view.IsHeaded(h.View) || kind == AtOffset && end < h.shown().come() {
		return
	}
	h.Of.npy.ender.set(h, owner)
}

package writing

import (
	"context"
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/fs/coherence"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
)

// How says in which way bytes were written.
type How uint8

// The ways in which bytes are written.
const (
	AtOffset How = iota // by pwrite or write
	AtEnd               // by a program that appends, with O_APPEND
	ByPage              // by the kernel: a dirty page of a mapping
)

// HowOf returns how the bytes of the WRITE with this note are meant.
func HowOf(note wire.Note) How {
	switch {
	case note.Paged:
		return ByPage
	case note.AtEnd:
		return AtEnd
	}
	return AtOffset
}

// viewFile is the file of one view of an array.
type viewFile struct {
	*Array
	v view.ArrayView
}

// write writes p at off of a view's file, or where kind says. It returns where.
func (w viewFile) write(
	ctx context.Context, p []byte, off int64, kind How,
) (at int64, err error) {
	switch kind {
	case ByPage:
		w.npy.come.Settle()
		return off, w.accept(ctx, p, off)
	case AtEnd:
		w.appending.Lock()
		defer w.appending.Unlock()
		at, inside := w.goesOnAt()
		if !inside {
			return w.append(ctx, p)
		}
		off = at
	}
	return off, w.writeAt(ctx, p, off)
}

// writeAt writes p at off of a view's file, which may be new.
func (w viewFile) writeAt(ctx context.Context, p []byte, off int64) error {
	if view.IsHeaded(w.v) {
		return w.npy.write(ctx, w.Array, p, off)
	}
	w.npy.come.Settle()
	if view.IsDerived(w.v) {
		file, err := w.derived()
		if err != nil {
			return err
		}
		return file.writeAt(ctx, p, off)
	}
	_, data, err := w.v.Parts(w.Live())
	if err == nil {
		_, err = data.WriteAt(ctx, p, off)
	}
	return err
}

// accept takes bytes of a dirty page. The header cannot be changed by a mapping, whose pages may be
// older than it is; nor does the array grow: what lies behind its end was truncated while the page
// waited.
func (w viewFile) accept(ctx context.Context, p []byte, off int64) error {
	arr := w.Live()
	if arr == nil {
		return fmt.Errorf("%w: a page of a file without an array", iofs.ErrInvalid)
	}
	head, data, err := w.v.Parts(arr)
	if err != nil {
		return err
	}
	at := off - head
	if at < 0 {
		p, at = p[min(int64(len(p)), -at):], 0
	}
	if n := min(int64(len(p)), data.Size()-at); n > 0 {
		_, err = data.Accept(ctx, p[:n], at)
	}
	return err
}

// extent returns what a view's file is made of now; nothing where there is no array yet.
func (w viewFile) extent() view.Extent {
	arr := w.Live()
	if arr == nil {
		return view.Extent{}
	}
	e, err := w.npy.extentOf(w.v, arr)
	if err != nil {
		return view.Extent{Array: arr}
	}
	if theirs := w.npy.header(nil); theirs != nil && view.IsHeaded(w.v) {
		e.Head = int64(len(theirs))
	}
	return e
}

// Put writes p at off of a view's file, or where kind says, and updates the array's other files.
// It returns where.
func (w *Array) Put(
	ctx context.Context, by coherence.File, v view.ArrayView, p []byte, off int64, kind How,
) (at int64, err error) {
	w.Arrive(ctx)
	f := viewFile{w, v}
	if kind == ByPage {
		w.others.notePaged(by)
		at, err = f.write(ctx, p, off, kind)
		w.others.follow(f.extent().Stretch(off, int64(len(p))), false)
		return at, err
	}
	before, s := f.extent(), view.Everything
	if kind == AtEnd || off+int64(len(p)) > before.Size() {
		defer w.resizings.begin()()
	}
	if w.Awaiting(v) == nil {
		s = before.Stretch(off, int64(len(p)))
		if _, inside := f.goesOnAt(); kind == AtEnd && inside {
			s = view.Everything // other programs may append meanwhile
		}
		// They may be dirty.
		w.others.drop(s, func(n coherence.File) bool { return n != by && n.IsWritten() })
	}
	at, err = f.write(ctx, p, off, kind)
	w.others.changed(by, f, before, s)
	return at, err
}

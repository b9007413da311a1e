package writing

import (
	"context"
	"fmt"
	iofs "io/fs"

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

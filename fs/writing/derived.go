package writing

import (
	"bytes"
	"context"
	"fmt"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/view"
)

// The file of a derived view shows what is in the other files of its array. Its header says what
// the array is, so that it keeps its size: what is written must be its header, and bytes of the
// array. Programs that copy files may write all of it, as when a tree is copied from one mount to
// another. What they leave out is zero bytes, as in a new file. If they end too early, their close
// fails. Other programs save something else under that name, and some of them do not look at errors
// of writing. They cannot open it.

// derived is one file of a derived view, as the programs see it that write to it.
type derived struct {
	viewFile
	head int64 // bytes of the header
	data interface {
		Size() int64
		WriteAt(ctx context.Context, p []byte, off int64) (int, error)
		Clear(ctx context.Context, off, n int64) error
	}
}

// derived returns the file of a derived view.
func (w viewFile) derived() (derived, error) {
	head, data, err := w.v.Parts(w.Live())
	return derived{w, head, data}, err
}

func (d derived) size() int64 { return d.end() + d.v.Tail(d.data.Size()) }

// end returns where the bytes of the array end.
func (d derived) end() int64 { return d.head + d.data.Size() }

// setSize takes the two sizes that a program sets if it writes all of a file: nothing, and all.
func (d derived) setSize(ctx context.Context, size int64) error {
	switch size {
	case 0:
		d.beginRewrite()
		return nil
	case d.size():
		defer d.oneByOne()()
		return d.skip(ctx, size)
	}
	return d.keepsSize(size)
}

// writeAt writes p at off.
func (d derived) writeAt(ctx context.Context, p []byte, off int64) error {
	end := off + int64(len(p))
	if end > d.size() {
		return d.keepsSize(end)
	}
	defer d.oneByOne()()
	p, at, err := d.behindHeader(ctx, p, off)
	if err == nil {
		p, err = BeforeTail(d.v, p, d.data.Size()-at)
	}
	if err == nil {
		err = d.skip(ctx, off)
	}
	if err == nil && len(p) > 0 {
		_, err = d.data.WriteAt(ctx, p, at)
	}
	if err == nil {
		d.extendRewrite(end)
	}
	return err
}

// behindHeader returns the part of p that belongs to the array, and where it belongs. The header is
// asked for only if p has bytes of it.
func (d derived) behindHeader(
	ctx context.Context, p []byte, off int64,
) (data []byte, at int64, err error) {
	if at = off - d.head; at >= 0 {
		return p, at, nil
	}
	head, _, err := d.v.Header(ctx, d.Live())
	if err != nil {
		return nil, 0, err
	}
	return BehindHeader(d.v, head, p, off)
}

// skip makes zero what a program leaves out before off that writes all of the file.
func (d derived) skip(ctx context.Context, off int64) error {
	from, isRewritten := d.extendRewrite(off)
	if from = max(from, d.head); !isRewritten || from >= off {
		return nil
	}
	return d.data.Clear(ctx, from-d.head, off-from)
}

// RefusesSaving returns why a program cannot begin to write all of a view's file; nil: it can.
func RefusesSaving(v view.View, by program.Process) error {
	if !view.IsDerived(v) || by.Copier {
		return nil
	}
	return fmt.Errorf("%w: a .%s file shows what is in other files of its array, and no file can "+
		"be saved in its place: choose another name, or write its data in place",
		syscall.EPERM, v.Name())
}

// keepsSize says that the file has the size that its header says.
func (d derived) keepsSize(wanted int64) error { return ErrKeepsSize(d.v, d.size(), wanted) }

// ErrKeepsSize says that the file of a derived view has a size, and not the one that is wanted.
func ErrKeepsSize(v view.View, size, wanted int64) error {
	return fmt.Errorf("%w: a .%s file shows what is in other files, and has %d bytes, not %d: "+
		"resize the array by its .%s or .%s", syscall.EPERM, v.Name(), size, wanted,
		view.Plain().Name(), view.Document.Name())
}

// rewritten is a derived file that a program is about to write from its beginning.
type rewritten struct {
	reach int64   // up to where it was written
	by    *Handle // the handle that has written there; nil: none
}

// beginRewrite notes that a program is about to write all of a derived view's file.
func (w viewFile) beginRewrite() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rewritten == nil {
		w.rewritten = make(map[view.View]rewritten)
	}
	w.rewritten[w.v] = rewritten{}
}

// oneByOne waits until no other request writes to a derived file that is written from its
// beginning. Otherwise what one makes zero could have come by the other meanwhile. The next one
// waits until end is called.
func (w viewFile) oneByOne() (end func()) {
	w.mu.Lock()
	_, isRewritten := w.rewritten[w.v]
	w.mu.Unlock()
	if !isRewritten {
		return func() {}
	}
	w.filling.Lock()
	return w.filling.Unlock
}

// extendRewrite notes that such a file is written up to end, and returns up to where it was. It
// reports whether there is such a program.
func (w viewFile) extendRewrite(end int64) (was int64, isRewritten bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f, isRewritten := w.rewritten[w.v]
	if was = f.reach; isRewritten && end > was {
		f.reach = end
		w.rewritten[w.v] = f
	}
	return was, isRewritten
}

// noteRewrite notes that such a file was written up to end by h.
func (h *Handle) noteRewrite(end int64) {
	w := h.Of
	w.mu.Lock()
	defer w.mu.Unlock()
	if f, isRewritten := w.rewritten[h.View]; isRewritten && end >= f.reach {
		f.by = h
		w.rewritten[h.View] = f
	}
}

// left returns up to where such a file was written by h, or that nobody has written to it, whose
// only handle is h. Otherwise it reports false.
func (h *Handle) left() (reach int64, ok bool) {
	w := h.Of
	w.mu.Lock()
	defer w.mu.Unlock()
	f, isRewritten := w.rewritten[h.View]
	isAlone := f.by == nil && w.opens[h.View] == 1
	return f.reach, isRewritten && (f.by == h || isAlone)
}

// BehindHeader returns the part of p that belongs to the array, and where it belongs. p was written
// at off of a file with the header head. What was written to the header must be what is there.
func BehindHeader(
	v view.ArrayView, head, p []byte, off int64,
) (data []byte, at int64, err error) {
	if at = off - int64(len(head)); at >= 0 {
		return p, at, nil
	}
	n := min(len(p), int(-at))
	if !bytes.Equal(p[:n], head[off:off+int64(n)]) {
		return nil, 0, fmt.Errorf("%w: the header of a .%s file cannot be changed: expected the "+
			"array's, of %d bytes, found another; give another file another name",
			syscall.EPERM, v.Name(), len(head))
	}
	return p[n:], 0, nil
}

// BeforeTail returns the part of p that belongs to the array. left is the number of bytes from the
// place of p to the end of the array. What was written behind that must be zeros, as in the file.
func BeforeTail(v view.ArrayView, p []byte, left int64) ([]byte, error) {
	n := min(int64(len(p)), max(0, left))
	if len(bytes.Trim(p[n:], "\x00")) > 0 {
		return nil, fmt.Errorf("%w: a .%s file has zeros after the bytes of its array, and they "+
			"cannot be changed", syscall.EPERM, v.Name())
	}
	return p[:n], nil
}

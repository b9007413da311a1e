package fs

import (
	"bytes"
	"context"
	"fmt"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
)

// The file of a derived view shows what is in the other files of its array. Its header says what
// the array is, so that it keeps its size: what is written must be its header, and bytes of the
// array. Programs that copy files may write all of it, as when a tree is copied from one mount to
// another. What they leave out is zero bytes, as in a new file. Other programs save something else
// under that name, and some of them do not look at errors of writing. They cannot open it.

// derived is one file of a derived view, as the programs see it that write to it.
type derived struct {
	w    *writing
	v    view.ArrayView
	head []byte
	data interface {
		Size() int64
		WriteAt(ctx context.Context, p []byte, off int64) (int, error)
		Clear(ctx context.Context, off, n int64) error
	}
}

// derivedOf returns the file of a derived view.
func (w *writing) derivedOf(v view.ArrayView) (derived, error) {
	head, data, err := v.Parts(w.array())
	return derived{w, v, head, data}, err
}

func (d derived) size() int64 { return int64(len(d.head)) + d.data.Size() }

// setSize takes the two sizes that programs set that write all of a file: nothing, and all.
func (d derived) setSize(ctx context.Context, size int64) error {
	switch size {
	case 0:
		d.w.beginsAnew(d.v)
		return nil
	case d.size():
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
	p, at, err := behindHeader(d.v, d.head, p, off)
	if err == nil {
		err = d.skip(ctx, off)
	}
	if err == nil {
		_, err = d.data.WriteAt(ctx, p, at)
	}
	if err == nil {
		d.w.reachesAnew(d.v, end)
	}
	return err
}

// skip makes zero what a program leaves out before off that writes all of the file.
func (d derived) skip(ctx context.Context, off int64) error {
	head := int64(len(d.head))
	from, isAnew := d.w.reachesAnew(d.v, off)
	if from = max(from, head); !isAnew || from >= off {
		return nil
	}
	return d.data.Clear(ctx, from-head, off-from)
}

// refusesSaving returns why a program cannot begin to write all of a view's file; nil: it can.
func refusesSaving(v view.View, by program.Process) error {
	if !view.IsDerived(v) || by.Copier {
		return nil
	}
	return fmt.Errorf("%w: a .%s file shows what is in other files of its array, and no file can "+
		"be saved in its place: choose another name, or write its data in place",
		syscall.EPERM, v.Name())
}

// keepsSize says that the file has the size that its header says.
func (d derived) keepsSize(wanted int64) error {
	return fmt.Errorf("%w: a .%s file shows what is in other files, and has %d bytes, not %d: "+
		"resize the array by its .raw or .json", syscall.EPERM, d.v.Name(), d.size(), wanted)
}

// beginsAnew notes that a program is about to write all of a derived view's file.
func (w *writing) beginsAnew(v view.View) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.anew == nil {
		w.anew = make(map[view.View]int64)
	}
	w.anew[v] = 0
}

// reachesAnew notes that such a file is written up to end, and returns up to where it was. It
// reports whether there is such a program.
func (w *writing) reachesAnew(v view.View, end int64) (was int64, isAnew bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if was, isAnew = w.anew[v]; isAnew {
		w.anew[v] = max(was, end)
	}
	return was, isAnew
}

// behindHeader returns the part of p that belongs to the array, and where it belongs. p was written
// at off of a file with the header head. What was written to the header must be what is there.
func behindHeader(
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

// hideFrom lets a program that removes or replaces a tree believe that a file is gone, until the
// program makes it again. It is a group's document, which goes with its group, or the file of a
// derived view.
func (f *filesystem) hideFrom(ctx context.Context, path string, v view.View) error {
	f.traces.Hide(path, v, wire.Caller(ctx))
	return nil
}

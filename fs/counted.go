package fs

import (
	"context"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// leastLine is the bytes that the line of an element has at least: a digit, and the end of the line.
const leastLine = 2

// countedAttr sets the size of a view of an array whose elements have no fixed size. Counting may
// take long: a stat gives up after wait, with the least size that there may be, and the next one
// goes on where it stopped. That is not 0: tar does not open such a file, because it is empty. If
// toEnd is set, the size of an open file is waited for. The kernel is not to remember a size that
// is not known. That of an array of many objects may lag behind the store until it is opened.
func (f *filesystem) countedAttr(ctx context.Context, n *zarrcore.Node, v view.View, wait time.Duration, toEnd bool, a *fuse.Attr) (known bool, err error) {
	text, ok := v.(view.TextView)
	if n.Kind != zarrcore.ArrayNode || n.Err != nil || !zarrcore.IsVlen(n.Meta) || !ok {
		return true, nil
	}
	arr, err := f.h.SizeVlen(ctx, n.Path)
	if err != nil {
		a.Mode &^= writableBits
		return true, nil // opening the file says why
	}
	if arr.Writable() != nil || !text.Accepts(arr.Kind()) {
		a.Mode &^= writableBits
	}
	w := f.wholes.find(n.Path, v)
	toEnd = toEnd && (w != nil || arr.InUse())
	size, ok, err := countedSize(ctx, arr, text, w, wait, toEnd)
	if err != nil {
		return true, err
	}
	a.Size, a.Blocks = uint64(size), f.charge(n, v, size)
	return toEnd || ok && !arr.Large(), nil
}

// countedSize returns the size of a view of an array, at the end of counting if toEnd is set.
// Otherwise ok reports whether it was known after wait. w is the file as programs are writing it;
// nil: none does. A file that the array cannot be shown as has size 0.
func countedSize(ctx context.Context, arr *zarrcore.VlenArray, text view.TextView, w *whole, wait time.Duration, toEnd bool) (size int64, ok bool, err error) {
	if w != nil {
		if size, ok := w.replacing(); ok {
			return size, true, nil
		}
	}
	var found zarrcore.Count
	if toEnd {
		found, err = arr.Count(ctx)
	} else if found, ok = arr.CountWithin(ctx, wait); !ok {
		found = zarrcore.Count{Lines: leastLine * arr.Len(), Width: 1}
	}
	if err != nil {
		return 0, false, err
	}
	if size, err = text.Counted(arr, found); err != nil {
		return 0, true, nil
	}
	if w != nil {
		size = w.attr(size)
	}
	return size, ok, nil
}

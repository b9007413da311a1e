package inode

import (
	"context"
	"errors"
	iofs "io/fs"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/texts"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// Stored sets st_blocks and the time to what the array's objects in the store say, if that can
// be found out soon. Otherwise the time is that of what was seen soon.
func (f *Attributes) Stored(
	ctx context.Context, n *zarrcore.Node, v view.View, wait time.Duration, a *fuse.Attr,
) (known bool) {
	if n.Kind != zarrcore.ArrayNode || v == view.Document || view.IsComposite(v) {
		return true
	}
	var s stat.Taken
	isCounted := n.Err == nil && a.Size > 0 && !f.H.IsRemote() // there each array takes a listing
	if isCounted {
		s, known = f.Stat.Taken(ctx, n, wait)
	}
	if known {
		a.Blocks = f.charge(n, v, s.Bytes)
	}
	if at := f.Stat.DataTime(ctx, n, s, known); !at.IsZero() {
		a.SetTimes(&at, &at, &at)
	}
	return known || !isCounted
}

// Counted sets the size of a view of an array whose elements have no fixed size. Counting may
// take long: a stat gives up after wait, with the least size that there may be, and the next one
// goes on where it stopped. If toEnd is set, the size of an open file is waited for. The kernel is
// not to remember a size that is not known. That of an array of many objects may lag behind the
// store until it is opened. In a remote store only an array that is open is counted.
func (f *Attributes) Counted(
	ctx context.Context, n *zarrcore.Node, v view.View, wait time.Duration, toEnd bool,
	a *fuse.Attr,
) (known bool, err error) {
	if many, ok := v.(view.CompositeView); ok {
		return true, f.composite(ctx, n, many, a)
	}
	text, ok := v.(view.TextView)
	if n.Kind != zarrcore.ArrayNode || n.Err != nil || !zarrcore.IsVlen(n.Meta) || !ok {
		return true, nil
	}
	if f.H.IsRemote() && !f.H.IsVlenInUse(n.Path) { // it would be downloaded
		a.Size = uint64(stat.LeastLines(n.Meta))
		a.Blocks = f.charge(n, v, int64(a.Size))
		return false, nil
	}
	arr, err := f.H.SizeVlen(ctx, n.Path)
	if err != nil {
		a.Mode &^= rights.Writable
		return true, nil // opening the file says why
	}
	if arr.Writable() != nil || !text.Accepts(arr.Kind()) {
		a.Mode &^= rights.Writable
	}
	w := f.Texts.Find(n.Path, v)
	toEnd = toEnd && (w != nil || arr.IsInUse())
	size, ok, err := countedSize(ctx, arr, text, w, wait, toEnd)
	if err != nil {
		return true, err
	}
	a.Size, a.Blocks = uint64(size), f.charge(n, v, size)
	return toEnd || ok && !arr.IsLarge(), nil
}

// countedSize returns the size of a view of an array, at the end of counting if toEnd is set.
// Otherwise ok reports whether it was known after wait. w is the file as programs are writing it;
// nil: none does. A file that the array cannot be shown as has size 0.
func countedSize(
	ctx context.Context, arr *zarrcore.VlenArray, text view.TextView, w *texts.File,
	wait time.Duration, toEnd bool,
) (size int64, ok bool, err error) {
	if w != nil {
		if size, ok := w.Replacing(); ok {
			return size, true, nil
		}
	}
	found, ok, err := stat.Counted(ctx, arr, wait, toEnd)
	if err != nil {
		return 0, false, err
	}
	if size, err = text.Counted(arr, found); err != nil {
		return 0, true, nil
	}
	if w != nil {
		size = w.Attr(size)
	}
	return size, ok, nil
}

// composite sets the size of a composite file. Its time is that of the node.
func (f *Attributes) composite(
	ctx context.Context, n *zarrcore.Node, v view.CompositeView, a *fuse.Attr,
) error {
	if size, ok := f.OpenSize(n.Path, v); ok {
		a.Size = uint64(size)
		return nil
	}
	size, err := f.Composites.Sizes.Of(ctx, f.H, v, n.Path)
	if errors.Is(err, iofs.ErrNotExist) || errors.Is(err, errno.ErrTooBig) {
		return err
	}
	if err != nil {
		a.Mode &^= rights.Writable
		return nil // opening the file says why
	}
	a.Size = uint64(size)
	return nil
}

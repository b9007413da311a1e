package fs

import (
	"cmp"
	"context"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/texts"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/writing"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// groupAttr fills in the attributes of the folder that shows a group.
func (f *filesystem) groupAttr(n *zarrcore.Node, mtime time.Time, a *fuse.Attr) {
	f.dirAttr(mtime, a)
	show(f.rights.OfFolder(n), a)
}

// dirAttr fills in a directory's attributes.
func (f *filesystem) dirAttr(mtime time.Time, a *fuse.Attr) {
	f.commonAttr(rights.Dir, mtime, a)
	a.Size = 4096
	a.Blksize = dirBlockSize
	a.Blocks = 8
}

// fileAttr fills in the attributes of one view of an array or group. A node whose size is unknown
// has size 0: opening it says why. before is the array as programs had written to it before n was
// read; nil: they had not. (If all of it was stored since, n may be older than that.)
func (f *filesystem) fileAttr(n *zarrcore.Node, v view.View, before *writing.Array, a *fuse.Attr) {
	f.commonAttr(rights.File, viewTime(n, v), a)
	show(f.rights.OfFile(n), a)
	size, err := v.Size(n)
	if err != nil {
		size = 0
	}
	if w := cmp.Or(f.writings.Find(n.Path), before); w != nil {
		if now, ok := w.Size(v); ok {
			size = now
		}
	}
	if d := f.documents.Find(n.Path); d != nil && v == view.Document {
		if now, changed := d.Text.Size(); changed {
			size = now
		}
	}
	if !v.Writable() || v != view.Document && n.Meta != nil && n.Writable() != nil {
		a.Mode &^= rights.Writable
	}
	a.Size = uint64(size)
	a.Blksize = blockSize
	a.Blocks = f.charge(n, v, size)
}

// viewTime returns the time of a view, as far as the node and its directory tell.
func viewTime(n *zarrcore.Node, v view.View) time.Time {
	if n.Kind == zarrcore.ArrayNode && v != view.Document {
		return n.DataTime()
	}
	return n.ModTime
}

// charge returns st_blocks of a view of an array that takes so many bytes. Only one view has them,
// so that du counts each array once. The others have one block, not zero: tar -S takes a file
// without blocks for one of zeros.
func (f *filesystem) charge(n *zarrcore.Node, v view.View, bytes int64) uint64 {
	if n.Kind == zarrcore.ArrayNode && v != view.Document && v != f.charged(n) {
		bytes = min(bytes, 1)
	}
	return blocks(bytes)
}

// charged returns the view to which the bytes of an array are counted: the first that is listed and
// is not the document, or the first of all if no such view is listed.
func (f *filesystem) charged(n *zarrcore.Node) view.View {
	array := view.Described(n.Meta)
	for _, v := range f.names.ViewsOf(array) {
		if v != view.Document {
			return v
		}
	}
	for _, v := range view.All() {
		if v != view.Document && view.Shows(v, array) {
			return v
		}
	}
	return nil
}

func (f *filesystem) commonAttr(mode uint32, mtime time.Time, a *fuse.Attr) {
	show(f.rights.OfMount(mode), a)
	a.Nlink = 1
	if mtime.IsZero() {
		mtime = f.started
	}
	a.SetTimes(&mtime, &mtime, &mtime)
}

// show sets a mode and an owner.
func show(s rights.Shown, a *fuse.Attr) {
	a.Mode, a.Owner = s.Mode, fuse.Owner{Uid: s.UID, Gid: s.GID}
}

// blocks returns st_blocks, which counts 512 bytes each, of so many bytes.
func blocks(n int64) uint64 { return uint64(n)/512 + min(uint64(n)%512, 1) }

// storedAttr sets st_blocks and the time to what the array's objects in the store say, if that can
// be found out soon. Otherwise the time is that of what was seen soon.
func (f *filesystem) storedAttr(ctx context.Context, n *zarrcore.Node, v view.View, wait time.Duration, a *fuse.Attr) (known bool) {
	if n.Kind != zarrcore.ArrayNode || v == view.Document || view.IsComposite(v) {
		return true
	}
	var s stat.Taken
	isCounted := n.Err == nil && a.Size > 0 && !f.h.IsRemote() // there each array takes a listing
	if isCounted {
		s, known = f.stat.Taken(ctx, n, wait)
	}
	if known {
		a.Blocks = f.charge(n, v, s.Bytes)
	}
	if at := f.stat.DataTime(ctx, n, s, known); !at.IsZero() {
		a.SetTimes(&at, &at, &at)
	}
	return known || !isCounted
}

// countedAttr sets the size of a view of an array whose elements have no fixed size. Counting may
// take long: a stat gives up after wait, with the least size that there may be, and the next one
// goes on where it stopped. If toEnd is set, the size of an open file is waited for. The kernel is
// not to remember a size that is not known. That of an array of many objects may lag behind the
// store until it is opened. In a remote store only an array that is open is counted.
func (f *filesystem) countedAttr(ctx context.Context, n *zarrcore.Node, v view.View, wait time.Duration, toEnd bool, a *fuse.Attr) (known bool, err error) {
	if many, ok := v.(view.CompositeView); ok {
		return true, f.compositeAttr(ctx, n, many, a)
	}
	text, ok := v.(view.TextView)
	if n.Kind != zarrcore.ArrayNode || n.Err != nil || !zarrcore.IsVlen(n.Meta) || !ok {
		return true, nil
	}
	if f.h.IsRemote() && !f.h.IsVlenInUse(n.Path) { // it would be downloaded
		a.Size = uint64(stat.LeastLines(n.Meta))
		a.Blocks = f.charge(n, v, int64(a.Size))
		return false, nil
	}
	arr, err := f.h.SizeVlen(ctx, n.Path)
	if err != nil {
		a.Mode &^= rights.Writable
		return true, nil // opening the file says why
	}
	if arr.Writable() != nil || !text.Accepts(arr.Kind()) {
		a.Mode &^= rights.Writable
	}
	w := f.wholes.Find(n.Path, v)
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
func countedSize(ctx context.Context, arr *zarrcore.VlenArray, text view.TextView, w *texts.File, wait time.Duration, toEnd bool) (size int64, ok bool, err error) {
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

package fs

import (
	"context"
	"errors"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/zarrcore"
)

// errUncounted says that the size of a file is known only after counting the array, which decodes
// all of it.
var errUncounted = errors.New("the array has not been counted")

// uncounted is a content whose size is known only after counting.
type uncounted interface {
	count(ctx context.Context) error
}

// countedAttr sets the size of a view of an array whose elements have no fixed size. Counting may
// take long: a stat gives up after wait, with size 0, and the next one goes on where it stopped. A
// program that has opened the file is not shown such a size: it waits.
func (f *filesystem) countedAttr(ctx context.Context, n *zarrcore.Node, v view, wait time.Duration, a *fuse.Attr) (known bool, err error) {
	text, ok := v.(textView)
	if n.Kind != zarrcore.ArrayNode || n.Err != nil || !zarrcore.IsVlen(n.Meta) || !ok {
		return true, nil
	}
	arr, err := f.h.OpenVlen(ctx, n.Path)
	if err != nil {
		a.Mode &^= writableBits
		return true, nil // opening the file says why
	}
	if arr.Writable() != nil || !text.accepts(arr.Kind()) {
		a.Mode &^= writableBits
	}
	inUse := arr.InUse()
	if !inUse {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, wait)
		defer stop()
	}
	found, err := arr.Count(ctx)
	if err != nil && inUse {
		return true, err
	}
	if err != nil {
		return false, nil
	}
	size, err := text.counted(arr, found)
	if err != nil {
		return true, nil
	}
	if w := f.wholes.find(n.Path, v); w != nil {
		size = w.attr(size)
	}
	a.Size, a.Blocks = uint64(size), f.charge(n, v, size)
	return true, nil
}

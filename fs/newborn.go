package fs

import (
	"context"
	"sync"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"

	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/fs/writing"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// newborn is a writable handle of a .npy file that has no array yet: the header that is written to
// it makes one.
type newborn struct {
	*writer
	awaited *transient.File // stands for the array
}

var _ = (gofuse.FileReleaser)((*newborn)(nil))

// openNewborn opens a .npy file that was created and has no array yet. It returns nil for other
// files.
func (n *fileNode) openNewborn(ctx context.Context, v view.ArrayView) gofuse.FileHandle {
	x := n.hold()
	if x == nil {
		return nil
	}
	f, by := n.fs, wire.Caller(ctx)
	w := f.writings.Open(n.path, nil, v)
	if w.Live() == nil && w.Awaiting(v) == nil {
		w.Await(func(ctx context.Context, shape []int64, t dtype.Type, fortran bool) (*zarrcore.Array, error) {
			return f.sites.CreateAt(w.Path, func(path string) (*zarrcore.Array, error) {
				return f.creation.ByHeader(ctx, path, by, shape, t, fortran)
			})
		})
	}
	n.use().writers.Add(1)
	f.count.Opens.Add(1)
	f.count.OpenWrite.Add(1)
	h := newHandle(n, &unborn{view: v, writing: w})
	h.direct = true
	return &newborn{&writer{h, writing.NewHandle(w, v, n, by)}, x}
}

// Release ends the handle. With the last handle goes a file that was written and did not become an
// array. An empty one waits for a program that writes it.
func (h *newborn) Release(ctx context.Context) syscall.Errno {
	if h.content.Array() == nil {
		h.node.reading().Released(false)
	}
	size, _ := h.Of.Size(h.View)
	errno := h.writer.Release(ctx)
	h.node.letGo(h.awaited, size > 0 && h.Of.Live() == nil)
	return errno
}

// unborn is the content of such a handle: nothing until there is an array, and then what that has.
type unborn struct {
	view    view.ArrayView
	writing *writing.Array

	mu   sync.Mutex
	born *view.Flat
}

// flat returns what the array has, nil as long as there is none.
func (c *unborn) flat() (*view.Flat, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if arr := c.writing.Live(); c.born == nil && arr != nil {
		born, err := view.NewFlat(c.view, arr)
		if err != nil {
			return nil, err
		}
		c.born = born
	}
	return c.born, nil
}

func (c *unborn) Size() int64 {
	size, _ := c.writing.Size(c.view)
	return size
}

func (c *unborn) Array() *zarrcore.Array { return c.writing.Live() }

// Rights: nothing of it was read from objects.
func (c *unborn) Rights() store.Rights { return store.Rights{} }

func (c *unborn) Read(ctx context.Context, off, n int64) (*view.Found, error) {
	born, err := c.flat()
	if err != nil || born == nil {
		return &view.Found{}, err
	}
	return born.Read(ctx, off, n)
}

func (c *unborn) NextData(ctx context.Context, off int64) (start, end int64, err error) {
	born, err := c.flat()
	if err != nil || born == nil {
		return off, c.Size(), err
	}
	return born.NextData(ctx, off)
}

func (c *unborn) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.born != nil {
		c.born.Close()
	}
}

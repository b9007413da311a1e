package fs

import (
	"context"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"

	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/fs/writing"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// headerless is a writable handle of a .npy file that has no array yet: the header that is written
// to it makes one.
type headerless struct {
	*writer
	awaited *transient.File // stands for the array
}

var _ = (gofuse.FileReleaser)((*headerless)(nil))

// openHeaderless opens a .npy file that was created and has no array yet. It returns nil for other
// files.
func (n opening) openHeaderless(v view.ArrayView) gofuse.FileHandle {
	x := n.hold()
	if x == nil {
		return nil
	}
	f, by := n.fs, wire.Caller(n.ctx)
	w := f.writings.Open(n.path, nil, v)
	if w.Live() == nil && w.Awaiting(v) == nil {
		w.ExpectHeader(func(ctx context.Context, shape []int64, t dtype.Type,
			fortran bool) (*zarrcore.Array, error) {
			return f.sites.CreateAt(w.Path, func(path string) (*zarrcore.Array, error) {
				return f.creation.ByHeader(ctx, path, by, shape, t, fortran)
			})
		})
	}
	n.use().writers.Add(1)
	f.count.Opens.Add(1)
	f.count.OpenWrite.Add(1)
	h := newHandle(n.fileNode, writing.Headerless(w, v))
	h.direct, h.writes = true, true
	return &headerless{&writer{handle: h, Handle: writing.NewHandle(w, v, n.fileNode, by)}, x}
}

// Release ends the handle. The last handle removes a file that was written and did not become an
// array. An empty one waits for a program that writes it.
func (h *headerless) Release(ctx context.Context) syscall.Errno {
	if h.array() == nil {
		h.node.use().habit.Released(false)
	}
	size, _ := h.Of.Size(h.View)
	errno := h.writer.Release(ctx)
	h.node.letGo(h.awaited, size > 0 && h.Of.Live() == nil)
	return errno
}

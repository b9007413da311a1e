package fs

import (
	"context"
	"syscall"
	"time"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

var _ = (gofuse.NodeMknoder)((*groupNode)(nil))

// Mknod makes a file, as tar does that has extended attributes to set before it opens the file. It
// makes no pipes, sockets or devices.
func (g *groupNode) Mknod(
	ctx context.Context, name string, mode, _ uint32, out *fuse.EntryOut,
) (*gofuse.Inode, syscall.Errno) {
	if kind := mode & syscall.S_IFMT; kind != syscall.S_IFREG && kind != 0 {
		return nil, g.refuse("mknod", name, "a store holds groups and arrays, no pipes, "+
			"sockets or devices; make it in another folder")
	}
	inode, handle, flags, errno := g.Create(ctx, name, syscall.O_WRONLY, mode, out)
	if errno != 0 {
		return nil, errno
	}
	made := &madeFile{handle.(gofuse.FileReleaser), flags}
	if n, ok := inode.Operations().(*fileNode); ok {
		n.keepMade(made)
	} else {
		made.handle.Release(ctx)
	}
	return inode, 0
}

// madeFile is a view that was made by mknod(2). It is empty, though its array may have bytes, until
// it is opened: so it has a handle, which the first program gets that opens it to write.
type madeFile struct {
	handle gofuse.FileReleaser
	flags  uint32 // FOPEN_*
}

// madeFor is how long a program may take from its mknod(2) to its open(2).
const madeFor = 10 * time.Second

// keepMade keeps the handle until a program opens the file.
func (n *fileNode) keepMade(made *madeFile) {
	if old := n.use().made.Swap(made); old != nil {
		old.handle.Release(context.Background())
	}
	time.AfterFunc(madeFor, func() {
		if n.use().made.CompareAndSwap(made, nil) {
			made.handle.Release(context.Background())
		}
	})
}

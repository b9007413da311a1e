package fs

import (
	"context"
	"errors"
	iofs "io/fs"
	"strings"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/fs/xattr"
	"github.com/zarrfs/zarrfs/zarrcore"
)

var (
	_ = (gofuse.NodeGetxattrer)((*groupNode)(nil))
	_ = (gofuse.NodeListxattrer)((*groupNode)(nil))
	_ = (gofuse.NodeGetxattrer)((*fileNode)(nil))
	_ = (gofuse.NodeListxattrer)((*fileNode)(nil))
)

// Getxattr returns one item of the node's metadata.
func (b *base) Getxattr(ctx context.Context, attr string, dest []byte) (uint32, syscall.Errno) {
	if !strings.HasPrefix(attr, "user.zarr") {
		return 0, unix.ENODATA
	}
	n, errno := b.xattrNode(ctx)
	if refused := b.xattrsRefused(ctx, n); refused != 0 {
		return 0, refused
	}
	if attr == xattr.Error {
		return b.errorXattr(n, errno, dest)
	}
	if errno != 0 {
		return 0, errno
	}
	for _, x := range xattr.Of(n) {
		if x.Name == attr {
			return xattr.Copy(dest, x.Value(), xattr.SizeMax)
		}
	}
	return 0, unix.ENODATA
}

// errorXattr returns why the node, which may be gone, cannot be read or written, or was refused
// something. For a folder it also returns why something in it was refused. Only an error of reading
// is listed: a program that copies all listed attributes of a folder could not set this one.
func (b *base) errorXattr(n *zarrcore.Node, e syscall.Errno, dest []byte) (uint32, syscall.Errno) {
	var why error
	if e == 0 {
		why = n.Err
	} else if why = b.fs.Unsaved(b.path()); why == nil {
		why = b.fs.Failures.Of(b.path())
	}
	if last := b.fs.Failures.In(b.path()); b.EmbeddedInode().IsDir() && last != nil {
		why = last
	}
	switch {
	case why != nil:
	case e == 0:
		why = b.fs.rights.WhyNotWritten(n)
	default:
		why = b.fs.RemovedStore()
	}
	switch {
	case why != nil:
		return xattr.Copy(dest, []byte(errno.Reason(why)), xattr.SizeMax)
	case e != 0:
		return 0, e
	}
	return 0, unix.ENODATA
}

// xattrsRefused refuses the extended attributes to a user who may not read the documents, which
// they come from. n may be nil: the node is gone.
func (b *base) xattrsRefused(ctx context.Context, n *zarrcore.Node) syscall.Errno {
	if n == nil {
		return 0
	}
	return b.fs.Errors.Errno("xattr", n.Path, b.fs.rights.RefusesReading(rights.UserOf(ctx), n))
}

// Listxattr lists what Getxattr can return. To a user who may not read the documents it lists one
// name alone, which says nothing: ls warns of an error here, and a program that copies attributes
// is to learn from Getxattr that it may not.
func (b *base) Listxattr(ctx context.Context, dest []byte) (uint32, syscall.Errno) {
	n, errno := b.xattrNode(ctx)
	if errno != 0 {
		return 0, errno
	}
	all := xattr.Of(n)
	if b.fs.rights.RefusesReading(rights.UserOf(ctx), n) != nil {
		all = all[:1]
	}
	var list []byte
	for _, x := range all {
		if len(list)+len(x.Name)+1 <= xattr.ListMax {
			list = append(append(list, x.Name...), 0)
		}
	}
	return xattr.Copy(dest, list, xattr.ListMax)
}

// nodeWhereItIs returns the node of the store, also if that is just being renamed.
func (b *base) nodeWhereItIs(ctx context.Context) (path string, n *zarrcore.Node, err error) {
	for {
		since := b.fs.sites.Now()
		path = b.path()
		n, err = b.fs.h.Node(ctx, path)
		if !errors.Is(err, iofs.ErrNotExist) || !since.HasMoved(b.path, path) {
			return path, n, err
		}
	}
}

func (b *base) xattrNode(ctx context.Context) (*zarrcore.Node, syscall.Errno) {
	req := b.fs.request(ctx)
	defer req.End()
	path, n, err := b.nodeWhereItIs(req)
	if err != nil {
		return nil, b.fs.Errors.Errno("getxattr", path, err)
	}
	if n.Kind == zarrcore.ArrayNode && n.Err == nil {
		n.Err = b.fs.h.Readable(req, b.path()) // a codec that is not known shows only here
	}
	if n.Err == nil {
		n.Err = b.fs.Unsaved(b.path())
	}
	if n.Err == nil && !b.EmbeddedInode().IsDir() {
		n.Err = b.fs.Failures.Of(n.Path)
	}
	return n, 0
}

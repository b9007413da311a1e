package requests

import (
	"context"
	"errors"
	iofs "io/fs"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/nodes"
	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/fs/xattr"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// Get returns one item of the node's metadata.
func (a *Attributes) Get(
	ctx context.Context, on *nodes.Node, attr string, dest []byte,
) (uint32, syscall.Errno) {
	if !strings.HasPrefix(attr, "user.zarr") {
		return 0, unix.ENODATA
	}
	n, errno := a.node(ctx, on)
	if refused := a.refused(ctx, n); refused != 0 {
		return 0, refused
	}
	if attr == xattr.Error {
		return a.reason(on, n, errno, dest)
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

// reason returns why the node, which may be gone, cannot be read or written, or was refused
// something. For a folder it also returns why something in it was refused. Only an error of reading
// is listed: a program that copies all listed attributes of a folder could not set this one.
func (a *Attributes) reason(
	on *nodes.Node, n *zarrcore.Node, e syscall.Errno, dest []byte,
) (uint32, syscall.Errno) {
	var why error
	if e == 0 {
		why = n.Err
	} else if why = a.Unsaved(on.Where()); why == nil {
		why = a.Failures.Of(on.Where())
	}
	if last := a.Failures.In(on.Where()); on.IsDir() && last != nil {
		why = last
	}
	switch {
	case why != nil:
	case e == 0:
		why = a.Rights.WhyNotWritten(n)
	default:
		why = a.RemovedStore()
	}
	switch {
	case why != nil:
		return xattr.Copy(dest, []byte(errno.Reason(why)), xattr.SizeMax)
	case e != 0:
		return 0, e
	}
	return 0, unix.ENODATA
}

// refused refuses the extended attributes to a user who may not read the documents, which
// they come from. n may be nil: the node is gone.
func (a *Attributes) refused(ctx context.Context, n *zarrcore.Node) syscall.Errno {
	if n == nil {
		return 0
	}
	return a.Errors.Errno("xattr", n.Path, a.Rights.RefusesReading(rights.UserOf(ctx), n))
}

// List lists what Get can return. To a user who may not read the documents it lists one name
// alone, which says nothing: ls warns of an error here. A program that copies attributes is to get
// its error from Get.
func (a *Attributes) List(
	ctx context.Context, on *nodes.Node, dest []byte,
) (uint32, syscall.Errno) {
	n, errno := a.node(ctx, on)
	if errno != 0 {
		return 0, errno
	}
	all := xattr.Of(n)
	if a.Rights.RefusesReading(rights.UserOf(ctx), n) != nil {
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
func (a *Attributes) nodeWhereItIs(
	ctx context.Context, on *nodes.Node,
) (path string, n *zarrcore.Node, err error) {
	for {
		since := a.Sites.Now()
		path = on.Where()
		n, err = a.H.Node(ctx, path)
		if !errors.Is(err, iofs.ErrNotExist) || !since.HasMoved(on.Where, path) {
			return path, n, err
		}
	}
}

// node reads the node whose attributes are asked for, with why it cannot be read or written.
func (a *Attributes) node(ctx context.Context, on *nodes.Node) (*zarrcore.Node, syscall.Errno) {
	req := wire.NewRequest(a.Ctx, ctx)
	defer req.End()
	path, n, err := a.nodeWhereItIs(req, on)
	if err != nil {
		return nil, a.Errors.Errno("getxattr", path, err)
	}
	if n.Kind == zarrcore.ArrayNode && n.Err == nil {
		n.Err = a.H.Readable(req, on.Where()) // a codec that is not known shows only here
	}
	if n.Err == nil {
		n.Err = a.Unsaved(on.Where())
	}
	if n.Err == nil && !on.IsDir() {
		n.Err = a.Failures.Of(n.Path)
	}
	return n, 0
}

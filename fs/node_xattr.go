package fs

import (
	"context"
	"encoding/json"
	"strings"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/zarrcore"
)

const (
	xattrZarr  = "user.zarr."
	xattrAttr  = "user.zarr.attr." // each attribute, as JSON
	xattrAxes  = "user.zarr.dimension_names"
	xattrError = "user.zarrfs.error" // why the data cannot be read, or what was written not stored or refused

	// The kernel's limits of one name, one value, and of all names of a file (with a NUL each).
	xattrNameMax = 255
	xattrSizeMax = 64 << 10
	xattrListMax = 64 << 10
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
	if attr == xattrError {
		return b.errorXattr(n, errno, dest)
	}
	if errno != 0 {
		return 0, errno
	}
	for _, x := range xattrs(n) {
		if x.name == attr {
			return copyXattr(dest, x.value(), xattrSizeMax)
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
	} else if why = b.fs.unsaved(b.path()); why == nil {
		why = b.fs.failures.of(b.path())
	}
	if last := b.fs.failures.in(b.path()); b.EmbeddedInode().IsDir() && last != nil {
		why = last
	}
	if why == nil && e == 0 {
		why = b.fs.whyNotWritten(n)
	}
	switch {
	case why != nil:
		return copyXattr(dest, []byte(errno.Reason(why)), xattrSizeMax)
	case e != 0:
		return 0, e
	}
	return 0, unix.ENODATA
}

// Listxattr lists what Getxattr can return.
func (b *base) Listxattr(ctx context.Context, dest []byte) (uint32, syscall.Errno) {
	n, errno := b.xattrNode(ctx)
	if errno != 0 {
		return 0, errno
	}
	var list []byte
	for _, x := range xattrs(n) {
		if len(list)+len(x.name)+1 <= xattrListMax {
			list = append(append(list, x.name...), 0)
		}
	}
	return copyXattr(dest, list, xattrListMax)
}

func (b *base) xattrNode(ctx context.Context) (*zarrcore.Node, syscall.Errno) {
	req := b.fs.request(ctx)
	defer req.End()
	n, err := b.fs.h.Node(req, b.path())
	if err != nil {
		return nil, b.fs.errors.Errno("getxattr", b.path(), err)
	}
	if n.Kind == zarrcore.ArrayNode && n.Err == nil {
		n.Err = b.fs.h.Readable(req, b.path()) // a codec that is not known shows only here
	}
	if n.Err == nil {
		n.Err = b.fs.unsaved(b.path())
	}
	if n.Err == nil && !b.EmbeddedInode().IsDir() {
		n.Err = b.fs.failures.of(n.Path)
	}
	return n, 0
}

// copyXattr answers as getxattr(2) does: an empty dest asks for the size.
func copyXattr(dest, value []byte, limit int) (uint32, syscall.Errno) {
	switch {
	case len(value) > limit:
		return 0, unix.E2BIG
	case len(dest) == 0:
		return uint32(len(value)), 0
	case len(value) > len(dest):
		return uint32(len(value)), unix.ERANGE
	}
	return uint32(copy(dest, value)), 0
}

// xattr is one extended attribute; its value is made when it is asked for.
type xattr struct {
	name  string
	value func() []byte
}

// xattrs returns the extended attributes of a node.
func xattrs(n *zarrcore.Node) []xattr {
	list := []xattr{
		{xattrZarr + "node", text(n.Kind.String())},
		{xattrZarr + "path", text("/" + n.Path)},
	}
	if n.Format != 0 {
		list = append(list, xattr{xattrZarr + "format", asJSON(n.Format)})
	}
	if n.Kind == zarrcore.ArrayNode && n.Meta != nil {
		list = append(list, arrayXattrs(n)...)
	}
	for name, v := range n.Attributes.Entries() {
		if full := xattrAttr + showXattr(name); len(full) <= xattrNameMax {
			list = append(list, xattr{full, v.Standard})
		}
	}
	list = append(list, settingXattrs(n)...)
	if n.Err != nil {
		list = append(list, xattr{xattrError, text(errno.Reason(n.Err))})
	}
	return list
}

func text(s string) func() []byte { return func() []byte { return []byte(s) } }

func asJSON(v any) func() []byte {
	return func() []byte {
		b, _ := json.Marshal(v)
		return b
	}
}

// showXattr makes an attribute's name fit for an xattr's, by the rules for file names, but '/' is
// allowed here.
func showXattr(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		if p != "" {
			parts[i] = names.Escape(p)
		}
	}
	return strings.Join(parts, "/")
}

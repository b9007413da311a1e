package fs

import (
	"context"
	"path"
	"strings"
	"syscall"
	"time"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// linkNode is a symbolic link. A link of the store to a group is shown as one of them. A link to an
// array is shown as one for each view of the array. The kernel follows it, so that an array has one
// path in the mount by whatever name a program comes to it.
type linkNode struct {
	base
	view view.View       // of the array that it leads to; nil: it leads to something else
	data *transient.File // one that the store does not have; nil: it has
}

var (
	_ = (gofuse.NodeReadlinker)((*linkNode)(nil))
	_ = (gofuse.NodeGetattrer)((*linkNode)(nil))
	_ = (gofuse.NodeSetattrer)((*linkNode)(nil))
	_ = (gofuse.NodeListxattrer)((*linkNode)(nil))
)

const (
	// outsideFile is the file of names.ControlDir to which links that leave the store seem to lead.
	// It never exists: such a link would lead to another thing for each program, or to one of
	// another machine.
	outsideFile = "outside"
)

// newLink makes the node of a link in the store.
func (b *base) newLink(ctx context.Context, t resolve.Target, id gofuse.StableAttr) *base {
	key := t.Key()
	n := &linkNode{base: base{fs: b.fs, place: identity.NewPlace(key)}, view: t.View}
	id.Mode = syscall.S_IFLNK
	b.NewInode(ctx, n, id)
	return &n.base
}

// newTransientLink makes the node of a link that the store does not have.
func (g *groupNode) newTransientLink(ctx context.Context, x *transient.File) *linkNode {
	key := x.Key()
	return g.fs.ids.inode(key, func(id gofuse.StableAttr) *base {
		n := &linkNode{base: base{fs: g.fs, place: identity.NewPlace(key)}, data: x}
		id.Mode = syscall.S_IFLNK
		g.NewInode(ctx, n, id)
		return &n.base
	}).Operations().(*linkNode)
}

// linkAttr fills in the attributes of a link with that text.
func (f *filesystem) linkAttr(text string, mtime time.Time, a *fuse.Attr) {
	f.commonAttr(0, mtime, a)
	a.Mode = syscall.S_IFLNK | 0o777
	a.Size = uint64(len(text))
}

// read returns the link's text and time, as the store has it now.
func (n *linkNode) read(ctx context.Context) (text string, mtime time.Time, errno syscall.Errno) {
	if n.place.IsGone() {
		return "", mtime, syscall.ESTALE // the kernel looks the name up again
	}
	if n.data != nil {
		return n.data.Link, n.fs.started, 0
	}
	req := n.fs.request(ctx)
	defer req.End()
	node, err := n.fs.h.Node(req, n.path())
	switch {
	case err != nil:
		return "", mtime, n.fs.errors.Errno("readlink", n.path(), err)
	case node.Kind != zarrcore.LinkNode:
		return "", mtime, syscall.ESTALE
	case node.Link.Text == "":
		// For the log: the link can be read, though it leads nowhere.
		n.fs.errors.Errno("readlink", n.path(), node.Link.Err)
	}
	return n.fs.linkText(req, node, n.view), node.ModTime, 0
}

// Readlink says where the link leads.
func (n *linkNode) Readlink(ctx context.Context) ([]byte, syscall.Errno) {
	text, _, errno := n.read(ctx)
	return []byte(text), errno
}

// Getattr returns the time of the link itself.
func (n *linkNode) Getattr(ctx context.Context, _ gofuse.FileHandle, out *fuse.AttrOut) syscall.Errno {
	text, mtime, errno := n.read(ctx)
	n.fs.linkAttr(text, mtime, &out.Attr)
	return errno
}

// Setattr takes times and owners, and forgets them.
func (n *linkNode) Setattr(ctx context.Context, h gofuse.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	out.Ino = n.Number()
	return n.Getattr(ctx, h, out)
}

// Listxattr lists nothing: the kernel does not allow attributes of users on links.
func (n *linkNode) Listxattr(context.Context, []byte) (uint32, syscall.Errno) { return 0, 0 }

// linkText returns the text of a link as the mount shows it, by a view of the array that it leads
// to. It is the text in the store, with each name as it is shown, so that a copy of the link is the
// same.
func (f *filesystem) linkText(ctx context.Context, n *zarrcore.Node, v view.View) string {
	dir, _ := names.Split(n.Path)
	if n.Link.Text == "" {
		return strings.Repeat("../", names.Depth(dir)) + names.ControlDir + "/" + outsideFile
	}
	text := n.Link.Text
	if v == nil {
		return names.ShowLink(text)
	}
	if name := path.Base(text); name == "." || name == ".." {
		text = names.Relative(dir, n.Link.Target)
	}
	text = strings.TrimRight(text, "/")
	shown := names.File(names.ShowLink(text), v.Name())
	group, name := names.Split(n.Link.Target)
	first := names.File(names.Show(name), v.Name())
	if n.Link.Err == nil && f.names.Hides(ctx, group, first) && name == path.Base(text) {
		shown = names.Second(names.ShowLink(text), v.Name())
	}
	return shown
}

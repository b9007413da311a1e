package fs

import (
	"cmp"
	"context"
	"fmt"
	iofs "io/fs"
	"syscall"
	"time"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/nodes"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
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
	_ = (gofuse.NodeSymlinker)((*groupNode)(nil))
	_ = (gofuse.NodeReadlinker)((*linkNode)(nil))
	_ = (gofuse.NodeGetattrer)((*linkNode)(nil))
	_ = (gofuse.NodeSetattrer)((*linkNode)(nil))
	_ = (gofuse.NodeListxattrer)((*linkNode)(nil))
)

// newLink makes the node of a link in the store.
func (b *base) newLink(ctx context.Context, t resolve.Target, id gofuse.StableAttr) *nodes.Node {
	key := t.Key()
	n := &linkNode{base: newBase(b.fs, key), view: t.View}
	id.Mode = syscall.S_IFLNK
	b.NewInode(ctx, n, id)
	return &n.Node
}

// newTransientLink makes the node of a link that the store does not have.
func (g *groupNode) newTransientLink(ctx context.Context, x *transient.File) *linkNode {
	key := x.Key()
	return g.fs.ids.Inode(key, func(id gofuse.StableAttr) *nodes.Node {
		n := &linkNode{base: newBase(g.fs, key), data: x}
		id.Mode = syscall.S_IFLNK
		g.NewInode(ctx, n, id)
		return &n.Node
	}).Operations().(*linkNode)
}

// read returns the link's text and time, as the store has it now.
func (n *linkNode) read(ctx context.Context) (text string, mtime time.Time, errno syscall.Errno) {
	if n.Place().IsGone() {
		return "", mtime, n.lookAgain(ctx)
	}
	if n.data != nil {
		return n.data.Link, n.fs.started, 0
	}
	req := n.fs.request(ctx)
	defer req.End()
	node, err := n.fs.h.Node(req, n.path())
	switch {
	case err != nil:
		return "", mtime, n.fs.Errors.Errno("readlink", n.path(), err)
	case node.Kind != zarrcore.LinkNode:
		return "", mtime, n.lookAgain(ctx)
	case node.Link.Text == "":
		// For the log: the link can be read, though it leads nowhere.
		n.fs.Errors.Errno("readlink", n.path(), node.Link.Err)
	}
	return n.fs.names.LinkText(req, node, n.view), node.ModTime, 0
}

// Readlink says where the link leads.
func (n *linkNode) Readlink(ctx context.Context) ([]byte, syscall.Errno) {
	text, _, errno := n.read(ctx)
	return []byte(text), errno
}

// Getattr returns the time of the link itself.
func (n *linkNode) Getattr(
	ctx context.Context, _ gofuse.FileHandle, out *fuse.AttrOut,
) syscall.Errno {
	text, mtime, errno := n.read(ctx)
	n.fs.inodes.Link(text, mtime, &out.Attr)
	return errno
}

// Setattr takes times and owners, and forgets them.
func (n *linkNode) Setattr(
	ctx context.Context, h gofuse.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut,
) syscall.Errno {
	out.Ino = n.Number()
	return n.Getattr(ctx, h, out)
}

// Listxattr lists nothing: the kernel does not allow attributes of users on links.
func (n *linkNode) Listxattr(context.Context, []byte) (uint32, syscall.Errno) { return 0, 0 }

// Symlink makes a link in the store. A link to a file of an array is a link to the array, and then
// exists by all its views. A program that copies a tree and comes to the other links finds them
// made.
func (g *groupNode) Symlink(
	ctx context.Context, text, name string, out *fuse.EntryOut,
) (*gofuse.Inode, syscall.Errno) {
	dir, errno := g.here()
	if errno != 0 {
		return nil, errno
	}
	if name == names.ControlDir && g.IsRoot() {
		return nil, g.refuse("symlink", name, names.OwnFolder)
	}
	node, err := g.symlink(ctx, dir, text, name, out)
	if err != nil {
		return nil, g.fs.AnswerAt("symlink", dir, name, err)
	}
	g.listing.Changed()
	return node.EmbeddedInode(), 0
}

func (g *groupNode) symlink(
	ctx context.Context, dir, text, name string, out *fuse.EntryOut,
) (gofuse.InodeEmbedder, error) {
	f := g.fs
	to, err := f.names.ParseLink(f.ctx, dir, text)
	if err != nil {
		return nil, err
	}
	at, v, isView := f.names.Path(dir, name)
	switch {
	case to.View == nil && f.transients.Find(to.Group, to.Name) != nil:
		return g.symlinkOther(to, name, out)
	case to.View == nil:
		if at, err = g.newPath(name); err != nil {
			return nil, err
		}
	case name == groupFile:
		return nil, fmt.Errorf("%w: a group's document cannot be a link", syscall.EPERM)
	case isView && v != to.View:
		return nil, fmt.Errorf("%w: %s cannot lead to a .%s file; name the link %s",
			iofs.ErrInvalid, name, to.View.Name(), view.FileOf(at, to.View))
	case !isView:
		if err := f.names.Misnamed(name, isView); err != nil {
			return nil, err
		}
		return g.symlinkOther(to, name, out)
	}
	defer f.sites.Lock(at)()
	if err := f.links.Put(at, to, wire.Caller(ctx), false); err != nil {
		return nil, err
	}
	n, err := f.h.Node(f.ctx, at)
	if err == nil && n.Kind != zarrcore.LinkNode {
		err = iofs.ErrExist
	}
	if err != nil {
		return nil, err
	}
	t := resolve.Target{Node: n, View: to.View}
	f.inodes.Entry(f.ctx, t, false, out)
	return g.inodeFor(ctx, t).Operations(), nil
}

// symlinkOther makes a link that the store cannot have: its own name is not a view's, or it leads
// to a transient. It may be renamed onto a view, and otherwise is kept when the mount ends.
func (g *groupNode) symlinkOther(
	to resolve.LinkTarget, name string, out *fuse.EntryOut,
) (gofuse.InodeEmbedder, error) {
	f := g.fs
	if err := cmp.Or(f.libraries.OfStore(name), f.transients.RefusesName(name)); err != nil {
		return nil, err
	}
	x, err := f.transients.MakeLink(g.path(), name, to.Shown)
	if err != nil {
		return nil, err
	}
	f.transients.SayLater(x)
	f.inodes.Link(x.Link, f.started, &out.Attr)
	return g.newTransientLink(f.ctx, x), nil
}

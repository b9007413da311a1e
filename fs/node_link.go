package fs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"syscall"
	"time"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/nodes"
	"github.com/zarrfs/zarrfs/fs/program"
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

// linkAttr fills in the attributes of a link with that text.
func (f *filesystem) linkAttr(text string, mtime time.Time, a *fuse.Attr) {
	f.commonAttr(0, mtime, a)
	a.Mode = syscall.S_IFLNK | 0o777
	a.Size = uint64(len(text))
}

// read returns the link's text and time, as the store has it now.
func (n *linkNode) read(ctx context.Context) (text string, mtime time.Time, errno syscall.Errno) {
	if n.Place().IsGone() {
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
		return "", mtime, n.fs.Errors.Errno("readlink", n.path(), err)
	case node.Kind != zarrcore.LinkNode:
		return "", mtime, syscall.ESTALE
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
	if err := f.putLink(at, to, wire.Caller(ctx), false); err != nil {
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
	f.entry(f.ctx, t, false, out)
	return g.inodeFor(ctx, t).Operations(), nil
}

// symlinkOther makes a link that the store cannot have: its own name is not a view's, or it leads to
// a transient. It may be renamed onto a view, and otherwise is kept when the mount ends.
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
	f.linkAttr(x.Link, f.started, &out.Attr)
	return g.newTransientLink(f.ctx, x), nil
}

// putLink makes a link at path. A link may be there already by another view of the same array. To a
// program that has not met it by this view, it is the same link.
func (f *filesystem) putLink(
	at string, to resolve.LinkTarget, by program.Process, replace bool,
) error {
	if err := f.vacate(f.ctx, at); err != nil {
		return err
	}
	err := f.h.CreateLink(f.ctx, at, to.Text, replace)
	switch {
	case err == nil:
		f.endEmpty(at)
		trace := f.traces.Of(at)
		f.gone(at)
		f.traces.Put(at, trace) // of a process that makes the link by each of its names
	case errors.Is(err, iofs.ErrExist) && f.joinsLink(at, to, by):
	default:
		return err
	}
	f.unlinked.Restore(at, to.View)
	f.traces.Made(at, to.View, by)
	return nil
}

// joinsLink reports whether the link that a process makes exists already by another view, and not
// yet by this one.
func (f *filesystem) joinsLink(at string, to resolve.LinkTarget, by program.Process) bool {
	if to.View == nil || !f.traces.Of(at).Lacks(by, to.View) && !f.unlinked.Has(at, to.View) {
		return false
	}
	n, err := f.h.Node(f.ctx, at)
	return err == nil && n.Kind == zarrcore.LinkNode && n.Link.Text == to.Text
}

// endEmpty ends empty files that wait for an array at path, where a link is now. tar makes such
// files in the place of links, which it makes last.
func (f *filesystem) endEmpty(at string) {
	dir, _ := names.Split(at)
	for _, v := range view.Keeping() {
		if x := f.transients.Find(dir, view.FileOf(at, v)); x != nil && x.Link == "" && x.Size() == 0 {
			f.transients.End(x)
		}
	}
}

// unlinkLink removes a link, and never what it leads to. A link to an array has several names, as
// the array has, and goes with the last listed name. A link that leads nowhere goes at once.
func (f *filesystem) unlinkLink(ctx context.Context, t resolve.Target) error {
	at, broken := t.Node.Path, t.Node.Link.Err != nil
	defer f.sites.Lock(at)()
	if t.View != nil && !broken && !f.unlinked.Add(at, t.View, f.names.Listed(t.Node)&view.Keepers()) {
		return nil
	}
	if err := f.removeLink(at); err != nil {
		f.unlinked.Restore(at, t.View)
		return err
	}
	if t.View != nil && broken {
		f.traces.Unlinked(at, t.View, wire.Caller(ctx))
	}
	return nil
}

// unlinkLeft removes a name that is left to the program that has removed its link, or the array of
// which it was a derived name.
func (f *filesystem) unlinkLeft(ctx context.Context, dir, name string) bool {
	path, v, ok := f.names.Former(dir, name)
	if !ok || !f.traces.Of(path).Leaves(ctx, v) {
		return false
	}
	f.traces.Leave(path, v)
	return true
}

// link moves a link that the store has, by one of its names.
func (r *renaming) link(t resolve.Target) (err error) {
	to := r.path
	switch {
	case t.View == nil:
		to, err = r.dir.newPath(r.to.Name)
	case !r.isView || r.view != t.View:
		err = fmt.Errorf("%w: %s is a link to the file of an array, and %s would not be one: "+
			"expected a name that ends in .%s",
			syscall.EPERM, r.from.Name, r.to.Name, t.View.Name())
	}
	if err != nil || to == t.Node.Path {
		return err
	}
	listed := r.f.names.Listed(t.Node)
	if err := r.node(t.Node.Path, to, t.Key()); err != nil || t.View == nil {
		return err
	}
	r.f.traces.Renamed(t.Node.Path, to, t.View, listed, 0, r.by)
	return nil
}

// transientLink renames a link that the store does not have: onto a view, by which the store has it
// then, or to another such name.
func (r *renaming) transientLink(x *transient.File) error {
	if !r.isView {
		return r.stay(x)
	}
	to, err := r.f.names.ParseLink(r.f.ctx, r.to.Dir, x.Link)
	if err == nil && to.View != r.view {
		err = fmt.Errorf("%w: a link to %q cannot become %s", errno.ErrContent, x.Link, r.to.Name)
	}
	if err == nil {
		err = r.f.putLink(r.path, to, r.by, r.replace)
	}
	if err != nil {
		return err
	}
	r.f.transients.End(x)
	go r.dir.NotifyEntry(r.to.Name) // the kernel takes the node of the old name for that of the new one
	return nil
}

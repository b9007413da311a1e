package fs

import (
	"context"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/inode"
	"github.com/zarrfs/zarrfs/fs/nodes"
	"github.com/zarrfs/zarrfs/fs/resolve"
)

// base is what all nodes of the mount share.
type base struct {
	nodes.Node
	fs *filesystem
}

var (
	_ = (gofuse.NodeStatfser)((*base)(nil))
	_ = (gofuse.NodeOnForgetter)((*base)(nil))
)

// newBase returns what a node shares that shows what the key names.
func newBase(f *filesystem, key identity.Key) base { return base{Node: nodes.New(key), fs: f} }

// path returns the path of the node's group or array in the hierarchy.
func (b *base) path() string { return b.Where() }

// OnForget ends the node: the kernel does not know it any more. That request may come late, when
// the kernel has got the node again: for a file that was removed and created again at once. So a
// node with handles stays, and ends with the last of them.
func (b *base) OnForget() { b.fs.ids.Forget(&b.Node) }

// opened counts a handle.
func (b *base) opened() {
	b.fs.count.OpenFiles.Add(1)
	b.Place().Enter()
	b.fs.ids.Keep(&b.Node)
}

// closed is the opposite of opened. A node without a name is one that the kernel has forgotten.
func (b *base) closed() {
	b.fs.count.OpenFiles.Add(-1)
	if !b.Place().Leave() {
		return
	}
	if _, dir := b.Parent(); dir == nil {
		b.fs.ids.Forget(&b.Node)
	}
}

// Statfs returns the space of the store's own file system, if it has one.
func (b *base) Statfs(ctx context.Context, out *fuse.StatfsOut) syscall.Errno {
	*out = inode.Statfs(b.fs.o.Folder)
	return 0
}

// inodeFor returns the kernel's inode of a target.
func (b *base) inodeFor(ctx context.Context, t resolve.Target) *gofuse.Inode {
	key := t.Key()
	return b.fs.ids.Inode(key, func(id gofuse.StableAttr) *nodes.Node {
		if t.IsLink() {
			return b.newLink(ctx, t, id)
		}
		if t.View == nil {
			id.Mode = syscall.S_IFDIR
			n := &groupNode{base: newBase(b.fs, key)}
			b.NewInode(ctx, n, id)
			return &n.Node
		}
		id.Mode = syscall.S_IFREG
		n := &fileNode{base: newBase(b.fs, key), view: t.View}
		n.told.Store(unknownSize)
		b.NewInode(ctx, n, id)
		return &n.Node
	})
}

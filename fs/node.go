package fs

import (
	"context"
	"errors"
	iofs "io/fs"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/stat"
)

// base is what all nodes of the mount share.
type base struct {
	gofuse.Inode
	fs    *filesystem
	place identity.Place
}

var (
	_ = (gofuse.NodeStatfser)((*base)(nil))
	_ = (gofuse.NodeOnForgetter)((*base)(nil))
)

// nodes are those of a mount that the kernel knows. Its lock is innermost.
type nodes struct{ identity.Table[*base] }

// inode returns the inode of the file or folder key. If there is none yet, create makes it.
func (t *nodes) inode(key identity.Key, create func(gofuse.StableAttr) *base) *gofuse.Inode {
	n := t.Node(key, func(id identity.Identity) *base { return create(stableAttr(id)) })
	return n.EmbeddedInode()
}

// stableAttr returns an identity as go-fuse takes it.
func stableAttr(id identity.Identity) gofuse.StableAttr {
	return gofuse.StableAttr{Ino: id.Number, Gen: id.Generation}
}

// Place implements identity.Node.
func (b *base) Place() *identity.Place { return &b.place }

// Number returns the inode number. go-fuse fills it in in all answers but that to SETATTR, after
// which the kernel would show the number 0.
func (b *base) Number() uint64 { return b.StableAttr().Ino }

// common returns what all nodes share.
func (b *base) common() *base { return b }

// path returns the path of the node's group or array in the hierarchy.
func (b *base) path() string { return b.place.Key().Path }

// OnForget ends the node: the kernel does not know it any more. That request may come late, when
// the kernel has got the node again: for a file that was removed and created again at once. So a
// node with handles stays, and ends with the last of them.
func (b *base) OnForget() { b.fs.ids.Forget(b) }

// opened counts a handle.
func (b *base) opened() {
	b.fs.count.openFiles.Add(1)
	b.place.Enter()
	b.fs.ids.Keep(b)
}

// closed is the opposite of opened. A node without a name is one that the kernel has forgotten.
func (b *base) closed() {
	b.fs.count.openFiles.Add(-1)
	if !b.place.Leave() {
		return
	}
	if _, dir := b.Parent(); dir == nil {
		b.fs.ids.Forget(b)
	}
}

// Statfs returns the space of the store's own file system, if it has one.
func (b *base) Statfs(ctx context.Context, out *fuse.StatfsOut) syscall.Errno {
	var s syscall.Statfs_t
	if b.fs.o.Folder == "" || syscall.Statfs(b.fs.o.Folder, &s) != nil {
		*out = fuse.StatfsOut{Bsize: 4096, Frsize: 4096, NameLen: names.MaxEntry}
		return 0
	}
	out.FromStatfsT(&s)
	out.NameLen = names.MaxEntry
	return 0
}

// inodeFor returns the kernel's inode of a target.
func (b *base) inodeFor(ctx context.Context, t resolve.Target) *gofuse.Inode {
	key := t.Key()
	return b.fs.ids.inode(key, func(id gofuse.StableAttr) *base {
		if t.IsLink() {
			return b.newLink(ctx, t, id)
		}
		if t.View == nil {
			id.Mode = syscall.S_IFDIR
			n := &groupNode{base: base{fs: b.fs, place: identity.NewPlace(key)}}
			b.NewInode(ctx, n, id)
			return &n.base
		}
		id.Mode = syscall.S_IFREG
		n := &fileNode{base: base{fs: b.fs, place: identity.NewPlace(key)}, view: t.View}
		n.told.Store(unknownSize)
		b.NewInode(ctx, n, id)
		return &n.base
	})
}

// entry fills in the attributes of a target that was looked up, by a listing or by someone who
// asked for this file. It returns why there can be no such file.
func (f *filesystem) entry(
	ctx context.Context, t resolve.Target, listing bool, out *fuse.EntryOut,
) error {
	out.SetEntryTimeout(timeout)
	out.SetAttrTimeout(timeout)
	if t.IsLink() {
		out.SetEntryTimeout(0) // by what names it is shown depends on what it leads to
		f.linkAttr(f.names.LinkText(ctx, t.Node, t.View), t.Node.ModTime, &out.Attr)
		return nil
	}
	if t.View == nil {
		if t.Node.Err != nil { // it is shown without attributes
			f.Errors.Errno("lookup", t.Node.Path, t.Node.Err)
		}
		f.groupAttr(t.Node, f.groupStamp(ctx, t.Node).ModTime, &out.Attr)
		return nil
	}
	f.fileAttr(t.Node, t.View, nil, &out.Attr)
	wait := stat.Wait
	if listing {
		wait = stat.ListWait
	}
	known, err := f.countedAttr(ctx, t.Node, t.View, wait, false, &out.Attr)
	if errors.Is(err, errno.ErrTooBig) {
		f.Errors.Errno("lookup", t.Node.Path, err)
		return iofs.ErrNotExist
	}
	if !known {
		out.SetAttrTimeout(0)
	}
	if !f.storedAttr(ctx, t.Node, t.View, wait, &out.Attr) && listing {
		out.SetAttrTimeout(0) // the next request for it waits longer
	}
	return nil
}

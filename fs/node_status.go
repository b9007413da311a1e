package fs

import (
	"context"
	"fmt"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/inode"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/nodes"
	"github.com/zarrfs/zarrfs/fs/view"
)

// controlNode is the folder of the mount's own files.
type controlNode struct {
	base
}

// statusNode is the file that shows the mount's state.
type statusNode struct {
	base
}

var (
	_ = (gofuse.NodeLookuper)((*controlNode)(nil))
	_ = (gofuse.NodeGetattrer)((*controlNode)(nil))
	_ = (gofuse.NodeReaddirer)((*controlNode)(nil))
	_ = (gofuse.NodeGetattrer)((*statusNode)(nil))
	_ = (gofuse.NodeOpener)((*statusNode)(nil))

	_ = (gofuse.NodeMkdirer)((*controlNode)(nil))
	_ = (gofuse.NodeCreater)((*controlNode)(nil))
	_ = (gofuse.NodeMknoder)((*controlNode)(nil))
	_ = (gofuse.NodeSymlinker)((*controlNode)(nil))
	_ = (gofuse.NodeLinker)((*controlNode)(nil))
	_ = (gofuse.NodeRenamer)((*controlNode)(nil))
	_ = (gofuse.NodeUnlinker)((*controlNode)(nil))
	_ = (gofuse.NodeSetattrer)((*statusNode)(nil))
)

// control finds the folder of the mount's own files.
func (g lookup) control() (*gofuse.Inode, syscall.Errno) {
	g.fs.inodes.ControlDir(&g.out.Attr)
	g.out.SetEntryTimeout(inode.Timeout)
	key := identity.Of(names.ControlDir, names.ControlDir)
	return g.fs.ids.Inode(key, func(id gofuse.StableAttr) *nodes.Node {
		id.Mode = syscall.S_IFDIR
		c := &controlNode{newBase(g.fs, key)}
		g.NewInode(g.ctx, c, id)
		return &c.Node
	}), 0
}

// Getattr says that this is a directory.
func (c *controlNode) Getattr(
	_ context.Context, _ gofuse.FileHandle, out *fuse.AttrOut,
) syscall.Errno {
	c.fs.inodes.ControlDir(&out.Attr)
	return 0
}

// Lookup finds status.json.
func (c *controlNode) Lookup(
	ctx context.Context, name string, out *fuse.EntryOut,
) (*gofuse.Inode, syscall.Errno) {
	if name != statusFile {
		return nil, syscall.ENOENT
	}
	s := &statusNode{newBase(c.fs, identity.Of(names.ControlDir, statusFile))}
	s.attr(&out.Attr)
	return c.fs.ids.Inode(s.Place().Key(), func(id gofuse.StableAttr) *nodes.Node {
		id.Mode = syscall.S_IFREG
		c.NewInode(ctx, s, id)
		return &s.Node
	}), 0
}

// refuseOwn refuses a change of the folder of the mount's own files.
func (b *base) refuseOwn(op, name string) syscall.Errno {
	return b.fs.Answer(op, names.ControlDir,
		fmt.Errorf("%w: %q: %s", syscall.EPERM, names.Join(names.ControlDir, name),
			names.OwnFolder))
}

// Mkdir is refused, as all that follow: nothing is created, moved or removed here.
func (c *controlNode) Mkdir(
	_ context.Context, name string, _ uint32, _ *fuse.EntryOut,
) (*gofuse.Inode, syscall.Errno) {
	return nil, c.refuseOwn("mkdir", name)
}

// Create is refused.
func (c *controlNode) Create(
	_ context.Context, name string, _, _ uint32, _ *fuse.EntryOut,
) (*gofuse.Inode, gofuse.FileHandle, uint32, syscall.Errno) {
	return nil, nil, 0, c.refuseOwn("create", name)
}

// Mknod is refused.
func (c *controlNode) Mknod(
	_ context.Context, name string, _, _ uint32, _ *fuse.EntryOut,
) (*gofuse.Inode, syscall.Errno) {
	return nil, c.refuseOwn("mknod", name)
}

// Symlink is refused.
func (c *controlNode) Symlink(
	_ context.Context, _, name string, _ *fuse.EntryOut,
) (*gofuse.Inode, syscall.Errno) {
	return nil, c.refuseOwn("symlink", name)
}

// Link is refused.
func (c *controlNode) Link(
	_ context.Context, _ gofuse.InodeEmbedder, name string, _ *fuse.EntryOut,
) (*gofuse.Inode, syscall.Errno) {
	return nil, c.refuseOwn("link", name)
}

// Rename is refused.
func (c *controlNode) Rename(
	_ context.Context, name string, _ gofuse.InodeEmbedder, _ string, _ uint32,
) syscall.Errno {
	return c.refuseOwn("rename", name)
}

// Unlink is refused.
func (c *controlNode) Unlink(_ context.Context, name string) syscall.Errno {
	return c.refuseOwn("unlink", name)
}

// Readdir lists status.json.
func (c *controlNode) Readdir(context.Context) (gofuse.DirStream, syscall.Errno) {
	ino := identity.Of(names.ControlDir, statusFile).Number()
	return gofuse.NewListDirStream([]fuse.DirEntry{{Name: statusFile, Mode: syscall.S_IFREG,
		Ino: ino}}), 0
}

func (s *statusNode) attr(a *fuse.Attr) {
	s.fs.inodes.ControlFile(int64(len(s.fs.report.JSON())), a)
}

// Getattr returns the size that the file would have now.
func (s *statusNode) Getattr(
	_ context.Context, _ gofuse.FileHandle, out *fuse.AttrOut,
) syscall.Errno {
	s.attr(&out.Attr)
	return 0
}

// Setattr is refused if it would truncate or extend the file.
func (s *statusNode) Setattr(
	_ context.Context, _ gofuse.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut,
) syscall.Errno {
	if _, ok := in.GetSize(); ok {
		return s.refuseOwn("truncate", statusFile)
	}
	out.Ino = s.Number()
	s.attr(&out.Attr)
	return 0
}

// Open takes a snapshot of the state.
func (s *statusNode) Open(
	_ context.Context, flags uint32,
) (gofuse.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_ACCMODE != syscall.O_RDONLY {
		return nil, 0, s.refuseOwn("open", statusFile)
	}
	key := identity.Of(names.ControlDir, view.Document.Name())
	n := &fileNode{base: newBase(s.fs, key), view: view.Document}
	return newHandle(n, view.Snapshot(s.fs.report.JSON())),
		fuse.FOPEN_DIRECT_IO | fuse.FOPEN_NOFLUSH, 0
}

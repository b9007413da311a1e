package fs

import (
	"context"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// controlNode is the folder of the mount's own files.
type controlNode struct {
	base
}

// statusNode is the file that tells the mount's state.
type statusNode struct {
	base
}

var (
	_ = (gofuse.NodeLookuper)((*controlNode)(nil))
	_ = (gofuse.NodeGetattrer)((*controlNode)(nil))
	_ = (gofuse.NodeReaddirer)((*controlNode)(nil))
	_ = (gofuse.NodeGetattrer)((*statusNode)(nil))
	_ = (gofuse.NodeOpener)((*statusNode)(nil))
)

func (g *groupNode) lookupControl(ctx context.Context, out *fuse.EntryOut) (*gofuse.Inode, syscall.Errno) {
	g.fs.dirAttr(g.fs.started, &out.Attr)
	out.SetEntryTimeout(timeout)
	c := &controlNode{base{fs: g.fs}}
	return g.NewInode(ctx, c, g.fs.ids.of(syscall.S_IFDIR, controlDir, controlDir)), 0
}

// Getattr tells that this is a directory.
func (c *controlNode) Getattr(_ context.Context, _ gofuse.FileHandle, out *fuse.AttrOut) syscall.Errno {
	c.fs.dirAttr(c.fs.started, &out.Attr)
	return 0
}

// Lookup finds status.json.
func (c *controlNode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*gofuse.Inode, syscall.Errno) {
	if name != statusFile {
		return nil, syscall.ENOENT
	}
	s := &statusNode{base{fs: c.fs}}
	s.attr(&out.Attr)
	return c.NewInode(ctx, s, c.fs.ids.of(syscall.S_IFREG, controlDir, statusFile)), 0
}

// Readdir lists status.json.
func (c *controlNode) Readdir(context.Context) (gofuse.DirStream, syscall.Errno) {
	ino := inode(controlDir, statusFile)
	return gofuse.NewListDirStream([]fuse.DirEntry{{Name: statusFile, Mode: syscall.S_IFREG, Ino: ino}}), 0
}

func (s *statusNode) attr(a *fuse.Attr) {
	s.fs.commonAttr(fileMode, s.fs.started, a)
	a.Size = uint64(len(s.fs.statusJSON()))
	a.Blksize = 4096
}

// Getattr tells the size that the file would have now.
func (s *statusNode) Getattr(_ context.Context, _ gofuse.FileHandle, out *fuse.AttrOut) syscall.Errno {
	s.attr(&out.Attr)
	return 0
}

// Open takes a snapshot of the state.
func (s *statusNode) Open(context.Context, uint32) (gofuse.FileHandle, uint32, syscall.Errno) {
	return newHandle(&fileNode{base: base{fs: s.fs, path: controlDir}, view: jsonView{}}, snapshot(s.fs.statusJSON())),
		fuse.FOPEN_DIRECT_IO | fuse.FOPEN_NOFLUSH, 0
}

package fs

import (
	"context"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/nodes"
	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// signpostNode is a document that a Zarr library looks for in a store, and no view. Its text says
// to open the store itself, as the error of the library then does. No listing shows it.
type signpostNode struct {
	base
	name string
}

var (
	_ = (gofuse.NodeGetattrer)((*signpostNode)(nil))
	_ = (gofuse.NodeSetattrer)((*signpostNode)(nil))
	_ = (gofuse.NodeOpener)((*signpostNode)(nil))
)

// signpost finds such a document in the group at dir. It returns nil if the caller sees none.
//
//   - Programs that copy trees do not see it: they would take it for a file that is there already.
//   - A program that has just made the group does not see it either. It wants to create something
//     there, and would believe that this exists.
func (g lookup) signpost(dir, name string) *gofuse.Inode {
	if !g.fs.isSignpost(name) || wire.Caller(g.ctx).Mover ||
		g.fs.libraries.IsMadeByCaller(g.ctx, dir) {
		return nil
	}
	key := identity.Of(dir, name)
	s := &signpostNode{newBase(g.fs, key), name}
	s.attr(&g.out.Attr)
	return g.fs.ids.Inode(key, func(id gofuse.StableAttr) *nodes.Node {
		id.Mode = syscall.S_IFREG
		g.NewInode(g.ctx, s, id)
		return &s.Node
	})
}

// isSignpost reports whether a folder of the mount has such a file. Each has those of what it
// shows, a group or the one array of the store, and of nothing else: libraries print what they
// believe to have found.
func (f *filesystem) isSignpost(name string) bool {
	if f.names.IsAlone() {
		return name == groupFile || name == ".zarray"
	}
	return name == ".zgroup" || name == ".zmetadata"
}

// text returns what the file says.
func (s *signpostNode) text() []byte { return meta.Signpost(s.name, s.fs.h.Name()) }

func (s *signpostNode) attr(a *fuse.Attr) {
	s.fs.inodes.Common(rights.File&^0o222, s.fs.started, a)
	a.Size = uint64(len(s.text()))
}

// Getattr says that this is a file that can only be read.
func (s *signpostNode) Getattr(
	_ context.Context, _ gofuse.FileHandle, out *fuse.AttrOut,
) syscall.Errno {
	s.attr(&out.Attr)
	return 0
}

// Setattr is refused, as each change of the file.
func (s *signpostNode) Setattr(
	ctx context.Context, _ gofuse.FileHandle, _ *fuse.SetAttrIn, _ *fuse.AttrOut,
) syscall.Errno {
	return s.refuse(ctx)
}

// Open opens the file to read it.
func (s *signpostNode) Open(
	ctx context.Context, flags uint32,
) (gofuse.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_ACCMODE != syscall.O_RDONLY {
		return nil, 0, s.refuse(ctx)
	}
	shown := &fileNode{base: newBase(s.fs, s.Place().Key()), view: view.Document}
	return newHandle(shown, view.Snapshot(s.text())), fuse.FOPEN_DIRECT_IO | fuse.FOPEN_NOFLUSH, 0
}

// refuse is the answer to a program that writes the file of a store.
func (s *signpostNode) refuse(ctx context.Context) syscall.Errno {
	return s.fs.libraries.RefuseName(ctx, s.path(), s.name, s.fs.libraries.IsOfStore(s.name))
}

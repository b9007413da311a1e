package fs

import (
	"context"
	"syscall"
	"time"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/nodes"
	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/fs/view"
)

// ghostNode is a name of a renamed array, left for the mover that renamed the array through another
// name. The mover can look it up, stat it and rename it to the same place. It is also the name of a
// removed view for a program that was told that a rename would replace the array. To all others it
// does not exist.
type ghostNode struct{ base }

var (
	_ = (gofuse.NodeGetattrer)((*ghostNode)(nil))
	_ = (gofuse.NodeSetattrer)((*ghostNode)(nil))
	_ = (gofuse.NodeOpener)((*ghostNode)(nil))
)

// ghostTime is when a ghost was changed: before all files, so that `mv -u` replaces it.
var ghostTime = time.Unix(0, 0)

// ghost returns the inode of a name that is left of a renamed array for the caller, or nil if no
// name is left. The kernel keeps nothing about it.
func (g lookup) ghost(dir, name string) *gofuse.Inode {
	path, v, ok := g.fs.names.Former(dir, name)
	if !ok {
		return nil
	}
	if !g.fs.traces.Of(path).Leaves(g.ctx, v) {
		return nil
	}
	key := identity.OfGhost(path, v)
	g.fs.inodes.Common(rights.File, ghostTime, &g.out.Attr)
	return g.fs.ids.Inode(key, func(id gofuse.StableAttr) *nodes.Node {
		n := &ghostNode{newBase(g.fs, key)}
		id.Mode = syscall.S_IFREG
		g.NewInode(g.ctx, n, id)
		return &n.Node
	})
}

// Getattr shows an empty file.
func (n *ghostNode) Getattr(
	_ context.Context, _ gofuse.FileHandle, out *fuse.AttrOut,
) syscall.Errno {
	n.fs.inodes.Common(rights.File, ghostTime, &out.Attr)
	return 0
}

// Setattr ends the ghost.
func (n *ghostNode) Setattr(
	ctx context.Context, _ gofuse.FileHandle, _ *fuse.SetAttrIn, _ *fuse.AttrOut,
) syscall.Errno {
	return n.end(ctx)
}

// Open ends the ghost.
func (n *ghostNode) Open(
	ctx context.Context, _ uint32,
) (gofuse.FileHandle, uint32, syscall.Errno) {
	return nil, 0, n.end(ctx)
}

// end ends the ghost: a program that opens it is not about to rename it. At ESTALE the kernel looks
// the name up again, finds nothing, and creates the file if the program has asked for that.
func (n *ghostNode) end(ctx context.Context) syscall.Errno {
	at := n.Place().Key()
	for _, v := range view.All() {
		if identity.OfGhost(at.Path, v) == at {
			n.fs.traces.Leave(at.Path, v)
		}
	}
	return n.mustLookAgain(ctx) // at ENOENT the program could not create the file
}

package fs

import (
	"context"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// ghostNode is a name of a removed array, left for the process that removed it through another one: it can be looked up
// and removed. Programs that remove trees can also stat it; to all others it does not exist, for a script that asks
// whether the file is gone must hear that it is.
type ghostNode struct {
	base
	mover bool
}

var (
	_ = (gofuse.NodeGetattrer)((*ghostNode)(nil))
	_ = (gofuse.NodeSetattrer)((*ghostNode)(nil))
	_ = (gofuse.NodeOpener)((*ghostNode)(nil))
)

// ghostView begins the views of ghosts among the identities of nodes.
const ghostView = "ghost."

// lookupGhost finds a name that is left of a removed array for the caller, nil if there is none. The kernel believes
// nothing of it.
func (g *groupNode) lookupGhost(ctx context.Context, dir, name string, out *fuse.EntryOut) *gofuse.Inode {
	path, v, ok := g.fs.viewPath(dir, name)
	if !ok {
		return nil
	}
	trace := g.fs.traces.of(path)
	if !trace.leaves(ctx, v) {
		return nil
	}
	key, mover := fileKey{path, ghostView + v.name()}, trace.by.mover
	g.fs.commonAttr(fileMode, g.fs.started, &out.Attr)
	return g.fs.ids.node(key, func(id gofuse.StableAttr) *base {
		n := &ghostNode{base{fs: g.fs, place: at(key.path, key.view)}, mover}
		id.Mode = syscall.S_IFREG
		g.NewInode(ctx, n, id)
		return &n.base
	})
}

// Getattr tells movers of an empty file.
func (n *ghostNode) Getattr(_ context.Context, _ gofuse.FileHandle, out *fuse.AttrOut) syscall.Errno {
	if !n.mover {
		return n.end()
	}
	n.fs.commonAttr(fileMode, n.fs.started, &out.Attr)
	return 0
}

// Setattr ends the ghost.
func (n *ghostNode) Setattr(context.Context, gofuse.FileHandle, *fuse.SetAttrIn, *fuse.AttrOut) syscall.Errno {
	return n.end()
}

// Open ends the ghost.
func (n *ghostNode) Open(context.Context, uint32) (gofuse.FileHandle, uint32, syscall.Errno) {
	return nil, 0, n.end()
}

// end ends the ghost, for who asks for more than its name is not about to remove it. At ESTALE the kernel looks the name up again, finds
// nothing, and creates the file if that is what was asked for.
func (n *ghostNode) end() syscall.Errno {
	at := n.place.is()
	for _, v := range views {
		if ghostView+v.name() == at.view {
			n.fs.traces.leave(at.path, v)
		}
	}
	return syscall.ESTALE
}

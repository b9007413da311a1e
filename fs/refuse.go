package fs

import (
	"context"
	"fmt"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// What no group holds is refused here, with the reason.

var (
	_ = (gofuse.NodeLinker)((*groupNode)(nil))
)

// Link makes no hard links.
func (g *groupNode) Link(_ context.Context, _ gofuse.InodeEmbedder, name string, _ *fuse.EntryOut) (*gofuse.Inode, syscall.Errno) {
	return nil, g.refuse("link", name, "a store has no hard links; copy the file instead")
}

// refuse is EPERM with a reason.
func (g *groupNode) refuse(op, name, why string) syscall.Errno {
	return g.fs.AnswerAt(op, g.path(), name, fmt.Errorf("%w: %q: %s", syscall.EPERM, name, why))
}

package fs

import (
	"context"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
)

// lookAgain answers a request for a file that is no longer there under the name known to the
// kernel. At ESTALE the kernel looks the name up again, and creates the file if the call asks for
// that. It does so once for each call of a program. The second time, the kernel has found the file
// a moment ago, and the answer is that it is not there now.
func (n *fileNode) lookAgain(ctx context.Context) syscall.Errno {
	if n.fs.again.Tell(wire.Thread(ctx), n.StableAttr().Gen) {
		return syscall.ESTALE
	}
	return syscall.ENOENT
}

// isBack reports whether a file is there again after its removal, or after a rename of its array.
// The node shows it then: a name that is taken away and back need not be looked up again.
func (n *fileNode) isBack(ctx context.Context) bool {
	path := n.path()
	n.fs.sites.Wait(path)
	node, err := n.fs.h.Node(n.fs.ctx, path)
	if err != nil || !view.IsOf(n.view, node) || n.fs.unlinked.Has(path, n.view) {
		return false
	}
	return !n.fs.traces.Of(path).Hides(ctx, n.view) && n.fs.ids.Return(&n.Node)
}

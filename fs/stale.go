package fs

import (
	"context"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
)

// canLookAgain reports whether the kernel looks a name up again if a request for this node is
// answered with ESTALE, and notes that answer. The kernel does so once for each call of a program.
// A second ESTALE would reach the program, whatever the reason of the first one was. So all that
// answer so because of a name ask here.
func (b *base) canLookAgain(ctx context.Context) bool {
	return b.fs.again.Tell(wire.Thread(ctx), b.StableAttr().Gen)
}

// lookAgain answers a request for what is no longer there under the name known to the kernel. At
// ESTALE the kernel looks the name up again, and creates the file if the call asks for that. The
// second time, the kernel has found it a moment ago, and the answer is that it is not there now.
func (b *base) lookAgain(ctx context.Context) syscall.Errno {
	if b.canLookAgain(ctx) {
		return syscall.ESTALE
	}
	b.fs.again.Ended(wire.Thread(ctx))
	return syscall.ENOENT
}

// mustLookAgain answers with ESTALE where no other answer would be right. If the kernel does not
// look the name up again, the program sees it.
func (b *base) mustLookAgain(ctx context.Context) syscall.Errno {
	b.canLookAgain(ctx)
	return syscall.ESTALE
}

// staleness returns ESTALE if another node has taken the place of this one. On that the kernel
// looks the name up again, and comes to the node that has it now. The second time, the kernel has
// come to this node a moment ago. It serves as it does programs that opened it before.
func (b *base) staleness(ctx context.Context) syscall.Errno {
	if b.Place().IsReplaced() && b.canLookAgain(ctx) {
		return syscall.ESTALE
	}
	return 0
}

// stalenessToChange is staleness for a request that changes what the node shows. It ends the call.
func (b *base) stalenessToChange(ctx context.Context) syscall.Errno {
	errno := b.staleness(ctx)
	if errno == 0 {
		b.fs.again.Ended(wire.Thread(ctx))
	}
	return errno
}

// stalenessUnlessOpen is staleness for requests that change nothing, and come by a name or from an
// open file: the kernel does not say which. It looks no name up for an open file, so what is open
// serves. But the kernel may also come to an open file by the name of another one.
func (b *base) stalenessUnlessOpen(ctx context.Context) syscall.Errno {
	if b.Place().IsOpen() {
		return 0
	}
	return b.staleness(ctx)
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

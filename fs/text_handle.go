package fs

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/view"
)

// textHandle is the common part of writable handles of texts that are taken as a whole at a flush.
// These are documents, and arrays whose elements have no fixed size.
type textHandle struct {
	node *fileNode
}

// openText counts a handle.
func (n *fileNode) openText() textHandle {
	n.opened()
	return textHandle{n}
}

// closed ends the count of a handle.
func (h textHandle) closed() {
	h.node.closed()
}

// Allocate is refused: no space is set aside for a text.
func (h textHandle) Allocate(context.Context, uint64, uint64, uint32) syscall.Errno {
	return h.node.fs.Answer("fallocate", h.node.path(),
		fmt.Errorf("%w: no space is set aside for a text", errors.ErrUnsupported))
}

// resizeClosed rejects truncate(2) of a text file that is not open for writing, because a partial
// text cannot be applied.
func (n resizing) resizeClosed(what string, size int64) error {
	switch {
	case n.fs.o.Rights.ReadOnly:
		return syscall.EROFS
	case size == 0:
		return view.ErrEmpty(n.view)
	}
	return fmt.Errorf("%w: %s cannot be truncated to %d bytes", iofs.ErrInvalid, what, size)
}

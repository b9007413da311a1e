package fs

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/errno"
)

// Allocate answers fallocate(2): space is extended by the fill value, and a hole is zero bytes.
func (h *writer) Allocate(ctx context.Context, off, size uint64, mode uint32) syscall.Errno {
	f := h.node.fs
	h.Of.Settle()
	if off+size > 1<<63-1 || off+size < off {
		err := fmt.Errorf("%w: %d bytes at %d", errno.ErrTooBig, size, off)
		return f.Answer("fallocate", h.node.path(), err)
	}
	if h.Comparing() != nil { // nothing is written
		return f.Answer("fallocate", h.node.path(), errors.ErrUnsupported)
	}
	keep := mode&unix.FALLOC_FL_KEEP_SIZE != 0
	err := h.begin(ctx)
	if err != nil {
		return f.AnswerChange("fallocate", h.node.path(), err)
	}
	switch mode &^ unix.FALLOC_FL_KEEP_SIZE {
	case 0:
		err = h.Extend(int64(off+size), keep)
	case unix.FALLOC_FL_PUNCH_HOLE:
		err = h.Clear(int64(off), int64(size))
	case unix.FALLOC_FL_ZERO_RANGE:
		if err = h.Extend(int64(off+size), keep); err == nil {
			err = h.Clear(int64(off), int64(size))
		}
	default:
		err = fmt.Errorf("fallocate mode %#x: %w; expected 0, a hole, or a range of zeros", mode, errors.ErrUnsupported)
	}
	return f.AnswerChange("fallocate", h.node.path(), err)
}

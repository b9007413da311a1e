package wire

import (
	"context"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/program"
)

// Caller returns the process that sent a request; PID 0: it cannot be seen.
func Caller(ctx context.Context) program.Process { return program.OfThread(Thread(ctx)) }

// Thread returns the thread that sent a request; 0: it cannot be seen.
func Thread(ctx context.Context) int {
	c, ok := ctx.(*fuse.Context)
	if !ok {
		return 0
	}
	return int(c.Pid)
}

// User returns the user whose program sent a request. ok is false if that is not known.
func User(ctx context.Context) (uid, gid uint32, ok bool) {
	c, ok := ctx.(*fuse.Context)
	if !ok {
		return 0, 0, false
	}
	return c.Uid, c.Gid, true
}

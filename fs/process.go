package fs

import (
	"context"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/program"
)

// process is a program that runs.
type process = program.Process

// caller returns the process that sent a request; PID 0 is one that cannot be seen.
func caller(ctx context.Context) process { return program.OfThread(threadOf(ctx)) }

// threadOf returns the thread that sent a request; 0 is one that cannot be seen.
func threadOf(ctx context.Context) int {
	c, ok := ctx.(*fuse.Context)
	if !ok {
		return 0
	}
	return int(c.Pid)
}

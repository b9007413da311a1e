package view

import (
	"context"
	iofs "io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxStretches is how many stretches of data a search for a hole goes through before it calls the
// rest data. Each may cost a look into the store.
const maxStretches = 1 << 14

// ErrNoData says that only a hole follows.
var ErrNoData error = syscall.ENXIO

// holeBlock is the unit of data and holes. Other file systems have no smaller one. GNU tar -S makes
// archives that it cannot read if data does not begin and end at a multiple of 512. Behind a header
// of 128 bytes it would not.
const holeBlock = 4096

// dataFrom returns the first stretch of whole blocks at or after off that may hold data; start ==
// c.size() if there is none.
func dataFrom(ctx context.Context, c Content, off int64) (start, end int64, err error) {
	size := c.Size()
	start, end, err = c.NextData(ctx, off-off%holeBlock)
	if err != nil || start >= size {
		return size, size, err
	}
	if end > size-holeBlock {
		end = size
	} else {
		end += (holeBlock - end%holeBlock) % holeBlock
	}
	return max(off, start-start%holeBlock), end, nil
}

// Seek returns where data, or a hole, begins at or after off, as lseek(2) with SEEK_DATA or
// SEEK_HOLE finds it. Data and holes are whole blocks, except at the end of the file.
func Seek(ctx context.Context, c Content, off int64, whence uint32) (int64, error) {
	switch whence {
	case unix.SEEK_DATA:
		start, _, err := dataFrom(ctx, c, off)
		if err == nil && start >= c.Size() {
			err = ErrNoData
		}
		return start, err
	case unix.SEEK_HOLE:
		return seekHole(ctx, c, off)
	}
	return 0, iofs.ErrInvalid
}

// seekHole returns the first byte at or after off that is in no stretch of data; the end of the
// file is a hole.
func seekHole(ctx context.Context, c Content, off int64) (int64, error) {
	for range maxStretches {
		if off >= c.Size() {
			return c.Size(), nil
		}
		start, end, err := dataFrom(ctx, c, off)
		if err != nil {
			return 0, err
		}
		if start > off || end <= off {
			return off, nil
		}
		off = end
	}
	return c.Size(), nil
}

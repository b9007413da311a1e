package fs

import (
	"context"
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Marks in the caller's process number of a READ, WRITE or READDIRPLUS. Process numbers stay below 2^22. go-fuse's node interface hands
// on the caller, but not the request's flags.
const (
	pagedPid  = 1 << 31 // the page cache sent it
	appendPid = 1 << 30 // the file is open with O_APPEND
	syncPid   = 1 << 29 // the file is open with O_SYNC or O_DSYNC
	briefPid  = 1 << 28 // the first entries of a directory are asked for, with their attributes
)

// wire sits between go-fuse's server and its node tree. It sees what the node interface hides, and answers what this
// file system does not do, so that the kernel does not ask again.
type wire struct {
	fuse.RawFileSystem
}

// Read distinguishes READs of the page cache (mmap, read-ahead) from those of read(2) on a direct open. The latter carry the
// number of a lock owner.
func (w wire) Read(cancel <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	if in.ReadFlags&fuse.READ_LOCKOWNER == 0 {
		in.Pid |= pagedPid
	}
	return w.RawFileSystem.Read(cancel, in, buf)
}

// Write distinguishes WRITEs of the page cache (mmap) and those of files with O_APPEND or O_SYNC from others.
func (w wire) Write(cancel <-chan struct{}, in *fuse.WriteIn, p []byte) (uint32, fuse.Status) {
	in.Pid |= writeMarks(in)
	return w.RawFileSystem.Write(cancel, in, p)
}

// Writev is Write for a request whose bytes lie in several buffers; go-fuse has no others.
func (w wire) Writev(cancel <-chan struct{}, in *fuse.WriteIn, p [][]byte) (uint32, fuse.Status) {
	return 0, fuse.ENOSYS // Write is then called, with the bytes in one
}

func writeMarks(in *fuse.WriteIn) (marks uint32) {
	if in.WriteFlags&fuse.WRITE_CACHE != 0 {
		return pagedPid
	}
	if in.Flags&syscall.O_APPEND != 0 {
		marks |= appendPid
	}
	if in.Flags&syscall.O_DSYNC != 0 { // O_SYNC has this bit too
		marks |= syncPid
	}
	return marks
}

// marked reports whether wire has set a mark for a request.
func marked(ctx context.Context, mark uint32) bool {
	c, ok := ctx.(*fuse.Context)
	return ok && c.Pid&mark != 0
}

// howWritten returns which way the bytes of a WRITE are meant.
func howWritten(ctx context.Context) how {
	switch {
	case marked(ctx, pagedPid):
		return byPage
	case marked(ctx, appendPid):
		return atEnd
	}
	return atOffset
}

// ReadDirPlus distinguishes the beginning of a listing from what follows.
func (w wire) ReadDirPlus(cancel <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	if in.Offset == 0 {
		in.Pid |= briefPid
	}
	return w.RawFileSystem.ReadDirPlus(cancel, in, out)
}

// GetXAttr has user attributes only. Of others it says that there are none here at all, rather than none of this file: ls -l, which
// asks for a security label and an access list of every file, then stops asking.
func (w wire) GetXAttr(cancel <-chan struct{}, header *fuse.InHeader, attr string, dest []byte) (uint32, fuse.Status) {
	if !strings.HasPrefix(attr, "user.") {
		return 0, fuse.Status(syscall.EOPNOTSUPP)
	}
	return w.RawFileSystem.GetXAttr(cancel, header, attr, dest)
}

// CopyFileRange is not implemented. The kernel then copies by read and write, and never asks again.
func (w wire) CopyFileRange(<-chan struct{}, *fuse.CopyFileRangeIn) (uint32, fuse.Status) {
	return 0, fuse.ENOSYS
}

package fs

import (
	"context"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// pagedPid is set in the caller's process number of a READ that the page cache sent. Process numbers stay below 2^22.
// go-fuse's node interface hands on the caller, but not the READ's flags.
const pagedPid = 1 << 31

// wire sits between go-fuse's server and its node tree. It sees what the node interface hides, and answers what this
// file system does not do, so that the kernel does not ask again.
type wire struct {
	fuse.RawFileSystem
}

// Read tells READs of the page cache (mmap, read-ahead) from those of read(2) on a direct open: the latter carry the
// number of a lock owner.
func (w wire) Read(cancel <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	if in.ReadFlags&fuse.READ_LOCKOWNER == 0 {
		in.Pid |= pagedPid
	}
	return w.RawFileSystem.Read(cancel, in, buf)
}

// paged tells whether a request's caller was marked by wire.Read.
func paged(ctx context.Context) bool {
	c, ok := ctx.(*fuse.Context)
	return ok && c.Pid&pagedPid != 0
}

// CopyFileRange is not implemented. The kernel then copies by read and write, and never asks again.
func (w wire) CopyFileRange(<-chan struct{}, *fuse.CopyFileRangeIn) (uint32, fuse.Status) {
	return 0, fuse.ENOSYS
}

// Fsync has nothing to do in a read-only mount, as FsyncDir and Flush.
func (w wire) Fsync(<-chan struct{}, *fuse.FsyncIn) fuse.Status { return fuse.OK }

// FsyncDir has nothing to do.
func (w wire) FsyncDir(<-chan struct{}, *fuse.FsyncIn) fuse.Status { return fuse.OK }

// erofs answers what would change the store. The kernel itself refuses most of it, because the mount has the flag ro.
const erofs = fuse.Status(syscall.EROFS)

// SetAttr is refused, as all that follows: the mount is read-only.
func (w wire) SetAttr(<-chan struct{}, *fuse.SetAttrIn, *fuse.AttrOut) fuse.Status { return erofs }

// Mknod is refused.
func (w wire) Mknod(<-chan struct{}, *fuse.MknodIn, string, *fuse.EntryOut) fuse.Status { return erofs }

// Mkdir is refused.
func (w wire) Mkdir(<-chan struct{}, *fuse.MkdirIn, string, *fuse.EntryOut) fuse.Status { return erofs }

// Unlink is refused.
func (w wire) Unlink(<-chan struct{}, *fuse.InHeader, string) fuse.Status { return erofs }

// Rmdir is refused.
func (w wire) Rmdir(<-chan struct{}, *fuse.InHeader, string) fuse.Status { return erofs }

// Rename is refused.
func (w wire) Rename(<-chan struct{}, *fuse.RenameIn, string, string) fuse.Status { return erofs }

// Link is refused.
func (w wire) Link(<-chan struct{}, *fuse.LinkIn, string, *fuse.EntryOut) fuse.Status { return erofs }

// Symlink is refused.
func (w wire) Symlink(<-chan struct{}, *fuse.InHeader, string, string, *fuse.EntryOut) fuse.Status {
	return erofs
}

// SetXAttr is refused.
func (w wire) SetXAttr(<-chan struct{}, *fuse.SetXAttrIn, string, []byte) fuse.Status { return erofs }

// RemoveXAttr is refused.
func (w wire) RemoveXAttr(<-chan struct{}, *fuse.InHeader, string) fuse.Status { return erofs }

// Create is refused.
func (w wire) Create(<-chan struct{}, *fuse.CreateIn, string, *fuse.CreateOut) fuse.Status {
	return erofs
}

// Write is refused.
func (w wire) Write(<-chan struct{}, *fuse.WriteIn, []byte) (uint32, fuse.Status) { return 0, erofs }

// Writev is refused.
func (w wire) Writev(<-chan struct{}, *fuse.WriteIn, [][]byte) (uint32, fuse.Status) {
	return 0, erofs
}

// Fallocate is refused.
func (w wire) Fallocate(<-chan struct{}, *fuse.FallocateIn) fuse.Status { return erofs }

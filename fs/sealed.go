package fs

import (
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// sealed is the wire of a read-only mount.
type sealed struct {
	wire
}

// Fsync has nothing to do.
func (sealed) Fsync(<-chan struct{}, *fuse.FsyncIn) fuse.Status { return fuse.OK }

// FsyncDir has nothing to do.
func (sealed) FsyncDir(<-chan struct{}, *fuse.FsyncIn) fuse.Status { return fuse.OK }

// erofs answers what would change the store. The kernel itself refuses most of it, because the mount has the flag ro.
const erofs = fuse.Status(syscall.EROFS)

// SetAttr is refused, as all that follows: the mount is read-only.
func (sealed) SetAttr(<-chan struct{}, *fuse.SetAttrIn, *fuse.AttrOut) fuse.Status { return erofs }

// Mknod is refused.
func (sealed) Mknod(<-chan struct{}, *fuse.MknodIn, string, *fuse.EntryOut) fuse.Status { return erofs }

// Mkdir is refused.
func (sealed) Mkdir(<-chan struct{}, *fuse.MkdirIn, string, *fuse.EntryOut) fuse.Status { return erofs }

// Unlink is refused.
func (sealed) Unlink(<-chan struct{}, *fuse.InHeader, string) fuse.Status { return erofs }

// Rmdir is refused.
func (sealed) Rmdir(<-chan struct{}, *fuse.InHeader, string) fuse.Status { return erofs }

// Rename is refused.
func (sealed) Rename(<-chan struct{}, *fuse.RenameIn, string, string) fuse.Status { return erofs }

// Link is refused.
func (sealed) Link(<-chan struct{}, *fuse.LinkIn, string, *fuse.EntryOut) fuse.Status { return erofs }

// Symlink is refused.
func (sealed) Symlink(<-chan struct{}, *fuse.InHeader, string, string, *fuse.EntryOut) fuse.Status {
	return erofs
}

// SetXAttr is refused.
func (sealed) SetXAttr(<-chan struct{}, *fuse.SetXAttrIn, string, []byte) fuse.Status { return erofs }

// RemoveXAttr is refused.
func (sealed) RemoveXAttr(<-chan struct{}, *fuse.InHeader, string) fuse.Status { return erofs }

// Create is refused.
func (sealed) Create(<-chan struct{}, *fuse.CreateIn, string, *fuse.CreateOut) fuse.Status {
	return erofs
}

// Write is refused.
func (sealed) Write(<-chan struct{}, *fuse.WriteIn, []byte) (uint32, fuse.Status) { return 0, erofs }

// Writev is refused.
func (sealed) Writev(<-chan struct{}, *fuse.WriteIn, [][]byte) (uint32, fuse.Status) {
	return 0, erofs
}

// Fallocate is refused.
func (sealed) Fallocate(<-chan struct{}, *fuse.FallocateIn) fuse.Status { return erofs }

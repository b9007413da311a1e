package wire

import (
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// NewReadOnly is New for a read-only mount.
func NewReadOnly(raw fuse.RawFileSystem, notes *Notes) fuse.RawFileSystem {
	return readOnly{wire{raw, notes}}
}

// readOnly is the wire of a read-only mount. The kernel refuses changes by itself as long as the
// mount has the flag ro. Root can remove it by `mount -o remount,rw`. Then a program would get
// success for changes that no store gets.
type readOnly struct {
	wire
}

// Fsync has nothing to do.
func (readOnly) Fsync(<-chan struct{}, *fuse.FsyncIn) fuse.Status { return fuse.OK }

// FsyncDir has nothing to do.
func (readOnly) FsyncDir(<-chan struct{}, *fuse.FsyncIn) fuse.Status { return fuse.OK }

// erofs answers what would change the store.
const erofs = fuse.Status(syscall.EROFS)

// SetAttr is refused, as all that follow: the mount is read-only.
func (readOnly) SetAttr(<-chan struct{}, *fuse.SetAttrIn, *fuse.AttrOut) fuse.Status {
	return erofs
}

// Mknod is refused.
func (readOnly) Mknod(<-chan struct{}, *fuse.MknodIn, string, *fuse.EntryOut) fuse.Status {
	return erofs
}

// Mkdir is refused.
func (readOnly) Mkdir(<-chan struct{}, *fuse.MkdirIn, string, *fuse.EntryOut) fuse.Status {
	return erofs
}

// Unlink is refused.
func (readOnly) Unlink(<-chan struct{}, *fuse.InHeader, string) fuse.Status { return erofs }

// Rmdir is refused.
func (readOnly) Rmdir(<-chan struct{}, *fuse.InHeader, string) fuse.Status { return erofs }

// Rename is refused.
func (readOnly) Rename(<-chan struct{}, *fuse.RenameIn, string, string) fuse.Status { return erofs }

// Link is refused.
func (readOnly) Link(<-chan struct{}, *fuse.LinkIn, string, *fuse.EntryOut) fuse.Status {
	return erofs
}

// Symlink is refused.
func (readOnly) Symlink(
	<-chan struct{}, *fuse.InHeader, string, string, *fuse.EntryOut,
) fuse.Status {
	return erofs
}

// SetXAttr is refused.
func (readOnly) SetXAttr(<-chan struct{}, *fuse.SetXAttrIn, string, []byte) fuse.Status {
	return erofs
}

// RemoveXAttr is refused.
func (readOnly) RemoveXAttr(<-chan struct{}, *fuse.InHeader, string) fuse.Status { return erofs }

// Create is refused.
func (readOnly) Create(<-chan struct{}, *fuse.CreateIn, string, *fuse.CreateOut) fuse.Status {
	return erofs
}

// Write is refused.
func (readOnly) Write(<-chan struct{}, *fuse.WriteIn, []byte) (uint32, fuse.Status) {
	return 0, erofs
}

// Writev is refused.
func (readOnly) Writev(<-chan struct{}, *fuse.WriteIn, [][]byte) (uint32, fuse.Status) {
	return 0, erofs
}

// Fallocate is refused.
func (readOnly) Fallocate(<-chan struct{}, *fuse.FallocateIn) fuse.Status { return erofs }

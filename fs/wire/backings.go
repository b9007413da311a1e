package wire

import (
	"os"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Backings are the plain files that the kernel reads in place of files of the mount.
type Backings struct{ Server *fuse.Server }

// Register makes a file one of them, and returns its number.
func (b Backings) Register(file *os.File) (backing int32, err error) {
	backing, errno := b.Server.RegisterBackingFd(&fuse.BackingMap{Fd: int32(file.Fd())})
	if errno != 0 {
		return 0, errno
	}
	return backing, nil
}

// Unregister ends that. Nothing can be done where it fails.
func (b Backings) Unregister(backing int32) { b.Server.UnregisterBackingFd(backing) }

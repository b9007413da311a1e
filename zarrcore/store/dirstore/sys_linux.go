package dirstore

import "golang.org/x/sys/unix"

// Open-file-description locks exclude goroutines too, and conflict with the locks of POSIX.
const (
	setLock     = unix.F_OFD_SETLK
	setLockWait = unix.F_OFD_SETLKW
)

// renameNew renames unless there is something at the new name: EEXIST.
func renameNew(from place, to place) error {
	err := unix.Renameat2(from.dir, from.name, to.dir, to.name, unix.RENAME_NOREPLACE)
	if err == unix.EINVAL || err == unix.ENOSYS { // a file system, or kernel, that does not know the flag
		return renameUnlessThere(from, to)
	}
	return err
}

// startWriting gives what was written to the disk, without waiting.
func startWriting(fd int) { unix.SyncFileRange(fd, 0, 0, unix.SYNC_FILE_RANGE_WRITE) }

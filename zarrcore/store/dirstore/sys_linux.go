package dirstore

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Open-file-description locks exclude goroutines too, and conflict with the locks of POSIX.
const (
	setLock     = unix.F_OFD_SETLK
	setLockWait = unix.F_OFD_SETLKW
)

// renameNew renames unless there is something at the new name: EEXIST.
func renameNew(from place, to place) error {
	err := unix.Renameat2(from.dir, from.name, to.dir, to.name, unix.RENAME_NOREPLACE)
	if isUnknownFlag(err) {
		return renameUnlessThere(from, to)
	}
	return err
}

// isUnknownFlag reports whether a file system, or the kernel, does not know how to rename so.
func isUnknownFlag(err error) bool {
	return err == unix.EINVAL || err == unix.ENOSYS || err == unix.EOPNOTSUPP
}

// exchange exchanges what is at two places. Where the file system cannot do that, it is
// errors.ErrUnsupported: an overlay cannot for directories that lie in a lower layer.
func exchange(a, b place) error {
	err := unix.Renameat2(a.dir, a.name, b.dir, b.name, unix.RENAME_EXCHANGE)
	if isUnknownFlag(err) || err == unix.EXDEV {
		return errors.ErrUnsupported
	}
	return err
}

// birth returns what tells the directory at the place from all others that have had its path, or
// its inode. It is empty where the file system does not report when directories were created.
func (p place) birth() string {
	var st unix.Statx_t
	const fields = unix.STATX_INO | unix.STATX_BTIME
	err := unix.Statx(p.dir, p.name, unix.AT_SYMLINK_NOFOLLOW, fields, &st)
	if err != nil || st.Mask&fields != fields {
		return ""
	}
	return fmt.Sprintf("%x-%x-%x", st.Ino, st.Btime.Sec, st.Btime.Nsec)
}

// startWriting gives what was written to the disk, without waiting.
func startWriting(fd int) { unix.SyncFileRange(fd, 0, 0, unix.SYNC_FILE_RANGE_WRITE) }

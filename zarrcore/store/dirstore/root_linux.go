package dirstore

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	// pathOnly opens a file without opening what is in it: no permission to read is needed, and no
	// device notices.
	pathOnly  = unix.O_PATH
	statFlags = unix.O_PATH
)

// openBeneath opens name below dir; the kernel refuses with EXDEV to leave dir at any step, also
// while names are being swapped. EAGAIN: a ".." in a link raced with a rename somewhere, again and
// again; the caller has a slower way.
func openBeneath(dir int, name string, flags int) (fd int, err error) {
	return openHow(dir, name, flags, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_MAGICLINKS)
}

// openStraightBeneath is openBeneath, and the kernel refuses with ELOOP to follow any link.
func openStraightBeneath(dir int, name string, flags int) (fd int, err error) {
	return openHow(dir, name, flags, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS)
}

func openHow(dir int, name string, flags int, resolve uint64) (fd int, err error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: resolve}
	for range 64 {
		fd, err = unix.Openat2(dir, name, &how)
		if err != unix.EAGAIN && err != unix.EINTR {
			return fd, err
		}
	}
	return -1, unix.EAGAIN
}

// canOpenBeneath reports whether openat2 is there (Linux 5.6) and not forbidden by a sandbox.
func canOpenBeneath(dir int) bool {
	fd, err := openBeneath(dir, ".", unix.O_PATH)
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
}

const identityMask = unix.STATX_INO | unix.STATX_MNT_ID

// identify returns the zero identity where the kernel does not know mounts by number (before Linux
// 5.8).
func identify(fd int) identity {
	var st unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, identityMask, &st)
	if err != nil || st.Mask&identityMask != identityMask {
		return identity{}
	}
	return identity{mount: st.Mnt_id, inode: st.Ino}
}

// birthMask asks for what no two directories share: numbers of inodes are used again.
const birthMask = unix.STATX_INO | unix.STATX_BTIME

// birth returns which directory is open as fd, and when it was created. It is "" on a file system
// of which it is not known that both stay. In an overlay the time becomes another one when
// something in the directory is first changed.
func birth(fd int) string {
	var fs unix.Statfs_t
	if unix.Fstatfs(fd, &fs) != nil || !keepsBirth(int64(fs.Type)) {
		return ""
	}
	var st unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, birthMask, &st)
	if err != nil || st.Mask&birthMask != birthMask {
		return ""
	}
	return fmt.Sprintf("%d:%d.%d.%d.%d",
		st.Dev_major, st.Dev_minor, st.Ino, st.Btime.Sec, st.Btime.Nsec)
}

// keepsBirth reports whether a file system of that type never changes when a file was created.
func keepsBirth(fsType int64) bool {
	switch fsType {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		return true
	}
	return false
}

// isReplaced reports whether path now leads to another directory of the same mount.
// AT_STATX_DONT_SYNC: a FUSE file system mounted there is not asked anything.
func isReplaced(path string, id identity) bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, identityMask, &st)
	return err == nil && id != identity{} && st.Mnt_id == id.mount && st.Ino != id.inode
}

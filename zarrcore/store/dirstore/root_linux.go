package dirstore

import "golang.org/x/sys/unix"

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

// replaced reports whether path now leads to another directory of the same mount.
// AT_STATX_DONT_SYNC: a FUSE file system mounted there is not asked anything.
func replaced(path string, id identity) bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, identityMask, &st)
	return err == nil && id != identity{} && st.Mnt_id == id.mount && st.Ino != id.inode
}

package dirstore

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// A folder is a directory that is held open to find names in it. No code closes a folder:
// operations may still run in it after it is replaced or dropped. The finalizers of its two members
// close them.
type folder struct {
	os  *os.Root
	dir *os.File
	fd  int // of dir
	// beneath: the kernel resolves paths beneath fd. Old kernels and some sandboxes do not.
	beneath bool
}

// openWithin opens name, "." or a valid key, and returns a descriptor or an errno where there is
// one. Links that lead outside are EXDEV.
func (f *folder) openWithin(name string, flags int) (int, error) {
	if f.beneath {
		fd, err := openBeneath(f.fd, name, flags)
		runtime.KeepAlive(f)
		// the path may be too long for one call, and yet lead to a file
		if err != unix.EAGAIN && err != unix.ENAMETOOLONG {
			return fd, err
		}
	}
	return f.openSlowly(name, flags)
}

// openStraight is open for a name that no link leads to, nor is one: those are ELOOP. With
// O_NOFOLLOW a link at the very end is opened itself. Where the kernel cannot do that it is ENOSYS.
func (f *folder) openStraight(name string, flags int) (int, error) {
	if !f.beneath {
		return -1, unix.ENOSYS
	}
	fd, err := openStraightBeneath(f.fd, name, flags)
	runtime.KeepAlive(f)
	return fd, err
}

// openSlowly is the portable twin of openBeneath, by os.Root. That follows no link opened by
// pathOnly, so it opens truly, and must not wait for a pipe's writer.
func (f *folder) openSlowly(name string, flags int) (int, error) {
	opened, err := f.os.OpenFile(name, flags&^pathOnly|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, bare(err)
	}
	defer opened.Close()
	return unix.FcntlInt(opened.Fd(), unix.F_DUPFD_CLOEXEC, 0)
}

// isLink reports whether the last element of key is a symbolic link.
func (f *folder) isLink(key string) bool {
	if !f.beneath {
		info, err := f.os.Lstat(key)
		return err == nil && info.Mode()&fs.ModeSymlink != 0
	}
	fd, err := openBeneath(f.fd, key, pathOnly|unix.O_NOFOLLOW)
	runtime.KeepAlive(f)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	return fstat(fd, &st) == nil && kindOf(&st) == unix.S_IFLNK
}

// straight reports whether something is at key, and no link at it or on the way to it. It also
// returns the rights of users to it, and its times. It is the quick answer for nearly all keys.
func (f *folder) straight(key string) (there store.Link, ok bool) {
	fd, err := f.openStraight(key, pathOnly)
	if err != nil {
		return there, false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if fstat(fd, &st) == nil {
		info := infoOf(key, &st)
		there.Rights, there.ModTime, there.Changed = rightsOf(fd, &st), info.ModTime, info.Changed
	}
	return there, true
}

// leavingTime changes a name in the folder that is not of the store, and leaves the folder's time
// as it was. If that time moves, tar takes the folder for one that was changed while it was read.
// Only the owner of the folder can keep the time. Info.Changed and Info.Version move all the same.
// The caller holds the lock of the staging area.
func (f *folder) leavingTime(change func() error) error {
	var before unix.Stat_t
	if fstat(f.fd, &before) != nil {
		return change()
	}
	err := change()
	if err == nil {
		setModTime(f.dir, time.Unix(before.Mtim.Unix()))
	}
	return err
}

// keep is for the end of functions that use descriptors of f without f.
func (f *folder) keep() { runtime.KeepAlive(f) }

// bare strips the path from an error of package os, since store.Store adds the key. What os.Root
// refuses by itself, without asking the kernel, are paths that lead outside. There is no sentinel
// for that, so it becomes the errno which openat2 has for it.
func bare(err error) error {
	var path *fs.PathError
	if !errors.As(err, &path) {
		var link *os.LinkError
		if !errors.As(err, &link) {
			return err
		}
		path = &fs.PathError{Err: link.Err}
	}
	if _, ok := path.Err.(syscall.Errno); ok || errors.Is(path.Err, fs.ErrClosed) {
		return path.Err
	}
	return unix.EXDEV
}

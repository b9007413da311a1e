package dirstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// root is the store's directory, held open. Nobody closes it: a Driver that replaces or drops it
// may still have operations running in it, so the finalizers of its two members do.
type root struct {
	os  *os.Root
	dir *os.File
	fd  int // of dir
	id  identity
	// beneath: the kernel resolves paths beneath fd. Old kernels and some sandboxes do not.
	beneath bool
	// paths are the root's own path as the file system has it, and as it was given, which may hold
	// links: in elements.
	paths [][]string
	above *root  // of the store, where this is a directory of it that is held open; otherwise nil
	path  string // that it had there when it was opened

	mu         sync.Mutex
	staged     *staging               // nil before the first object is staged
	unfinished map[string]*unfinished // by the full paths of directories
	durable    durableDirs
	held       held
}

// identity tells the root's directory from another that has taken its name.
type identity struct {
	mount, inode uint64
}

func openRoot(path string) (*root, error) {
	r, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	dir, err := r.Open(".")
	if err != nil {
		r.Close()
		return nil, err
	}
	fd := int(dir.Fd())
	return &root{os: r, dir: dir, fd: fd, id: identify(fd), beneath: canOpenBeneath(fd),
		paths: spellings(path)}, nil
}

// spellings returns the absolute path without links, and as it is, in elements.
func spellings(path string) [][]string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	var all [][]string
	for _, p := range []string{real, path} {
		p = strings.Trim(filepath.ToSlash(p), "/")
		all = append(all, strings.FieldsFunc(p, func(c rune) bool { return c == '/' }))
	}
	return all
}

// Refresh looks whether the store's directory was replaced by another of the same name, and goes on
// with that one. zarr-python overwrites a store so: it removes the whole tree and makes it again.
// Nothing else is remembered, whatever dir is. It never looks into another file system mounted over
// the directory: that may be the very mount which asks.
func (d *Driver) Refresh(dir string) {
	r := d.root.Load()
	if r == nil || !replaced(d.path, r.id) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.root.Load() != r {
		return // somebody else was faster
	}
	if fresh, err := openRoot(d.path); err == nil {
		d.root.Store(fresh)
	}
}

// open opens name, "." or a valid key, beneath the root and returns a descriptor or an errno where
// there is one. Links that lead outside are EXDEV.
func (r *root) open(name string, flags int) (int, error) {
	fd, err := r.openWithin(name, flags)
	// a link may lead out of a directory that is held, and stay in the store
	if err == unix.EXDEV && r.stays() {
		return r.above.open(r.full(name), flags)
	}
	return fd, err
}

func (r *root) openWithin(name string, flags int) (int, error) {
	if r.beneath {
		fd, err := openBeneath(r.fd, name, flags)
		runtime.KeepAlive(r)
		// the path may be too long for one call, and yet lead to a file
		if err != unix.EAGAIN && err != unix.ENAMETOOLONG {
			return fd, err
		}
	}
	return r.openSlowly(name, flags)
}

// openStraight is open for a name that no link leads to, nor is one: those are ELOOP. With
// O_NOFOLLOW a link at the very end is opened itself. Where the kernel cannot do that it is ENOSYS.
func (r *root) openStraight(name string, flags int) (int, error) {
	if !r.beneath {
		return -1, unix.ENOSYS
	}
	fd, err := openStraightBeneath(r.fd, name, flags)
	runtime.KeepAlive(r)
	return fd, err
}

// openSlowly is the portable twin of openBeneath, by os.Root. That follows no link opened by
// pathOnly, so it opens truly, and must not wait for a pipe's writer.
func (r *root) openSlowly(name string, flags int) (int, error) {
	f, err := r.os.OpenFile(name, flags&^pathOnly|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, bare(err)
	}
	defer f.Close()
	return unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
}

// isLink reports whether the last element of key is a symbolic link.
func (r *root) isLink(key string) bool {
	if !r.beneath {
		info, err := r.os.Lstat(key)
		return err == nil && info.Mode()&fs.ModeSymlink != 0
	}
	fd, err := openBeneath(r.fd, key, pathOnly|unix.O_NOFOLLOW)
	runtime.KeepAlive(r)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	return fstat(fd, &st) == nil && kindOf(&st) == unix.S_IFLNK
}

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

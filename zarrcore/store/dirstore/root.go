package dirstore

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// root is the store's directory, or one below it that is held open: what keys lead to is found in
// it.
type root struct {
	folder
	*common
	id identity
	// paths are the root's own path as the file system has it, and as it was given, which may hold
	// links: in elements.
	paths [][]string
	above *root  // of the store, where this is a directory of it that is held open; otherwise nil
	path  string // that it had there when it was opened

	limited sync.Once
	limit   limit // of new objects in a directory that is held open, once limited is done
}

// common is what a store has once, however many directories of it are held open.
type common struct {
	area       area
	unfinished unfinishedDirs
	durable    durableDirs
	leftovers  leftovers
}

// identity tells the root's directory from another that has taken its name.
type identity struct {
	mount, inode uint64
}

func openRoot(path string) (*root, error) {
	in, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	dir, err := in.Open(".")
	if err != nil {
		in.Close()
		return nil, err
	}
	fd := int(dir.Fd())
	r := &root{folder: folder{os: in, dir: dir, fd: fd, beneath: canOpenBeneath(fd)},
		common: &common{}, id: identify(fd), paths: spellings(path)}
	r.area.in, r.unfinished.area, r.leftovers.in = &r.folder, &r.area, r
	return r, nil
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

// holdStraight is hold for a directory to which no link leads.
func (r *root) holdStraight(dir string) (*root, error) {
	fd, err := r.openStraightParent(dir)
	if err == store.ErrThroughLink {
		return nil, err
	}
	if err != nil {
		return r.hold(dir) // which fails, and says more of it
	}
	defer unix.Close(fd)
	in, err := r.hold(dir)
	if err != nil {
		return nil, err
	}
	var straight, held unix.Stat_t
	if err := errors.Join(fstat(fd, &straight), fstat(in.fd, &held)); err != nil {
		return nil, err
	}
	// it was replaced meanwhile, maybe by a link
	if straight.Ino != held.Ino || straight.Dev != held.Dev {
		return nil, store.ErrThroughLink
	}
	return in, nil
}

func (r *root) hold(dir string) (*root, error) {
	in, err := r.os.OpenRoot(dir)
	if err != nil {
		return nil, bare(err)
	}
	f, err := in.Open(".")
	if err != nil {
		in.Close()
		return nil, bare(err)
	}
	held := &root{folder: folder{os: in, dir: f, fd: int(f.Fd()), beneath: r.beneath},
		common: r.common, above: cmp.Or(r.above, r), path: r.full(dir)}
	for _, own := range r.paths {
		held.paths = append(held.paths, append(slices.Clone(own), strings.Split(dir, "/")...))
	}
	return held, nil
}

// full returns what a path below r is called in the whole store, as long as r is not renamed.
func (r *root) full(name string) string {
	if r.above == nil {
		return name
	}
	return path.Join(r.path, name)
}

// stays reports whether r is held and still has the path that it had.
func (r *root) stays() bool {
	if r.above == nil {
		return false
	}
	there, found := r.above.dirIdentity(r.path)
	var st unix.Stat_t
	return found && fstat(r.fd, &st) == nil &&
		there == identity{mount: uint64(st.Dev), inode: st.Ino}
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

func (r *root) stat(key string) (store.Info, error) {
	st, rights, err := r.look(key)
	if err != nil {
		return store.Info{}, err
	}
	info := infoOf(key, &st)
	info.Rights = rights
	return info, nil
}

// look describes the file or directory that key leads to.
func (r *root) look(key string) (st unix.Stat_t, rights store.Rights, err error) {
	name := key
	if key == "" {
		name = "."
	}
	fd, err := r.open(name, statFlags)
	if err != nil {
		return st, rights, r.explain(name, err)
	}
	defer unix.Close(fd)
	if err := fstat(fd, &st); err != nil {
		return st, rights, err
	}
	if key == "" && st.Nlink == 0 { // held open, and removed. An object may be replaced meanwhile
		return st, rights, fs.ErrNotExist
	}
	if k := kindOf(&st); k != unix.S_IFREG && k != unix.S_IFDIR {
		return st, rights, ErrNotRegular
	}
	return st, rightsOf(fd, &st), nil
}

// explain says what an errno of opening key means for a store. A path through a file, or with a
// name that no directory can hold, names nothing.
func (r *root) explain(key string, err error) error {
	switch err {
	case unix.ENOENT:
		if r.isLink(key) {
			return ErrDangling
		}
		return fs.ErrNotExist
	case unix.ENOTDIR, unix.ENAMETOOLONG:
		return fs.ErrNotExist
	case unix.EXDEV:
		return ErrOutside
	case unix.ENXIO, unix.ENODEV: // a socket; a device without driver
		return ErrNotRegular
	}
	return err
}

// dirIdentity tells directories of one name apart. mount is the device here.
func (r *root) dirIdentity(dir string) (id identity, found bool) {
	fd, err := r.open(dir, pathOnly|unix.O_DIRECTORY)
	if err != nil {
		return identity{}, false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := fstat(fd, &st); err != nil {
		return identity{}, false
	}
	return identity{mount: uint64(st.Dev), inode: st.Ino}, true
}

package dirstore

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// A place is where a key leads: its directory, open, and its name there. What is done with that
// name by a call that follows no link stays inside the store.
type place struct {
	r    *root
	key  string
	dir  int // descriptor of the directory, only to find names in it
	name string
	made []string // directories that were made for it, the outermost first
}

// place finds the place of key. A missing directory is fs.ErrNotExist.
func (r *root) place(key string) (place, error) {
	p, err := r.placeIn(key, r.openParent)
	switch err {
	case unix.ENOENT, unix.ENOTDIR, unix.ENAMETOOLONG, ErrDangling:
		err = fs.ErrNotExist
	}
	return p, err
}

func (r *root) placeIn(key string, open func(dir string) (int, error)) (place, error) {
	if first, _, _ := strings.Cut(key, "/"); isStaging(first) && r.above == nil {
		return place{}, unix.EPERM
	}
	fd, err := open(path.Dir(key))
	return place{r: r, key: key, dir: fd, name: path.Base(key)}, err
}

// A maker finds places, and makes the directories above them that are missing, except the root
// itself.
type maker struct {
	r      *root
	alike  bool     // they get the rights to the directory that they are made in
	narrow bool     // they get no right that users do not have there
	made   []string // the outermost first
}

// place finds the place of key.
func (m *maker) place(key string) (place, error) {
	p, err := m.r.placeIn(key, m.parent)
	p.made = m.made
	return p, err
}

// parent is root.openParent, and makes what is missing. Modes follow the umask, or are alike. If it
// fails it has made nothing.
func (m *maker) parent(dir string) (fd int, err error) {
	fd, err = m.r.openParent(dir)
	if err != unix.ENOENT || dir == "." {
		return fd, err
	}
	above, err := m.parent(path.Dir(dir))
	if err != nil {
		return -1, err
	}
	err = unix.Mkdirat(above, path.Base(dir), 0o777)
	if err == nil && (m.alike || m.narrow) {
		keepAbove(above, path.Base(dir), !m.alike)
	}
	unix.Close(above)
	if err == nil {
		m.made = append(m.made, dir)
	}
	if err == nil || err == unix.EEXIST {
		fd, err = m.r.openParent(dir)
	}
	if err != nil {
		place{r: m.r, made: m.made}.undo()
		m.made = nil
		return -1, err
	}
	return fd, nil
}

// undo removes the directories that were made for the place, unless something is in them by now.
func (p place) undo() {
	for _, dir := range slices.Backward(p.made) {
		if made, err := p.r.place(dir); err == nil {
			made.unlink(unix.AT_REMOVEDIR)
			made.close()
		}
	}
}

// hasVanished reports whether the directory of the place was removed since it was found.
func (p place) hasVanished() bool {
	var st unix.Stat_t
	return fstat(p.dir, &st) == nil && st.Nlink == 0
}

func (p place) close() { unix.Close(p.dir) }

// openParent opens a directory ("." is the root) to find names in it.
func (r *root) openParent(dir string) (int, error) {
	fd, err := r.open(dir, pathOnly|unix.O_DIRECTORY)
	switch {
	case err == unix.EXDEV:
		err = ErrOutside
	case err == unix.ENOENT && r.isLink(dir):
		err = ErrDangling
	}
	return fd, err
}

// lstat describes what is at the place, even if that is a link.
func (p place) lstat() (st unix.Stat_t, err error) {
	err = unix.Fstatat(p.dir, p.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	switch err {
	case unix.ENOENT, unix.ENOTDIR, unix.ENAMETOOLONG:
		err = fs.ErrNotExist
	}
	return st, err
}

// unlink removes what is at the place: an object, or a link, or with AT_REMOVEDIR an empty
// directory.
func (p place) unlink(flags int) error {
	err := unix.Unlinkat(p.dir, p.name, flags)
	switch err {
	case unix.EISDIR, unix.ENOENT, unix.ENOTDIR, unix.ENAMETOOLONG:
		return fs.ErrNotExist
	}
	return err
}

// found returns what lstat says of the object at the place, or nil where there is none.
func (p place) found() (*unix.Stat_t, error) {
	st, err := p.lstat()
	switch err {
	case nil:
		return &st, nil
	case fs.ErrNotExist:
		return nil, nil
	}
	return nil, err
}

// meets reports whether the object at the place, of which st tells, meets cond; st is nil where
// there is none.
func (p place) meets(cond store.If, st *unix.Stat_t) error {
	switch {
	case cond == (store.If{}):
		return nil
	case st == nil:
		return cond.Conflict(false, "")
	case kindOf(st) != unix.S_IFLNK:
		return cond.Conflict(true, version(st))
	}
	info, err := p.r.stat(p.key) // what the link leads to has the version that readers see
	if err != nil {
		return err
	}
	return cond.Conflict(true, info.Version)
}

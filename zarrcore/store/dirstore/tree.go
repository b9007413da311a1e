package dirstore

import (
	"context"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// RemoveAll removes dir and all below it; see store.Store. It is renamed into the staging folder
// first, so that it vanishes at once. A link is removed, not what it leads to.
func (d *Driver) RemoveAll(ctx context.Context, dir string) error {
	r, err := d.begin(ctx)
	if err != nil {
		return err
	}
	p, err := r.straightPlace(dir)
	if err != nil {
		return err
	}
	defer p.close()
	st, err := p.lstat()
	if err != nil {
		return err
	}
	switch kindOf(&st) {
	case unix.S_IFLNK:
		return p.unlink(0)
	case unix.S_IFDIR:
		if forget := r.unfinishedAt(dir); forget != nil {
			defer forget()
		}
		return r.removeTree(p)
	}
	return fs.ErrNotExist
}

func (r *root) removeTree(p place) error {
	defer r.whole().durable.forget(r.full(p.key))
	thrown, err := r.throw(p)
	if !thrown && staysInPlace(err) {
		return r.removeInPlace(p)
	}
	return err
}

// staysInPlace reports whether a directory cannot be renamed into the staging folder, but might be
// removed where it is: that is another file system, or a lower layer of an overlay. Or there is no
// room for one more name.
func staysInPlace(err error) bool {
	return err == unix.EXDEV || err == unix.EBUSY || isFull(err)
}

// throw renames a directory into the staging folder, where nobody sees it any more, and removes it
// there. It reports whether it was renamed. A mount point in it stays in the folder.
func (r *root) throw(p place) (thrown bool, err error) {
	s, err := r.staging()
	if err != nil {
		return false, err
	}
	defer r.done(s)
	name := s.newName()
	if err := unix.Renameat(p.dir, p.name, s.fd, name); err != nil {
		return false, err
	}
	return true, ignoring(bare(r.whole().os.RemoveAll(s.name+"/"+name)), unix.EBUSY)
}

// removeInPlace removes a tree that cannot be moved: its documents first, without which it is not
// an array or group any more.
func (r *root) removeInPlace(p place) error {
	if err := r.removeDocuments(p); err != nil {
		return err
	}
	return bare(r.os.RemoveAll(p.key))
}

// removeDocuments removes the documents of an array or group. After an error all of them are there.
func (r *root) removeDocuments(p place) error {
	removed := false
	for _, document := range []string{"zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"} {
		err := bare(r.os.Remove(p.key + "/" + document))
		if err != nil && err != unix.ENOENT && !removed {
			return err
		}
		removed = removed || err == nil
	}
	return nil
}

// Rename gives an object or directory another key; see store.Store.
func (d *Driver) Rename(ctx context.Context, from, to string) error {
	r, err := d.begin(ctx)
	if err != nil {
		return err
	}
	src, err := r.straightPlace(from)
	if err != nil {
		return err
	}
	defer src.close()
	if _, err := src.lstat(); err != nil {
		return err
	}
	if err := r.mayBecome(from, to); err != nil {
		return err
	}
	dst, err := r.place(to)
	if err != nil {
		return err
	}
	defer dst.close()
	defer r.whole().durable.forget(r.full(from))
	if err := d.finish(r, from); err != nil {
		return err
	}
	arrived, err := r.carry(from, to)
	if err != nil {
		return err
	}
	err = renameNew(src, dst)
	arrived(err)
	return err
}

// mayBecome refuses what rename(2) would, and tells it apart from other errors.
func (r *root) mayBecome(from, to string) error {
	p, err := r.straightPlace(to)
	if err == nil {
		defer p.close()
		_, err = p.lstat()
	}
	switch {
	case err == nil:
		return fs.ErrExist
	case err != fs.ErrNotExist: // through a link, too
		return err
	case strings.HasPrefix(to, from+"/"):
		return fs.ErrInvalid
	}
	return nil
}

// renameUnlessThere is renameNew with a gap, in which something may come to the new name and be
// lost.
func renameUnlessThere(from, to place) error {
	if _, err := to.lstat(); err != fs.ErrNotExist {
		return unix.EEXIST
	}
	return unix.Renameat(from.dir, from.name, to.dir, to.name)
}

package dirstore

import (
	"context"
	"io/fs"

	"golang.org/x/sys/unix"
)

// RemoveAll removes dir and all below it; see store.Dirs. It is renamed into the staging folder
// first, so that it vanishes at once. A link is removed, not what it leads to.
func (d *dirs) RemoveAll(ctx context.Context, dir string) error {
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
		if forget := r.unfinished.at(r.full(dir)); forget != nil {
			defer forget()
		}
		return p.removeTree()
	}
	return fs.ErrNotExist
}

// removeTree removes the directory at the place.
func (p place) removeTree() error {
	defer p.r.durable.forget(p.r.full(p.key))
	thrown, err := p.throw()
	if !thrown && staysInPlace(err) {
		return p.removeInPlace()
	}
	return err
}

// staysInPlace reports whether a directory cannot be renamed into the staging folder, but might be
// removed where it is: that is another file system, or a lower layer of an overlay. Or there is no
// room for one more name.
func staysInPlace(err error) bool {
	return err == unix.EXDEV || err == unix.EBUSY || isFull(err)
}

// moveOut renames the directory at the place into the staging folder, where nobody sees it any
// more. It returns that folder, and the directory's place in it. The caller gives the folder back.
func (p place) moveOut() (s *staging, to place, err error) {
	if s, err = p.r.area.staging(); err != nil {
		return nil, to, err
	}
	to = place{r: p.r, dir: s.fd, name: s.newName()}
	if err = unix.Renameat(p.dir, p.name, to.dir, to.name); err != nil {
		p.r.area.done(s)
		return nil, to, err
	}
	return s, to, nil
}

// throw moves the directory at the place out, and removes it. It reports whether it was moved. A
// mount point in it stays in the staging folder.
func (p place) throw() (thrown bool, err error) {
	s, to, err := p.moveOut()
	if err != nil {
		return false, err
	}
	defer p.r.area.done(s)
	return true, ignoring(p.r.area.discard(s, to.name), unix.EBUSY)
}

// removeDocuments removes the documents of an array or group. After an error all of them are there.
func (p place) removeDocuments() error {
	removed := false
	for _, document := range documents {
		err := bare(p.r.os.Remove(p.key + "/" + document))
		if err != nil && err != unix.ENOENT && !removed {
			return err
		}
		removed = removed || err == nil
	}
	return nil
}

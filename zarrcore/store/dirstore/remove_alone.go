package dirstore

import (
	"cmp"
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// RemoveAlone removes the directory dir if it holds nothing but its own objects; see store.Dirs. It
// is renamed into the staging folder first, so that it vanishes at once, and comes back if more is
// in it.
func (d *dirs) RemoveAlone(
	ctx context.Context, dir string, isOwn func(name string) bool,
) error {
	r, err := d.begin(ctx)
	if err != nil {
		return err
	}
	p, err := r.directory(dir)
	if err != nil {
		return err
	}
	defer p.close()
	if _, err := p.ownNames(isOwn); err != nil {
		return err
	}
	defer r.durable.forget(r.full(dir))
	return p.removeAlone(isOwn)
}

// ownNames returns the names in the directory at the place. It is store.ErrNotEmpty if one is not
// the directory's own. What no listing shows belongs to it, as locks and temporary files of others.
func (p place) ownNames(isOwn func(name string) bool) (own []string, err error) {
	fd, err := openIn(p.dir, p.name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	defer fd.Close()
	err = eachEntry(fd, func(name string, kind entryKind) error {
		if kind == isDirectory || !isOwn(name) && !isHidden(name) {
			return store.ErrNotEmpty
		}
		own = append(own, name)
		return nil
	})
	return own, err
}

// removeAlone is RemoveAlone of a directory that holds only its own objects.
func (p place) removeAlone(isOwn func(name string) bool) error {
	s, thrown, err := p.moveOut()
	if staysInPlace(err) {
		return p.removeInPlace() // what comes meanwhile is not seen
	}
	if err != nil {
		return err
	}
	defer p.r.area.done(s)
	own, err := thrown.ownNames(isOwn)
	if err == nil {
		err = thrown.removeOwn(own, s)
	}
	if err != nil {
		return thrown.comeBack(p, err)
	}
	return nil
}

// removeOwn removes a directory in the staging folder that holds only objects of these names. They
// are put aside first: rmdir(2) is what finds out that there is more.
func (p place) removeOwn(own []string, s *staging) error {
	aside := make([]string, len(own))
	fd, err := openIn(p.dir, p.name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return err
	}
	defer fd.Close()
	dir := int(fd.Fd())
	for i, name := range own {
		aside[i] = s.newName()
		if err = unix.Renameat(dir, name, s.fd, aside[i]); err != nil {
			aside, own = aside[:i], own[:i]
			break
		}
	}
	if err == nil {
		err = p.unlink(unix.AT_REMOVEDIR)
	}
	if err == unix.ENOTEMPTY || err == unix.EEXIST {
		err = store.ErrNotEmpty
	}
	for i, name := range aside {
		if err != nil {
			unix.Renameat(s.fd, name, dir, own[i])
			continue
		}
		unix.Unlinkat(s.fd, name, 0)
	}
	return err
}

// comeBackTries is how many names are tried for a directory that comes back. Each was taken in the
// meantime by what another program has made.
const comeBackTries = 100

// comeBack renames a directory from the staging folder to its place, because of why, which it
// returns. If something else is there by now, it gets another name beside that.
func (p place) comeBack(to place, why error) error {
	name := to.name
	for i := range comeBackTries {
		err := renameNew(p, to)
		if err != unix.EEXIST {
			return cmp.Or(err, why)
		}
		to.name = fmt.Sprintf("%s~%d", name, i)
	}
	return why
}

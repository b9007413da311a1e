package dirstore

import (
	"context"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// Rename gives an object or directory another key; see store.Dirs.
func (d *dirs) Rename(ctx context.Context, from, to string) error {
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
	if err := src.mayBecome(to); err != nil {
		return err
	}
	dst, err := r.place(to)
	if err != nil {
		return err
	}
	defer dst.close()
	defer r.durable.forget(r.full(from))
	if err := d.finish(r, from); err != nil {
		return err
	}
	arrived, err := r.unfinished.carry(r.full(from), r.full(to))
	if err != nil {
		return err
	}
	err = renameNew(src, dst)
	arrived(err)
	return err
}

// mayBecome refuses what rename(2) to a key would, and tells it apart from other errors.
func (p place) mayBecome(to string) error {
	dst, err := p.r.straightPlace(to)
	if err == nil {
		defer dst.close()
		_, err = dst.lstat()
	}
	switch {
	case err == nil:
		return fs.ErrExist
	case err != fs.ErrNotExist: // through a link, too
		return err
	case strings.HasPrefix(to, p.key+"/"):
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

package dirstore

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

var _ store.Replacer = (*Driver)(nil)

// Replace gives a directory the name of another, which it removes; see store.Replacer. The two are
// exchanged, in one call. Then the old one goes into the staging folder, where nobody sees it any
// more. What is killed in between has noted the old one, so that Clean removes it.
func (d *Driver) Replace(ctx context.Context, from, to string) error {
	if strings.HasPrefix(from, to+"/") || strings.HasPrefix(to, from+"/") {
		return fs.ErrInvalid
	}
	r, err := d.begin(ctx)
	if err != nil {
		return err
	}
	src, _, err := r.directory(from)
	if err != nil {
		return err
	}
	defer src.close()
	dst, old, err := r.directory(to)
	if err != nil {
		return err
	}
	defer dst.close()
	defer r.whole().durable.forget(r.full(from))
	defer r.whole().durable.forget(r.full(to))
	sync := func() error { return d.SyncDirs(ctx, []string{from, to}) }
	return r.replace(src, dst, old, sync)
}

// directory finds the place of a directory that is not a link, and its birth.
func (r *root) directory(key string) (p place, birth string, err error) {
	if p, err = r.straightPlace(key); err != nil {
		return p, "", err
	}
	st, err := p.lstat()
	if err == nil && kindOf(&st) != unix.S_IFDIR {
		err = fs.ErrNotExist
	}
	if err != nil {
		p.close()
		return p, "", err
	}
	return p, p.birth(), nil
}

// replace does what Replace does. The old directory goes only when it is durable that the other one
// has taken its name.
func (r *root) replace(src, dst place, old string, sync func() error) error {
	s, err := r.staging()
	if isFull(err) {
		return r.replaceInPlace(src, dst, sync)
	}
	if err != nil {
		return err
	}
	defer r.done(s)
	if old != "" {
		if err := s.note(r.full(src.key) + "/" + replacedPrefix + old); err == nil {
			defer s.forget()
		} else if !isFull(err) {
			return err
		}
	}
	if err := exchange(src, dst); err != nil {
		return err
	}
	name := s.newName()
	if err = sync(); err == nil {
		err = unix.Renameat(src.dir, src.name, s.fd, name)
	}
	if err != nil {
		return errors.Join(err, exchange(src, dst))
	}
	r.whole().os.RemoveAll(s.name + "/" + name) // best effort: it goes with the folder
	return nil
}

// replaceInPlace is replace where there is no room for a staging folder.
func (r *root) replaceInPlace(src, dst place, sync func() error) error {
	if err := exchange(src, dst); err != nil {
		return err
	}
	if err := sync(); err != nil {
		return errors.Join(err, exchange(src, dst))
	}
	return r.removeInPlace(src)
}

// replacedPrefix begins the name under which the owner of a staging folder notes a directory that
// is replaced. Its birth follows.
const replacedPrefix = ".zarrfs-replaced-"

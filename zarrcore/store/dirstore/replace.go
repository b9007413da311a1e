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

// replace does what Replace does. The old directory is noted before the two are exchanged.
func (r *root) replace(src, dst place, old string, sync func() error) error {
	s, err := r.staging()
	if isFull(err) {
		return r.exchangeAndRemove(src, dst, sync)
	}
	if err != nil {
		return err
	}
	defer r.done(s)
	if old != "" {
		forget, err := s.noteTree(r.full(src.key) + "/" + replacedPrefix + old)
		if err == nil {
			defer forget()
		} else if !isFull(err) {
			return err
		}
	}
	return r.exchangeAndRemove(src, dst, sync)
}

// exchangeAndRemove exchanges two directories and removes the old one. That goes only when it is
// durable that the other one has taken its name. As long as it is whole, an error undoes all.
func (r *root) exchangeAndRemove(src, dst place, sync func() error) error {
	err := exchange(src, dst)
	if err == errors.ErrUnsupported {
		return renameOnto(src, dst)
	}
	if err != nil {
		return err
	}
	if err = sync(); err == nil {
		err = r.removeReplaced(src)
	}
	if err != nil {
		return errors.Join(err, exchange(src, dst))
	}
	return nil
}

// removeReplaced removes a directory in whose place there is another one by now. After an error it
// is whole. What cannot be removed of it is not an array or group any more.
func (r *root) removeReplaced(p place) error {
	thrown, err := r.throw(p)
	if thrown {
		return nil
	}
	if staysInPlace(err) {
		err = r.removeDocuments(p)
	}
	if err == nil {
		r.os.RemoveAll(p.key) // best effort
	}
	return err
}

// renameOnto renames a directory onto another one where the two cannot be exchanged. That succeeds
// if the other one holds nothing. If what it holds is all that is in the way, the result is
// errors.ErrUnsupported: the caller can remove it, and rename then. Any other error would come
// after the removal too, and the content of both would be lost.
func renameOnto(src, dst place) error {
	err := unix.Renameat(src.dir, src.name, dst.dir, dst.name)
	if err == unix.ENOTEMPTY || err == unix.EEXIST {
		return errors.ErrUnsupported
	}
	return err
}

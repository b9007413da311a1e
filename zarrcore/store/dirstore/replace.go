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
// more. Before, it is noted, so that Clean removes it after a kill in between. So is the new one if
// it has a mark. That is removed before it gets its name, and then only the note says that it is
// a copy.
func (d *dirs) Replace(ctx context.Context, from, to string) error {
	if strings.HasPrefix(from, to+"/") || strings.HasPrefix(to, from+"/") {
		return fs.ErrInvalid
	}
	r, err := d.begin(ctx)
	if err != nil {
		return err
	}
	src, err := r.directory(from)
	if err != nil {
		return err
	}
	defer src.close()
	dst, err := r.directory(to)
	if err != nil {
		return err
	}
	defer dst.close()
	made, old := src.birth(), dst.birth()
	defer r.durable.forget(r.full(from))
	defer r.durable.forget(r.full(to))
	leaving := []string{old}
	if r.unfinished.at(r.full(from)) != nil {
		leaving = append(leaving, made)
	}
	forget, err := r.area.noteLeaving(r.full(from), leaving)
	if err != nil {
		return err
	}
	defer forget()
	if err := d.finish(r, from); err != nil {
		return err
	}
	arrived, err := r.unfinished.carry(r.full(from), r.full(to))
	if err != nil {
		return err
	}
	sync := func() error { return d.writer.SyncDirs(ctx, []string{from, to}) }
	err = exchangeAndRemove(src, dst, sync)
	arrived(err)
	return err
}

// directory finds the place of a directory that is not a link.
func (r *root) directory(key string) (p place, err error) {
	if p, err = r.straightPlace(key); err != nil {
		return p, err
	}
	st, err := p.lstat()
	if err == nil && kindOf(&st) != unix.S_IFDIR {
		err = fs.ErrNotExist
	}
	if err != nil {
		p.close()
	}
	return p, err
}

// exchangeAndRemove exchanges two directories and removes the old one. That goes only when it is
// durable that the other one has taken its name. As long as it is whole, an error undoes all.
func exchangeAndRemove(src, dst place, sync func() error) error {
	err := exchange(src, dst)
	if err == errors.ErrUnsupported {
		return renameOnto(src, dst)
	}
	if err != nil {
		return err
	}
	if err = sync(); err == nil {
		err = src.removeReplaced()
	}
	if err != nil {
		return errors.Join(err, exchange(src, dst))
	}
	return nil
}

// removeReplaced removes the directory at the place, where it came in exchange for another one.
// After an error it is whole. What cannot be removed of it is not an array or group any more.
func (p place) removeReplaced() error {
	thrown, err := p.throw()
	if thrown {
		return nil
	}
	if staysInPlace(err) {
		err = p.removeDocuments()
	}
	if err == nil {
		p.r.os.RemoveAll(p.key) // best effort
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

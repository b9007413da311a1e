package dirstore

import (
	"context"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Delete removes the object at key, or the link that stands for it, and never a directory; see
// store.Store.
func (d *writer) Delete(ctx context.Context, key string, cond store.If) error {
	p, err := d.place(ctx, key)
	if err == fs.ErrNotExist {
		return missing(cond)
	}
	if err != nil {
		return err
	}
	defer p.close()
	if st, err := p.lstat(); err == fs.ErrNotExist || err == nil && kindOf(&st) == unix.S_IFDIR {
		return missing(cond)
	}
	unlock, err := p.r.area.lock(ctx, p)
	if err != nil && !isFull(err) {
		return err
	}
	if err == nil {
		defer unlock()
	}
	old, err := p.found()
	if err == nil {
		err = p.meets(cond, old)
	}
	if err != nil {
		return err
	}
	return p.unlink(0)
}

// isFull reports whether the file system has no room for a lock or a folder. What removes something
// goes without, or nobody could make room.
func isFull(err error) bool { return err == unix.ENOSPC || err == unix.EDQUOT }

// missing is the error of deleting what is not there.
func missing(cond store.If) error {
	if err := cond.Conflict(false, ""); err != nil {
		return err
	}
	return fs.ErrNotExist
}

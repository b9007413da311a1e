package dirstore

// This file puts a staged object into its place, if what is there still has the version that the
// caller knows.

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// commitTries is how often a directory is made, if others remove it as often because they could not
// store anything in it.
const commitTries = 100

// Commit renames the file to its place under the object's lock; see store.Staged. Directories that
// are missing are made, and taken away again where it fails.
func (o *staged) Commit(ctx context.Context, cond store.If) (info store.Info, err error) {
	defer o.Discard()
	for range commitTries {
		if err := ctx.Err(); err != nil {
			return store.Info{}, err
		}
		p, err := o.destination(cond)
		if err != nil {
			return store.Info{}, err
		}
		info, err = o.commit(ctx, p, cond)
		if err == nil {
			p.close()
			return info, nil
		}
		again := err == unix.ENOENT && o.name != "" && p.hasVanished()
		p.undo()
		p.close()
		if !again {
			return store.Info{}, err
		}
	}
	return store.Info{}, fs.ErrNotExist
}

// destination finds the place of the object. An object that must be there has its directory: none
// is made for it.
func (o *staged) destination(cond store.If) (place, error) {
	if cond.Version == "" || cond.Version == store.Absent {
		return (&maker{r: o.r, alike: o.options.KeepRights, narrow: !o.limit.isNone()}).place(o.key)
	}
	p, err := o.r.place(o.key)
	if err == fs.ErrNotExist {
		err = cond.Conflict(false, "")
	}
	return p, err
}

func (o *staged) commit(ctx context.Context, p place, cond store.If) (store.Info, error) {
	lock, err := o.s.lock(ctx, p)
	if err != nil {
		return store.Info{}, err
	}
	defer lock.unlock()
	old, err := p.found()
	if err == nil {
		err = p.meets(cond, old)
	}
	if err != nil {
		return store.Info{}, err
	}
	return o.move(p, old)
}

// move renames the file to p, in the place of the object that old describes, and returns its Info.
func (o *staged) move(p place, old *unix.Stat_t) (store.Info, error) {
	err := o.reopen(0)
	if err == nil {
		o.keep(o.fd, p, old)
		err = unix.Renameat(o.s.fd, o.name, p.dir, p.name)
	}
	if err == unix.EXDEV {
		return o.copy(p, old)
	}
	if err != nil {
		return store.Info{}, err
	}
	o.name = ""
	var st unix.Stat_t
	err = fstat(o.fd, &st)
	info := infoOf(o.key, &st)
	info.Rights, info.Replaces = rightsOf(o.fd, &st), old != nil
	return info, err
}

// keep gives the open file fd the rights of the object at p. old describes that object. If old is
// nil, the file gets the rights of a new object.
func (o *staged) keep(fd int, p place, old *unix.Stat_t) {
	if old == nil {
		o.limit.keep(fd)
		return
	}
	p.keep(fd, old)
}

// copy puts the object into another file system than the staging folder's, which is mounted below
// the root.
func (o *staged) copy(p place, old *unix.Stat_t) (store.Info, error) {
	temp := place{r: p.r, dir: p.dir, name: newTempName()}
	if err := o.s.note(p.r.full(path.Join(path.Dir(o.key), temp.name))); err != nil {
		return store.Info{}, err
	}
	defer o.s.forget()
	st, err := o.copyTo(temp, func(fd int) { o.keep(fd, p, old) })
	if err == nil {
		err = unix.Renameat(temp.dir, temp.name, p.dir, p.name)
	}
	if err != nil {
		temp.unlink(0)
		return store.Info{}, err
	}
	now, rights, err := p.r.look(p.key)
	if err == nil && now.Ino != st.Ino {
		err = fs.ErrNotExist
	}
	info := infoOf(o.key, &now)
	info.Rights, info.Replaces = rights, old != nil
	return info, err
}

// copyTo copies the file to temp, which prepare is given open before it has any bytes.
func (o *staged) copyTo(temp place, prepare func(fd int)) (st unix.Stat_t, err error) {
	src, err := openIn(o.s.fd, o.name, unix.O_RDONLY)
	if err != nil {
		return st, err
	}
	defer src.Close()
	fd, err := openAs(temp.dir, temp.name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, o.limit.mode())
	if err != nil {
		return st, err
	}
	dst := os.NewFile(uintptr(fd), temp.name)
	defer dst.Close()
	prepare(fd)
	if _, err := io.Copy(onlyWriter{dst}, src); err != nil {
		return st, bare(err)
	}
	if err := stamp(temp.dir, temp.name); err != nil {
		return st, err
	}
	if !o.options.NoSync {
		if err := fsync(int(dst.Fd())); err != nil {
			return st, err
		}
	}
	return st, fstat(int(dst.Fd()), &st)
}

// onlyWriter hides the other methods of a file: copying within the kernel gains nothing here.
type onlyWriter struct{ f *os.File }

func (w onlyWriter) Write(p []byte) (int, error) { return w.f.Write(p) }

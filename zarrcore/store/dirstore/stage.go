package dirstore

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// staged is a temporary file in the staging folder.
type staged struct {
	d    *Driver
	r    *root
	s    *staging
	key  string
	name string // in the staging folder; "" once renamed
	fd   int    // -1 while not open
	uses bool   // the staging folder
}

// keepOpen is how many staged objects hold a descriptor. Others open their file again for each
// step, so that the limit of descriptors is none of theirs.
const keepOpen = 512

// Stage writes data into the staging folder; see store.Store.
func (d *Driver) Stage(ctx context.Context, key string, data []byte) (store.StagedObject, error) {
	r, err := d.begin(ctx)
	if err != nil {
		return nil, err
	}
	for {
		s, err := r.staging()
		if err != nil {
			return nil, err
		}
		o := &staged{d: d, r: r, s: s, key: key, name: s.newName(), fd: -1, uses: true}
		if err = o.write(data); err == nil {
			return o, nil
		}
		o.Discard()
		if s.exists() {
			return nil, err
		}
	}
}

func (o *staged) write(data []byte) error {
	if err := o.reopen(unix.O_CREAT | unix.O_EXCL); err != nil {
		return err
	}
	n := 0
	if len(data) >= directFrom && !o.d.options.NoSync {
		n = writeDirect(o.fd, data)
	}
	if err := writeFull(o.fd, data[n:], int64(n)); err != nil {
		return err
	}
	if err := stamp(o.s.fd, o.name); err != nil {
		return err
	}
	if o.s.open.Load() > keepOpen {
		return o.close()
	}
	return nil
}

// stamp sets the modification time to the nanosecond. The kernel's own clock for that has ticks of
// milliseconds. Within one an object could be replaced twice and get its first inode, and so its
// first version, again.
func stamp(dir int, name string) error {
	now, err := unix.TimeToTimespec(time.Now())
	if err != nil {
		return err
	}
	return unix.UtimesNanoAt(dir, name, []unix.Timespec{now, now}, unix.AT_SYMLINK_NOFOLLOW)
}

func (o *staged) reopen(flags int) (err error) {
	if o.fd < 0 {
		o.fd, err = openat(o.s.fd, o.name, unix.O_WRONLY|flags)
		if err == nil {
			o.s.open.Add(1)
		}
	}
	return err
}

func (o *staged) close() error {
	if o.fd < 0 {
		return nil
	}
	fd := o.fd
	o.fd = -1
	o.s.open.Add(-1)
	return unix.Close(fd)
}

// sync makes the file durable.
func (o *staged) sync() error {
	wasOpen := o.fd >= 0
	err := o.reopen(0)
	if err == nil {
		err = fsync(o.fd)
	}
	if !wasOpen {
		o.close()
	}
	return err
}

// Discard removes the file.
func (o *staged) Discard() {
	o.close()
	if o.name != "" {
		unix.Unlinkat(o.s.fd, o.name, 0) // best effort: the folder goes at the end, or by Clean
		o.name = ""
	}
	if o.uses {
		o.uses = false
		o.r.done(o.s)
	}
}

// commitTries is how often a directory is made that others remove as often, because they could not
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
		again := err == unix.ENOENT && o.name != "" && p.vanished()
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
		return o.r.makePlace(o.key)
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
		p.keep(o.fd, old)
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
	info.Rights = rightsOf(o.fd, &st)
	return info, err
}

// copy puts the object into another file system than the staging folder's, which is mounted below
// the root.
func (o *staged) copy(p place, old *unix.Stat_t) (store.Info, error) {
	temp := place{r: p.r, dir: p.dir, name: fmt.Sprintf("%s%016x%s", tempPrefix, rand.Uint64(), tempSuffix)}
	if err := o.s.note(p.r.full(path.Join(path.Dir(o.key), temp.name))); err != nil {
		return store.Info{}, err
	}
	defer o.s.forget()
	st, err := o.copyTo(temp, func(fd int) { p.keep(fd, old) })
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
	info.Rights = rights
	return info, err
}

// copyTo copies the file to temp, which prepare is given open before it has any bytes.
func (o *staged) copyTo(temp place, prepare func(fd int)) (st unix.Stat_t, err error) {
	src, err := openIn(o.s.fd, o.name, unix.O_RDONLY)
	if err != nil {
		return st, err
	}
	defer src.Close()
	dst, err := openIn(temp.dir, temp.name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return st, err
	}
	defer dst.Close()
	prepare(int(dst.Fd()))
	if _, err := io.Copy(onlyWriter{dst}, src); err != nil {
		return st, bare(err)
	}
	if err := stamp(temp.dir, temp.name); err != nil {
		return st, err
	}
	if !o.d.options.NoSync {
		if err := fsync(int(dst.Fd())); err != nil {
			return st, err
		}
	}
	return st, fstat(int(dst.Fd()), &st)
}

// onlyWriter hides the other methods of a file: copying within the kernel gains nothing here.
type onlyWriter struct{ f *os.File }

func (w onlyWriter) Write(p []byte) (int, error) { return w.f.Write(p) }

// Delete removes the object at key, or the link that stands for it, and never a directory; see
// store.Store.
func (d *Driver) Delete(ctx context.Context, key string, cond store.If) error {
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
	unlock, err := p.r.lock(ctx, p)
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

func (r *root) lock(ctx context.Context, p place) (unlock func(), err error) {
	s, err := r.staging()
	if err != nil {
		return nil, err
	}
	lock, err := s.lock(ctx, p)
	if err != nil {
		r.done(s)
		return nil, err
	}
	return func() {
		lock.unlock()
		r.done(s)
	}, nil
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

package dirstore

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// staged is a temporary file in the staging folder. It is made with its first byte.
type staged struct {
	options *Options
	r       *root
	s       *staging // nil: there is no file yet
	key     string
	limit   limit
	name    string // in the staging folder; "" once renamed
	fd      int    // -1 while not open
	size    int64
}

// keepOpen is how many staged objects hold a descriptor. Others open their file again for each
// step, so that the limit of descriptors does not limit them.
const keepOpen = 512

// Stage lets write write into the staging folder; see store.Store.
func (d *writer) Stage(
	ctx context.Context, key string, write func(store.Parts) error,
) (store.StagedObject, error) {
	r, err := d.begin(ctx)
	if err != nil {
		return nil, err
	}
	for {
		o := &staged{options: &d.options, r: r, key: key, fd: -1}
		if err = write(o); err == nil {
			err = o.finish()
		}
		if err == nil {
			return o, nil
		}
		s := o.s
		o.Discard()
		if s == nil || s.exists() {
			return nil, err
		}
	}
}

// begin makes the file.
func (o *staged) begin() error {
	if o.s != nil {
		return nil
	}
	s, err := o.r.area.staging()
	if err != nil {
		return err
	}
	o.s, o.name, o.limit = s, s.newName(), o.r.limitOf(o.key)
	return o.reopen(unix.O_CREAT | unix.O_EXCL)
}

// Write appends to the file. All parts of a large object are written past the page cache, as far as
// their memory and their place in the file allow it.
func (o *staged) Write(p []byte) (int, error) {
	if err := o.begin(); err != nil {
		return 0, err
	}
	n := 0
	if o.size+int64(len(p)) >= directFrom && !o.options.NoSync {
		n = writeDirect(o.fd, p, o.size)
	}
	if err := writeFull(o.fd, p[n:], o.size+int64(n)); err != nil {
		return n, err
	}
	o.size += int64(len(p))
	return len(p), nil
}

// WriteAt replaces bytes of the file.
func (o *staged) WriteAt(p []byte, off int64) (int, error) {
	if err := writeFull(o.fd, p, off); err != nil {
		return 0, err
	}
	return len(p), nil
}

// finish ends the writing.
func (o *staged) finish() error {
	if err := o.begin(); err != nil {
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
		o.fd, err = openAs(o.s.fd, o.name, unix.O_WRONLY|flags, o.limit.mode())
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
	if o.s != nil {
		o.r.area.done(o.s)
		o.s = nil
	}
}

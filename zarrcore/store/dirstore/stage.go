package dirstore

import (
	"context"
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

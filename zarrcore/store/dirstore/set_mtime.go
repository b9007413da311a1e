package dirstore

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

var _ store.Stamper = (*Driver)(nil)

// Stamp sets the modification time of a directory; see store.Stamper. Only the owner of a directory
// may set any time. Others may set it to now, by the kernel's clock, which has ticks of
// milliseconds.
func (d *dirs) Stamp(ctx context.Context, dir string, at time.Time) error {
	r, err := d.begin(ctx)
	if err != nil {
		return err
	}
	f, err := r.openDir(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	r.area.mu.Lock() // leavingTime would put the root's time back
	defer r.area.mu.Unlock()
	if !at.IsZero() {
		return setModTime(f, at)
	}
	err = setModTime(f, time.Now())
	if err == unix.EPERM {
		now := unix.Timespec{Nsec: unix.UTIME_NOW}
		err = unix.UtimesNanoAt(int(f.Fd()), ".", []unix.Timespec{now, now}, 0)
	}
	return err
}

func setModTime(f *os.File, at time.Time) error {
	mtime, err := unix.TimeToTimespec(at)
	if err != nil {
		return err
	}
	return unix.UtimesNanoAt(int(f.Fd()), ".", []unix.Timespec{{Nsec: unix.UTIME_OMIT}, mtime}, 0)
}

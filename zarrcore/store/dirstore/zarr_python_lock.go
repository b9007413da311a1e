package dirstore

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

var _ store.Locker = (*Driver)(nil)

// Lock takes the lock by which zarr-python 2's ProcessSynchronizer excludes other writers of one
// chunk or document: a POSIX lock on the file of the key's name below Options.SyncDir. The file
// stays. Without that option it does nothing.
func (d *writer) Lock(ctx context.Context, key string) (unlock func(), err error) {
	r, err := d.begin(ctx)
	if err != nil {
		return nil, err
	}
	if d.locks == nil {
		return func() {}, nil
	}
	p, err := (&maker{r: d.locks}).place(r.full(key))
	if err != nil {
		return nil, err
	}
	defer p.close()
	fd, err := openat(p.dir, p.name, unix.O_RDWR|unix.O_CREAT)
	if err != nil {
		return nil, err
	}
	if err := waitLock(ctx, fd); err != nil {
		return nil, err
	}
	return func() { unix.Close(fd) }, nil
}

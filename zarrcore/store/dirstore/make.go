package dirstore

import (
	"context"
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

var _ store.Maker = (*Driver)(nil)

// Make makes a directory with objects; see store.Maker. It is made in the staging folder, and
// renamed to its place as a whole.
func (d *writer) Make(ctx context.Context, dir string, objects map[string][]byte) error {
	p, err := d.place(ctx, dir)
	if err != nil {
		return err
	}
	defer p.close()
	s, err := p.r.area.staging()
	if err != nil {
		return err
	}
	defer p.r.area.done(s)
	name := s.newName()
	if err = s.fill(name, objects, !d.options.NoSync); err == nil {
		err = unix.Renameat(s.fd, name, p.dir, p.name)
	}
	if err == nil {
		return nil
	}
	p.r.area.discard(s, name) // best effort
	switch err {
	case unix.ENOTEMPTY, unix.EEXIST, unix.ENOTDIR:
		return fs.ErrExist
	case unix.ENOENT:
		return fs.ErrNotExist
	case unix.EXDEV: // another file system is mounted there
		return errors.ErrUnsupported
	}
	return err
}

// fill makes the directory name in the folder, with objects in it.
func (s *staging) fill(name string, objects map[string][]byte, durable bool) error {
	if err := unix.Mkdirat(s.fd, name, 0o777); err != nil {
		return err
	}
	dir, err := openIn(s.fd, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer dir.Close()
	fd := int(dir.Fd())
	for object, data := range objects {
		if err := writeNew(fd, object, data, durable); err != nil {
			return err
		}
	}
	if !durable {
		return nil
	}
	return fsync(fd)
}

// writeNew writes a new file.
func writeNew(dir int, name string, data []byte, durable bool) error {
	f, err := openIn(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return err
	}
	defer f.Close()
	err = writeFull(int(f.Fd()), data, 0)
	if err == nil {
		err = stamp(dir, name)
	}
	if err == nil && durable {
		err = fsync(int(f.Fd()))
	}
	return err
}

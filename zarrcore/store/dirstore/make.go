package dirstore

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

var _ store.Maker = (*Driver)(nil)

// Make makes a directory with objects; see store.Maker. It is made in the staging folder, and
// renamed to its place as a whole.
func (d *writer) Make(
	ctx context.Context, dir, like string, objects map[string][]byte,
) error {
	p, err := d.place(ctx, dir)
	if err != nil {
		return err
	}
	defer p.close()
	made := newDir{objects: objects, durable: !d.options.NoSync}
	if like != "" {
		if made.like, err = p.r.directory(like); err != nil {
			return err
		}
		defer made.like.close()
		made.limit = p.r.findLimit(like)
	}
	s, err := p.r.area.staging()
	if err != nil {
		return err
	}
	defer p.r.area.done(s)
	name := s.newName()
	if err = made.fill(s.fd, name); err == nil {
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
		if made.isAlike() {
			return made.inPlace(p)
		}
		return errors.ErrUnsupported
	}
	return err
}

// newDir is a directory that is made with objects in it.
type newDir struct {
	objects map[string][]byte
	durable bool
	like    place // of the directory whose rights it gets; the zero place: there is none
	limit   limit // of objects that the other directory does not have
}

func (n *newDir) isAlike() bool { return n.like.r != nil }

// inPlace makes the directory where it is to be. Until it is whole, only its owner may look into
// it.
func (n *newDir) inPlace(p place) error {
	err := n.fill(p.dir, p.name)
	if err == unix.EEXIST {
		return fs.ErrExist
	}
	if err != nil {
		p.r.os.RemoveAll(p.key) // best effort
	}
	return err
}

// fill makes the directory name in the one that is open as above, with its objects.
func (n *newDir) fill(above int, name string) error {
	mode := uint32(0o777)
	if n.isAlike() {
		mode = 0o700
	}
	if err := unix.Mkdirat(above, name, mode); err != nil {
		return err
	}
	dir, err := openIn(above, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer dir.Close()
	fd := int(dir.Fd())
	for _, object := range slices.Backward(slices.Sorted(maps.Keys(n.objects))) {
		if err := n.write(fd, object); err != nil {
			return err
		}
	}
	if n.isAlike() {
		n.like.giveRights(fd)
	}
	if !n.durable {
		return nil
	}
	return fsync(fd)
}

// write writes an object into the directory.
func (n *newDir) write(dir int, name string) error {
	f, err := n.create(dir, name)
	if err != nil {
		return err
	}
	defer f.Close()
	err = writeFull(int(f.Fd()), n.objects[name], 0)
	if err == nil {
		err = stamp(dir, name)
	}
	if err == nil && n.durable {
		err = fsync(int(f.Fd()))
	}
	return err
}

// create makes the file of an object. Users that may not read the object of the other directory may
// not read this one.
func (n *newDir) create(dir int, name string) (*os.File, error) {
	fd, err := openAs(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, n.limit.mode())
	if err != nil {
		return nil, err
	}
	if n.isAlike() {
		n.limit.keep(fd)
		if old, err := n.like.r.straightPlace(n.like.key + "/" + name); err == nil {
			old.giveRights(fd)
			old.close()
		}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// giveRights gives the file or directory that is open as fd the rights of what is at the place.
func (p place) giveRights(fd int) {
	if st, err := p.lstat(); err == nil {
		p.keep(fd, &st)
	}
}

package dirstore

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// StatAlong describes names in dir, and in all directories above it; see store.PathStater. Each
// directory is opened in the one above it, so that a path of many levels is not walked again for
// each of them.
func (d *reader) StatAlong(
	ctx context.Context, dir string, names []string, tell func(dir, name string, info store.Info),
) error {
	r, err := d.begin(ctx)
	if err != nil {
		return err
	}
	defer r.keep()
	fd, err := unix.Openat(r.fd, ".", pathOnly|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { unix.Close(fd) }()
	if err := statIn(fd, "", names, tell); err != nil || dir == "" {
		return err
	}
	length := 0 // of dir, as far as it was walked
	for name := range strings.SplitSeq(dir, "/") {
		below, err := unix.Openat(fd, name,
			pathOnly|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == unix.ENOENT {
			return nil
		} else if err != nil {
			return err
		}
		unix.Close(fd)
		fd, length = below, length+len(name)
		if err := statIn(fd, dir[:length], names, tell); err != nil {
			return err
		}
		length++ // the slash
	}
	return nil
}

// errLinked says that a link would have to be followed.
var errLinked = errors.New("dirstore: a symbolic link is in the place of an object")

func statIn(
	fd int, dir string, names []string, tell func(dir, name string, info store.Info),
) error {
	for _, name := range names {
		var st unix.Stat_t
		err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
		switch {
		case err == unix.ENOENT:
		case err != nil:
			return err
		case kindOf(&st) == unix.S_IFLNK:
			return errLinked
		default:
			tell(dir, name, infoOf(name, &st))
		}
	}
	return nil
}

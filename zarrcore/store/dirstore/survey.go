package dirstore

import (
	"context"
	"path"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

var _ store.Surveyor = (*Driver)(nil)

// Survey describes the children of dir; see store.Surveyor. It is one fstatat of each name in the
// open directory, which follows no link: links are resolved beneath the root like any other path.
// A directory that cannot be looked at is described by its name.
func (d *reader) Survey(
	ctx context.Context, dir string, yield func(store.Entry, store.Info) error,
) error {
	return d.each(ctx, dir, func(r *root, fd int, name string, kind entryKind) error {
		if kind == isDirectory {
			info, err := r.statIn(fd, dir, name)
			if err != nil {
				info = store.Info{Name: name, Dir: true}
			}
			return yield(store.Entry{Name: name, Dir: true}, info)
		}
		if isHidden(name) {
			return nil
		}
		info, err := r.statIn(fd, dir, name)
		if err != nil {
			return nil
		}
		link := kind == isLink || kind == lookAtIt && r.isLink(path.Join(dir, name))
		return yield(store.Entry{Name: name, Dir: info.Dir, Link: link}, info)
	})
}

// statIn describes the child name of the directory dir, which is open as fd.
func (r *root) statIn(fd int, dir, name string) (store.Info, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return store.Info{}, err
	}
	switch kindOf(&st) {
	case unix.S_IFREG, unix.S_IFDIR:
		return infoOf(name, &st), nil
	case unix.S_IFLNK:
		if dir != "" {
			name = dir + "/" + name
		}
		return r.stat(name)
	}
	return store.Info{}, ErrNotRegular
}

package dirstore

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// entryKind is what a directory itself says of an entry, without looking at the entry.
type entryKind uint8

const (
	lookAtIt entryKind = iota // the file system does not say
	isFile                    // or a pipe, socket, device
	isDirectory
	isLink
)

// List calls yield for each child of dir; see store.Driver. The directory itself tells files from
// directories; only links are looked at one by one. What is neither, such as a pipe or a broken
// link, is listed as an object, and opening it returns the reason.
func (d *reader) List(ctx context.Context, dir string, yield func(store.Entry) error) error {
	return d.each(ctx, dir, func(r *root, _ int, name string, kind entryKind) error {
		e := r.entry(dir, name, kind)
		if !e.Dir && isHidden(name) {
			return nil
		}
		return yield(e)
	})
}

// each calls do for each child of dir, which is open as fd, until ctx is done.
func (d *reader) each(
	ctx context.Context, dir string, do func(r *root, fd int, name string, kind entryKind) error,
) error {
	r, err := d.begin(ctx)
	if err != nil {
		return err
	}
	f, err := r.openDir(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	fd := int(f.Fd()) // once: each call may be a system call
	return eachEntry(f, func(name string, kind entryKind) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if dir == "" && isStaging(name) && r.above == nil {
			return nil
		}
		return do(r, fd, name, kind)
	})
}

// openDir opens a directory to list or change it. A dangling link is not a directory.
func (r *root) openDir(dir string) (*os.File, error) {
	if dir == "" {
		dir = "."
	}
	fd, err := r.open(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err == nil {
		return os.NewFile(uintptr(fd), dir), nil
	}
	if err = r.explain(dir, err); err == ErrDangling {
		err = fs.ErrNotExist
	}
	return nil, err
}

// entry returns a child of dir as a listing shows it.
func (r *root) entry(dir, name string, kind entryKind) store.Entry {
	e := store.Entry{Name: name, Dir: kind == isDirectory}
	if kind == isLink || kind == lookAtIt {
		key := path.Join(dir, name)
		info, err := r.stat(key)
		e.Dir = err == nil && info.Dir
		e.Link = kind == isLink || r.isLink(key)
	}
	return e
}

// isHidden reports whether a file of this name is what a writer leaves for a moment, or after a
// crash. Directories are never hidden, but staging folders in the root: a group may have any name.
func isHidden(name string) bool {
	return strings.HasSuffix(name, ".partial") || strings.HasSuffix(name, lockSuffix) ||
		isTemp(name)
}

const (
	tempPrefix = ".zarrfs-"
	tempSuffix = ".tmp"
)

// newTempName returns a name that nothing beside an object has.
func newTempName() string { return fmt.Sprintf("%s%016x%s", tempPrefix, rand.Uint64(), tempSuffix) }

// isTemp reports whether a file of this name is one of ours beside an object.
func isTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}

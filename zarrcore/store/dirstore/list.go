package dirstore

import (
	"context"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// listBatch is how many entries are read from a directory at once: enough to make system calls cheap, few enough that a directory
// of millions needs no memory to speak of.
const listBatch = 1000

// List calls yield for each child of dir; see store.Driver. The directory itself tells files from directories; only links are
// looked at one by one. What is neither, such as a pipe or a broken link, is listed as an object, and opening it tells the reason.
func (d *Driver) List(ctx context.Context, dir string, yield func(store.Entry) error) error {
	r, err := d.begin(ctx)
	if err != nil {
		return err
	}
	f, err := r.openDir(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		batch, err := f.ReadDir(listBatch)
		for _, e := range batch {
			if err := r.yield(ctx, dir, e, yield); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return bare(err)
		}
	}
}

// openDir opens a directory to list or change it. A dangling link is no directory.
func (r *root) openDir(dir string) (*os.File, error) {
	if dir == "" {
		dir = "."
	}
	f, err := r.os.OpenFile(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err == nil {
		return f, nil
	}
	if err = r.explain(dir, bare(err)); err == ErrDangling {
		err = fs.ErrNotExist
	}
	return nil, err
}

func (r *root) yield(ctx context.Context, dir string, e fs.DirEntry, yield func(store.Entry) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entry := store.Entry{Name: e.Name(), Dir: e.IsDir()}
	if e.Type()&fs.ModeSymlink != 0 {
		entry.Dir = r.isDir(dir, entry.Name)
	}
	if !entry.Dir && hidden(entry.Name) {
		return nil
	}
	return yield(entry)
}

func (r *root) isDir(dir, name string) bool {
	key := name
	if dir != "" {
		key = dir + "/" + name
	}
	info, err := r.stat(key)
	return err == nil && info.Dir
}

// hidden tells whether a file of this name is what a writer leaves for a moment, or after a crash. Directories are never hidden:
// a group may have any name.
func hidden(name string) bool {
	return strings.HasSuffix(name, ".partial") || strings.HasSuffix(name, ".__lock") ||
		strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}

package dirstore

import (
	"context"
	"io/fs"
	"path"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Hold opens a directory of the store as a store of its own; see store.Holder. Its paths are
// resolved beneath that directory's descriptor, so that they follow a rename and end with a
// removal. It stages in the staging folder of the whole store.
func (d *dirs) Hold(ctx context.Context, dir string) (store.Driver, error) {
	r, err := d.begin(ctx)
	if err != nil {
		return nil, err
	}
	in, err := r.holdStraight(dir)
	if err == store.ErrThroughLink {
		return nil, err
	}
	if err != nil {
		// of which os.Root has no error of its own
		if info, err := r.stat(dir); err == nil && !info.Dir {
			return nil, fs.ErrNotExist
		}
		return nil, r.explain(dir, err)
	}
	return newDriver(in, "", d.options, d.locks), nil
}

// Identity returns which directory dir is; see store.Identifier.
func (d *dirs) Identity(ctx context.Context, dir string) (string, error) {
	r, err := d.begin(ctx)
	if err != nil {
		return "", err
	}
	if dir == "" {
		dir = "."
	}
	fd, err := r.open(dir, pathOnly|unix.O_DIRECTORY)
	if err != nil {
		return "", r.explain(dir, err)
	}
	defer unix.Close(fd)
	return birth(fd), nil
}

// Prune removes directories that hold nothing; see store.Pruner. Links are left alone, and so is
// what they lead to.
func (d *dirs) Prune(ctx context.Context, dir string) error {
	r, err := d.begin(ctx)
	if err != nil {
		return err
	}
	f, err := r.openDir(dir)
	if err != nil {
		return ignoring(err, fs.ErrNotExist)
	}
	defer f.Close()
	var below []string
	empty := true
	err = eachEntry(f, func(name string, kind entryKind) error {
		if kind != isDirectory || dir == "" && isStaging(name) && r.above == nil {
			empty = false
			return nil
		}
		below = append(below, name)
		return ctx.Err()
	})
	for _, name := range below {
		if err == nil {
			err = d.Prune(ctx, path.Join(dir, name))
		}
	}
	if err != nil || !empty || dir == "" {
		return err
	}
	p, err := r.place(dir)
	if err != nil {
		return ignoring(err, fs.ErrNotExist)
	}
	defer p.close()
	return ignoring(p.unlink(unix.AT_REMOVEDIR), fs.ErrNotExist, unix.ENOTEMPTY, unix.EEXIST)
}

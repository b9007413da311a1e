package dirstore

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Hold opens a directory of the store as a store of its own; see store.Holder. Its paths are
// resolved beneath that directory's descriptor, so that they follow a rename and end with a
// removal. It stages in the staging folder of the whole store.
func (d *Driver) Hold(ctx context.Context, dir string) (store.Driver, error) {
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
	held := &Driver{options: d.options, locks: d.locks}
	held.root.Store(in)
	return held, nil
}

// Identity returns which directory dir is; see store.Identifier.
func (d *Driver) Identity(ctx context.Context, dir string) (string, error) {
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

// holdStraight is hold for a directory to which no link leads.
func (r *root) holdStraight(dir string) (*root, error) {
	fd, err := r.openStraightParent(dir)
	if err == store.ErrThroughLink {
		return nil, err
	}
	if err != nil {
		return r.hold(dir) // which fails, and says more of it
	}
	defer unix.Close(fd)
	in, err := r.hold(dir)
	if err != nil {
		return nil, err
	}
	var straight, held unix.Stat_t
	if err := errors.Join(fstat(fd, &straight), fstat(in.fd, &held)); err != nil {
		return nil, err
	}
	// it was replaced meanwhile, maybe by a link
	if straight.Ino != held.Ino || straight.Dev != held.Dev {
		return nil, store.ErrThroughLink
	}
	return in, nil
}

func (r *root) hold(dir string) (*root, error) {
	in, err := r.os.OpenRoot(dir)
	if err != nil {
		return nil, bare(err)
	}
	f, err := in.Open(".")
	if err != nil {
		in.Close()
		return nil, bare(err)
	}
	held := &root{os: in, dir: f, fd: int(f.Fd()), beneath: r.beneath, above: r.whole(),
		path: r.full(dir)}
	for _, own := range r.paths {
		held.paths = append(held.paths, append(slices.Clone(own), strings.Split(dir, "/")...))
	}
	return held, nil
}

// whole returns the root of the whole store.
func (r *root) whole() *root {
	if r.above != nil {
		return r.above
	}
	return r
}

// full returns what a path below r is called in the whole store, as long as r is not renamed.
func (r *root) full(name string) string {
	if r.above == nil {
		return name
	}
	return path.Join(r.path, name)
}

// stays reports whether r is held and still has the path that it had.
func (r *root) stays() bool {
	if r.above == nil {
		return false
	}
	there, found := r.above.dirIdentity(r.path)
	var st unix.Stat_t
	return found && fstat(r.fd, &st) == nil &&
		there == identity{mount: uint64(st.Dev), inode: st.Ino}
}

// Prune removes directories that hold nothing; see store.Pruner. Links are left alone, and so is
// what they lead to.
func (d *Driver) Prune(ctx context.Context, dir string) error {
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

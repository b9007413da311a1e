package dirstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"runtime"

	"golang.org/x/sys/unix"
)

const (
	tempPrefix = ".zarrfs-"
	tempSuffix = ".tmp"
)

// Put stores data at key: in a temporary file beside it, synced, then renamed over it. Missing parents are made. Modes follow the
// umask. The directory is not synced: after a power cut the object is the whole old or the whole new one.
func (d *Driver) Put(ctx context.Context, key string, data []byte) error {
	r, err := d.begin(ctx)
	if err != nil {
		return err
	}
	parent, err := r.makeParent(path.Dir(key))
	if err != nil {
		return bare(err)
	}
	defer parent.Close()
	temp := fmt.Sprintf("%s%d-%016x%s", tempPrefix, os.Getpid(), rand.Uint64(), tempSuffix)
	err = writeFile(parent, temp, data)
	if err == nil {
		err = parent.Rename(temp, path.Base(key))
	}
	if err != nil {
		parent.Remove(temp) // best effort: the name is hidden anyway
		return bare(err)
	}
	return nil
}

// makeParent opens the directory dir ("." is the root), and makes it first where it is missing.
func (r *root) makeParent(dir string) (*os.Root, error) {
	parent, err := r.os.OpenRoot(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return parent, err
	}
	if err := r.os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	return r.os.OpenRoot(dir)
}

func writeFile(dir *os.Root, name string, data []byte) error {
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Delete removes the object at key, or the link that stands for it, and never a directory.
func (d *Driver) Delete(ctx context.Context, key string) error {
	r, err := d.begin(ctx)
	if err != nil {
		return err
	}
	dir, name := path.Split(key)
	parent, err := r.openDir(path.Clean(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	err = unix.Unlinkat(int(parent.Fd()), name, 0)
	runtime.KeepAlive(parent)
	switch err {
	case unix.EISDIR, unix.ENOENT, unix.ENOTDIR, unix.ENAMETOOLONG:
		return fs.ErrNotExist
	}
	return err
}

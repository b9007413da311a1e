// Package dirstore keeps a store in a local directory: one file per object, one directory per "/"
// of its key.
//
// # Staying inside
//
// No key and no symbolic link leads outside the directory, however names are swapped meanwhile:
// every path is resolved beneath the root, by the kernel's openat2(2) with RESOLVE_BENEATH where
// there is one, otherwise by os.Root. A link that stays inside is followed; one that leaves, or is
// absolute, is [ErrOutside]. Pipes, sockets and devices are [ErrNotRegular], and are never waited
// for.
//
// # Missing or broken
//
// A missing object is fs.ErrNotExist, which makes Zarr show fill values. So a file that is a
// symbolic link to nothing, as git-annex leaves where content was not fetched, is not called
// missing: it is [ErrDangling].
//
// # Speed
//
// Opening an object is one openat2 of its whole path: only 0.1 µs per path element slower than
// openat in a directory kept open, and no kept directory can turn stale. The one directory kept
// open for long is the root; see [Driver.Refresh].
//
// # Writing
//
// An object is written into a temporary file, synced, and renamed to its place. The temporary files
// of a driver are in one staging folder, which Close removes. A commit holds a lock that
// tensorstore knows: see tensorstore_lock.go. Large objects pass the page cache: see direct.go. A
// file that replaces another one gets its mode, owner and extended attributes: see keep.go.
// Directories are made as they are needed, below the root or the directory that is held (see
// [Driver.Hold]); modes follow the umask, or Options.KeepRights.
//
// # Leftovers
//
// Four names are reserved: .zarrfs-RANDOM in the root for staging folders, .zarrfs-*.tmp and
// *.__lock for files, .zarrfs-unfinished for the mark of a directory that is being made. As long as
// a driver lives, it alone removes what is its own: it holds a lock in its staging folder, and
// notes there what it has elsewhere. Once it is dead, [Driver.Clean] of any other one removes the
// folder and what is noted: files by their names, directories only by their birth or the text of
// their mark. A directory that has such a mark, and that no living or dead program notes, is
// [Driver.Abandoned]: it goes with its group.
//
// # Other writers
//
// Files that writers leave while they work are hidden from listings: *.partial (zarr-python),
// *.__lock (tensorstore) and our own .zarrfs-*.tmp; and so are staging folders.
package dirstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

var (
	// ErrOutside is returned for a path that a symbolic link leads outside the store. It wraps
	// fs.ErrPermission.
	ErrOutside = fmt.Errorf("dirstore: a symbolic link leads outside the store (copy what it "+
		"leads to into the store, or mount the folder that holds both): %w", fs.ErrPermission)

	// ErrNotRegular is returned for a pipe, socket or device in the place of an object.
	ErrNotRegular = errors.New("dirstore: not a regular file")

	// ErrDangling is returned for a symbolic link to nothing in the place of an object.
	ErrDangling = errors.New("dirstore: a symbolic link to nothing, its content is not here")
)

var (
	_ store.Writer    = (*Driver)(nil)
	_ store.Refresher = (*Driver)(nil)
	_ store.Peeker    = (*Driver)(nil)

	_ store.PathStater = (*Driver)(nil)
	_ store.Holder     = (*Driver)(nil)
	_ store.Identifier = (*Driver)(nil)
)

// Driver is a store in one directory. It implements store.Writer and store.Refresher.
type Driver struct {
	path    string // absolute, for Refresh
	options Options
	root    atomic.Pointer[root] // nil after Close
	locks   *root                // of Options.SyncDir, or nil
	mu      sync.Mutex           // serialises replacing root
}

// Options are the settings of a driver. The zero value is the default.
type Options struct {
	// NoSync: nothing is made durable. A power cut may empty objects that were written.
	NoSync bool

	// SyncDir is the folder of zarr-python 2's ProcessSynchronizer, which Lock uses; it is made
	// where it is missing. "": none.
	SyncDir string

	// KeepRights: a directory that is made for an object gets the owner and mode of the one above
	// it, if this process may set them. Otherwise the mode follows the umask.
	KeepRights bool
}

// Open returns the store in the directory at path; options may be nil. Links in path itself are
// followed wherever they lead: the user gave it.
func Open(path string, options *Options) (*Driver, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	r, err := openRoot(abs)
	if err != nil {
		return nil, err
	}
	d := &Driver{path: abs}
	if options != nil {
		d.options = *options
	}
	if dir := d.options.SyncDir; dir != "" {
		if d.locks, err = makeRoot(dir); err != nil {
			return nil, err
		}
	}
	d.root.Store(r)
	return d, nil
}

func makeRoot(dir string) (*root, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	return openRoot(dir)
}

// Writable reports whether the directory lets this user make files in it.
func (d *Driver) Writable() bool {
	r := d.root.Load()
	if r == nil {
		return false
	}
	defer r.keep()
	return unix.Faccessat(r.fd, ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS) == nil
}

// Close ends the use of the store and removes its staging folder, with what is staged and not
// committed. It also removes what Clean had to leave and no process holds any more. Open objects
// stay usable. What calls still run may finish: the root's descriptors are closed by the garbage
// collector when the last of them has returned.
func (d *Driver) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.root.Swap(nil)
	if r == nil {
		return fs.ErrClosed
	}
	if r.above != nil {
		return errors.Join(r.os.Close(), r.dir.Close())
	}
	return errors.Join(r.endStaging(), r.clean(nil, 0))
}

// begin starts an operation: it refuses a cancelled ctx and a closed store.
func (d *Driver) begin(ctx context.Context) (*root, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r := d.root.Load(); r != nil {
		return r, nil
	}
	return nil, fs.ErrClosed
}

// objectFlags open an object for reading. O_NONBLOCK: opening a pipe must not wait for its writer.
// It means nothing to a regular file.
const objectFlags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY

// Open opens the object at key for reading; see store.Driver.
func (d *Driver) Open(ctx context.Context, key string) (store.Object, error) {
	r, err := d.begin(ctx)
	if err != nil {
		return nil, err
	}
	fd, err := r.open(key, objectFlags)
	if err != nil {
		return nil, r.explain(key, err)
	}
	return newObject(ctx, fd, key)
}

// Stat describes one object or directory; see store.Driver.
func (d *Driver) Stat(ctx context.Context, key string) (store.Info, error) {
	r, err := d.begin(ctx)
	if err != nil {
		return store.Info{}, err
	}
	return r.stat(key)
}

func (r *root) stat(key string) (store.Info, error) {
	st, rights, err := r.look(key)
	if err != nil {
		return store.Info{}, err
	}
	info := infoOf(key, &st)
	info.Rights = rights
	return info, nil
}

// look describes the file or directory that key leads to.
func (r *root) look(key string) (st unix.Stat_t, rights store.Rights, err error) {
	name := key
	if key == "" {
		name = "."
	}
	fd, err := r.open(name, statFlags)
	if err != nil {
		return st, rights, r.explain(name, err)
	}
	defer unix.Close(fd)
	if err := fstat(fd, &st); err != nil {
		return st, rights, err
	}
	if key == "" && st.Nlink == 0 { // held open, and removed. An object may be replaced meanwhile
		return st, rights, fs.ErrNotExist
	}
	if k := kindOf(&st); k != unix.S_IFREG && k != unix.S_IFDIR {
		return st, rights, ErrNotRegular
	}
	return st, rightsOf(fd, &st), nil
}

// explain says what an errno of opening key means for a store. A path through a file, or with a
// name that no directory can hold, names nothing.
func (r *root) explain(key string, err error) error {
	switch err {
	case unix.ENOENT:
		if r.isLink(key) {
			return ErrDangling
		}
		return fs.ErrNotExist
	case unix.ENOTDIR, unix.ENAMETOOLONG:
		return fs.ErrNotExist
	case unix.EXDEV:
		return ErrOutside
	case unix.ENXIO, unix.ENODEV: // a socket; a device without driver
		return ErrNotRegular
	}
	return err
}

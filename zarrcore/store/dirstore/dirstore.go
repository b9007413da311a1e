// Package dirstore keeps a store in a local directory: one file per object, one directory per "/"
// of its key.
//
// # Staying inside
//
// No key and no symbolic link leads outside the directory, however names are swapped meanwhile.
// Every path is resolved beneath the root: by the kernel's openat2(2) with RESOLVE_BENEATH if there
// is one, otherwise by os.Root. A link that stays inside is followed. A link to the outside, or an
// absolute one, is [ErrOutside]. Pipes, sockets and devices are [ErrNotRegular], and are never
// waited for.
//
// # Missing or broken
//
// A missing object is fs.ErrNotExist, which makes Zarr show fill values. So a symbolic link to
// nothing is not called missing: it is [ErrDangling]. git-annex leaves such links in place of
// content that was not fetched.
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
// file that replaces another one gets its mode, owner and extended attributes: see keep_rights.go.
// A new one is not more open than its array's document: see limit_rights.go.
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
// [Driver.IsAbandoned]: it goes with its group.
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
	base
	reader
	writer
	dirs
	linker
	cleaner
}

type (
	// reader reads objects, and lists directories.
	reader struct{ *base }
	// writer writes objects.
	writer struct{ *base }
	// dirs renames and removes directories, and holds them open.
	dirs struct {
		*base
		writer *writer // makes durable what is renamed
	}
	// linker makes and follows links.
	linker struct{ *base }
	// cleaner notes what is unfinished, and removes what killed programs have left.
	cleaner struct{ *base }
)

// Options are the settings of a driver. The zero value is the default.
type Options struct {
	// NoSync: nothing is made durable. A power cut may empty objects that were written.
	NoSync bool

	// SyncDir is the folder of zarr-python 2's ProcessSynchronizer, which Lock uses; it is made
	// where it is missing. "": none.
	SyncDir string

	// KeepRights: a directory that is made for an object gets the owner and mode of the one above
	// it, if this process may set them. Otherwise the mode follows the umask, and that of the
	// array's document: see limit_rights.go.
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
	var o Options
	if options != nil {
		o = *options
	}
	var locks *root
	if o.SyncDir != "" {
		if locks, err = makeRoot(o.SyncDir); err != nil {
			return nil, err
		}
	}
	return newDriver(r, abs, o, locks), nil
}

func newDriver(r *root, path string, o Options, locks *root) *Driver {
	d := &Driver{base: base{path: path, options: o, locks: locks}}
	d.root.Store(r)
	b := &d.base
	d.reader, d.writer, d.linker, d.cleaner = reader{b}, writer{b}, linker{b}, cleaner{b}
	d.dirs = dirs{b, &d.writer}
	return d
}

func makeRoot(dir string) (*root, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	return openRoot(dir)
}

// objectFlags open an object for reading. O_NONBLOCK: opening a pipe must not wait for its writer.
// It means nothing to a regular file.
const objectFlags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY

// Open opens the object at key for reading; see store.Driver.
func (d *reader) Open(ctx context.Context, key string) (store.Object, error) {
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
func (d *reader) Stat(ctx context.Context, key string) (store.Info, error) {
	r, err := d.begin(ctx)
	if err != nil {
		return store.Info{}, err
	}
	return r.stat(key)
}

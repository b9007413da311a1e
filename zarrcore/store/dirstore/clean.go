package dirstore

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

var _ store.Cleaner = (*Driver)(nil)

// Clean removes the staging folders whose owner is not locked, so whose program is dead, and the
// temporary files and directories that they note. What is locked it looks at again later, until
// Close: a program that is killed keeps its locks until its last system call has returned and its
// last file is closed, which may take long.
func (d *Driver) Clean(ctx context.Context) error {
	r, err := d.begin(ctx)
	if err != nil {
		return err
	}
	dir, err := r.openDir("")
	if err != nil {
		return err
	}
	defer dir.Close()
	var folders []string
	err = eachEntry(dir, func(name string, _ entryKind) error {
		if isStaging(name) {
			folders = append(folders, name)
		}
		return ctx.Err()
	})
	return errors.Join(err, r.clean(folders, firstPause))
}

// held are staging folders of programs that hold a lock, whether they live or are being killed.
type held struct {
	mu      sync.Mutex
	folders []string
	again   *time.Timer // looks at them again; nil before Clean
}

// firstPause is how long after Clean what was held is looked at again.
const firstPause = 100 * time.Millisecond

// clean cleans folders, and what was held before. What is held still it looks at again after the
// pause, then after twice of it and so on; if that is 0, no more. What could not be removed waits
// for another Clean.
func (r *root) clean(folders []string, pause time.Duration) (err error) {
	h := &r.held
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.again != nil {
		h.again.Stop()
	}
	h.folders = slices.DeleteFunc(append(h.folders, folders...), func(name string) bool {
		folderErr := r.cleanFolder(name)
		if errors.Is(folderErr, errLocked) {
			return false
		}
		err = errors.Join(err, folderErr)
		return true
	})
	if pause == 0 {
		h.folders = nil
	}
	if len(h.folders) > 0 {
		h.again = time.AfterFunc(pause, func() { r.clean(nil, 2*pause) })
	}
	return err
}

// cleanFolder removes the staging folder of a dead program. Its lock is held meanwhile. While
// somebody holds that, or a lock that the owner notes, it is errLocked. After any error the folder
// stays, since only its notes have the names of what else is to be removed.
func (r *root) cleanFolder(name string) error {
	defer r.keep()
	dir, err := openIn(r.fd, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		// gone; or something else of that name, or another user's
		return ignoring(err, unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EACCES)
	}
	defer dir.Close()
	owner, err := openIn(int(dir.Fd()), ownerName, unix.O_RDWR|unix.O_CREAT)
	if err != nil {
		return ignoring(err, unix.ENOENT) // gone
	}
	defer owner.Close()
	if err := tryLock(int(owner.Fd())); err != nil || !linked(owner) {
		return ignoring(err, errNoLocks)
	}
	for _, p := range notes(owner) {
		err = errors.Join(err, r.sweepFile(p), r.sweepTree(p, dir))
	}
	if err = errors.Join(err, r.sweepStrays(dir)); err != nil {
		return err // the notes stay for another Clean
	}
	return bare(r.os.RemoveAll(name))
}

// errNoMore ends a walk that has found all.
var errNoMore = errors.New("dirstore: nothing more to find")

func ignoring(err error, harmless ...error) error {
	for _, h := range harmless {
		if err == h {
			return nil
		}
	}
	return err
}

// notesMost is far more than a driver that works as it should can need, in bytes.
const notesMost = 4 << 20

// notes returns the paths that an owner notes.
func notes(owner *os.File) (paths []string) {
	b, err := io.ReadAll(io.NewSectionReader(owner, 0, notesMost))
	if err != nil {
		return nil
	}
	for note := range bytes.SplitSeq(b, []byte{0}) {
		if store.ValidKey(string(note)) {
			paths = append(paths, string(note))
		}
	}
	return paths
}

// sweepFile removes the temporary file at a path that was noted. It is looked at first: nothing is
// removed that is not by its name a temporary file, and no lock that somebody holds: errLocked.
func (r *root) sweepFile(noted string) error {
	name := path.Base(noted)
	isLock := strings.HasSuffix(name, lockSuffix)
	if !isLock && !isTemp(name) {
		return nil
	}
	p, err := r.place(noted)
	if err != nil {
		return nil // its directory is gone
	}
	defer p.close()
	if isLock {
		return p.sweepLock()
	}
	return ignoring(p.unlink(0), os.ErrNotExist)
}

func (p place) sweepLock() error {
	fd, err := openat(p.dir, p.name, unix.O_WRONLY)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	if err := tryLock(fd); err != nil || !p.leadsTo(fd) {
		return ignoring(err, errNoLocks)
	}
	return p.unlink(0)
}

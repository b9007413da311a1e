package dirstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
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

// Clean removes the staging folders of dead programs: the owner of such a folder is not locked. It
// also removes the temporary files and directories that these folders note. Clean looks again
// later, until Close, at what is locked. A killed program keeps its locks until its last system
// call has returned and its last file is closed. That may take long.
func (d *cleaner) Clean(ctx context.Context) error {
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
	return errors.Join(err, r.leftovers.clean(folders, firstPause))
}

// leftovers are the staging folders of other programs in a store, and what these note: all that is
// to be removed once their programs are dead.
type leftovers struct {
	in   *root // of the whole store
	mu   sync.Mutex
	held []string // folders of programs that hold a lock, whether they live or are being killed
	// looks at them again; nil before Clean
	again *time.Timer
}

// firstPause is how long after Clean what was held is looked at again.
const firstPause = 100 * time.Millisecond

// clean cleans folders, and what was held before. What is held still it looks at again after the
// pause, then after twice of it and so on; if that is 0, no more. What could not be removed waits
// for another Clean.
func (l *leftovers) clean(folders []string, pause time.Duration) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.again != nil {
		l.again.Stop()
	}
	l.held = slices.DeleteFunc(append(l.held, folders...), func(name string) bool {
		folderErr := l.cleanFolder(name)
		if errors.Is(folderErr, errLocked) {
			return false
		}
		err = errors.Join(err, folderErr)
		return true
	})
	if pause == 0 {
		l.held = nil
	}
	if len(l.held) > 0 {
		l.again = time.AfterFunc(pause, func() { l.clean(nil, 2*pause) })
	}
	return err
}

// cleanFolder removes the staging folder of a dead program. Its lock is held meanwhile. While
// somebody holds that, or a lock that the owner notes, it is errLocked. After any error the folder
// stays, since only its notes have the names of what else is to be removed.
func (l *leftovers) cleanFolder(name string) error {
	defer l.in.keep()
	dir, err := openIn(l.in.fd, name, unix.O_RDONLY|unix.O_DIRECTORY)
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
	if err := tryLock(int(owner.Fd())); err != nil || !isLinked(owner) {
		return ignoring(err, errNoLocks)
	}
	for _, p := range notes(owner) {
		err = errors.Join(err, l.sweepFile(p), l.sweepTree(p, dir))
	}
	if err = errors.Join(err, l.sweepStrays(dir)); err != nil {
		return err // the notes stay for another Clean
	}
	return bare(l.in.os.RemoveAll(name))
}

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
		if store.IsValidKey(string(note)) {
			paths = append(paths, string(note))
		}
	}
	return paths
}

// sweepFile removes the temporary file, or the lock, at a noted path. A file with any other name
// stays. So does a lock that somebody holds, and the error is errLocked.
func (l *leftovers) sweepFile(noted string) error {
	name := path.Base(noted)
	isLock := strings.HasSuffix(name, lockSuffix)
	if !isLock && !isTemp(name) {
		return nil
	}
	p, err := l.in.place(noted)
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

// sweepTree removes the directory at a noted path, if it is the directory that was meant. Another
// directory at that path stays. If possible, the directory is moved into folder, which is being
// removed.
func (l *leftovers) sweepTree(noted string, folder *os.File) error {
	key, name := path.Split(noted)
	born, isReplaced := strings.CutPrefix(name, replacedPrefix)
	mark, isUnfinished := strings.CutPrefix(name, unfinishedPrefix)
	if !isReplaced && !isUnfinished {
		return nil
	}
	p, err := l.in.directory(path.Clean(key))
	if err != nil {
		return ignoring(err, fs.ErrNotExist, store.ErrThroughLink)
	}
	defer p.close()
	if isReplaced && (born == "" || born != p.birth()) {
		return nil
	}
	if isUnfinished && (mark == "" || mark != p.mark()) {
		return nil
	}
	name = fmt.Sprintf("swept-%x", rand.Uint64())
	err = unix.Renameat(p.dir, p.name, int(folder.Fd()), name)
	if staysInPlace(err) {
		return p.removeInPlace()
	}
	return err
}

// notesNone reports whether no staging folder notes a directory by this name. One that cannot be
// read may.
func (l *leftovers) notesNone(name string) bool {
	dir, err := l.in.openDir("")
	if err != nil {
		return false
	}
	defer dir.Close()
	err = eachEntry(dir, func(folder string, _ entryKind) error {
		if !isStaging(folder) {
			return nil
		}
		owner, err := openIn(int(dir.Fd()), folder+"/"+ownerName, unix.O_RDONLY)
		if err != nil {
			return ignoring(err, unix.ENOENT)
		}
		defer owner.Close()
		isIt := func(note string) bool { return path.Base(note) == name }
		if slices.ContainsFunc(notes(owner), isIt) {
			return fs.ErrExist
		}
		return nil
	})
	return err == nil
}

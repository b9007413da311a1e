package dirstore

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	stagingPrefix = ".zarrfs-"
	ownerName     = "owner"
)

// isStaging reports whether a child of the root with this name is a staging folder: ".zarrfs-" and
// 16 hexadecimal digits.
func isStaging(name string) bool {
	digits, ok := strings.CutPrefix(name, stagingPrefix)
	_, err := hex.DecodeString(digits)
	return ok && err == nil && len(digits) == 16
}

// A staging folder holds what one driver is writing. It is a child of the root, hidden from
// listings, so that the leftovers of a killed program are found without walking the store. A file
// in it, the owner, is locked as long as the program lives. The owner notes, each between NUL
// bytes, the paths of temporary files that are elsewhere; see Clean.
type staging struct {
	name  string
	dir   *os.File
	fd    int      // of dir
	owner *os.File // locked
	next  atomic.Uint64
	users int          // how many may have something in it; area.mu guards it
	open  atomic.Int64 // staged objects that hold a descriptor

	mu    sync.Mutex
	noted int         // notes that still matter
	end   int64       // of the notes, in bytes
	idle  []*lockFile // not in use, not locked
}

// own locks the owner of a new staging folder. File systems without locks go without; their
// leftovers stay, since nobody can tell the living from the dead.
func own(owner *os.File) error {
	err := tryLock(int(owner.Fd()))
	if err == errLocked || err == nil && !isLinked(owner) {
		err = errTaken
	}
	if err != nil && err != errNoLocks {
		owner.Close()
		return err
	}
	return nil
}

// openIn opens a child of a directory, never through a link.
func openIn(dir int, name string, flags int) (*os.File, error) {
	fd, err := openat(dir, name, flags)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func openat(dir int, name string, flags int) (int, error) {
	return openAs(dir, name, flags, 0o666)
}

// openAs is openat. A file that it makes has the mode, as far as the umask leaves it.
func openAs(dir int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(dir, name,
			flags|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, mode)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// exists reports whether the folder is still there: a program that overwrites the store removes it
// with all else.
func (s *staging) exists() bool { return isLinked(s.owner) }

func isLinked(f *os.File) bool {
	var st unix.Stat_t
	return fstat(int(f.Fd()), &st) == nil && st.Nlink > 0
}

// newName returns a name that is free in the folder.
func (s *staging) newName() string { return strconv.FormatUint(s.next.Add(1), 36) }

func (s *staging) closeIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.idle {
		unix.Close(f.fd)
	}
	s.idle = nil
}

// writeFull writes all of p at off.
func writeFull(fd int, p []byte, off int64) error {
	for len(p) > 0 {
		n, err := unix.Pwrite(fd, p[:min(len(p), 1<<30)], off)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		p, off = p[n:], off+int64(n)
	}
	return nil
}

// The area of a store is where its driver stages: a staging folder, which is there while somebody
// uses it. All directories of the store that are held open share it.
type area struct {
	in     *folder // the store's
	mu     sync.Mutex
	staged *staging // nil before the first object is staged
}

// staging returns the driver's staging folder, and makes it if it is missing. It stays until done.
func (a *area) staging() (*staging, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.staged; s != nil {
		if s.exists() {
			s.users++
			return s, nil
		}
		s.closeIdle()
	}
	for {
		s, err := a.newStaging(fmt.Sprintf("%s%016x", stagingPrefix, rand.Uint64()))
		if err == nil {
			a.staged = s
			s.users++
		}
		if err != errTaken {
			return s, err
		}
	}
}

// errTaken says that another program's Clean has met a new staging folder before it was
// locked.
var errTaken = errors.New("dirstore: the staging folder is being removed")

func (a *area) newStaging(name string) (*staging, error) {
	defer a.in.keep()
	// Nobody else may look into it: what is to replace an object that only its owner may read has
	// another mode until it is committed.
	err := a.in.leavingTime(func() error { return unix.Mkdirat(a.in.fd, name, 0o700) })
	if err != nil {
		if err == unix.EEXIST {
			err = errTaken
		}
		return nil, err
	}
	dir, err := openIn(a.in.fd, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	owner, err := openIn(int(dir.Fd()), ownerName, unix.O_RDWR|unix.O_CREAT)
	if err == unix.ENOENT {
		err = errTaken
	}
	if err == nil {
		err = own(owner)
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return &staging{name: name, dir: dir, fd: int(dir.Fd()), owner: owner}, nil
}

// idleFor is how long an unused staging folder stays: zarr-python warns of a folder in a group that
// is not a node.
const idleFor = 500 * time.Millisecond

// done ends a use of a staging folder. Once nobody uses it for a while it is removed.
func (a *area) done(s *staging) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	last := s.next.Load()
	time.AfterFunc(idleFor, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.staged == s && s.users == 0 && s.next.Load() == last {
			a.remove(s)
		}
	})
}

// remove removes the staging folder and all in it. The caller holds a.mu.
func (a *area) remove(s *staging) error {
	a.staged = nil
	s.closeIdle()
	err := a.in.leavingTime(func() error { return bare(a.in.os.RemoveAll(s.name)) })
	return errors.Join(err, s.owner.Close(), s.dir.Close())
}

// end removes the staging folder, if there is one, and all in it.
func (a *area) end() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.staged; s != nil {
		if s.users == 0 {
			return a.remove(s)
		}
		s.closeIdle()
		return bare(a.in.os.RemoveAll(s.name))
	}
	return nil
}

// discard removes a directory in a staging folder, as far as it can: what is left of it goes at the
// end, or by Clean.
func (a *area) discard(s *staging, name string) error {
	return bare(a.in.os.RemoveAll(s.name + "/" + name))
}

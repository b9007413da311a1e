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
	users int          // how many may have something in it; root.mu guards it
	open  atomic.Int64 // staged objects that hold a descriptor

	mu    sync.Mutex
	noted int         // notes that still matter
	end   int64       // of the notes, in bytes
	idle  []*lockFile // not in use, not locked
}

// staging returns the driver's staging folder in r, and makes it where there is none yet. It stays
// until done.
func (r *root) staging() (*staging, error) {
	r = r.whole()
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.staged; s != nil {
		if s.exists() {
			s.users++
			return s, nil
		}
		s.closeIdle()
	}
	for {
		s, err := r.newStaging(fmt.Sprintf("%s%016x", stagingPrefix, rand.Uint64()))
		if err == nil {
			r.staged = s
			s.users++
		}
		if err != errTaken {
			return s, err
		}
	}
}

// idleFor is how long a staging folder stays that nobody uses: zarr-python warns of a folder in a
// group that is not a node.
const idleFor = 500 * time.Millisecond

// done ends a use of a staging folder. Once nobody uses it for a while it is removed.
func (r *root) done(s *staging) {
	r = r.whole()
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	last := s.next.Load()
	time.AfterFunc(idleFor, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.staged == s && s.users == 0 && s.next.Load() == last {
			r.remove(s)
		}
	})
}

// remove removes the staging folder and all in it. The caller holds r.mu.
func (r *root) remove(s *staging) error {
	r.staged = nil
	s.closeIdle()
	err := r.leavingTime(func() error { return bare(r.os.RemoveAll(s.name)) })
	return errors.Join(err, s.owner.Close(), s.dir.Close())
}

// leavingTime changes a name in the root that is not of the store, and leaves the root's time as it
// was: tar takes a folder whose time moves for one that was changed while it was read. Only the
// owner of the root can do that. Info.Changed and Info.Version move all the same. The caller holds
// r.mu.
func (r *root) leavingTime(change func() error) error {
	var before unix.Stat_t
	if fstat(r.fd, &before) != nil {
		return change()
	}
	err := change()
	if err == nil {
		setModTime(r.dir, time.Unix(before.Mtim.Unix()))
	}
	return err
}

// errTaken says that another program's Clean has met a new staging folder before it was
// locked.
var errTaken = errors.New("dirstore: the staging folder is being removed")

func (r *root) newStaging(name string) (*staging, error) {
	defer r.keep()
	// Nobody else may look into it: what is to replace an object that only its owner may read has
	// another mode until it is committed.
	err := r.leavingTime(func() error { return unix.Mkdirat(r.fd, name, 0o700) })
	if err != nil {
		if err == unix.EEXIST {
			err = errTaken
		}
		return nil, err
	}
	dir, err := openIn(r.fd, name, unix.O_RDONLY|unix.O_DIRECTORY)
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

// own locks the owner of a new staging folder. File systems without locks go without; their
// leftovers stay, since nobody can tell the living from the dead.
func own(owner *os.File) error {
	err := tryLock(int(owner.Fd()))
	if err == errLocked || err == nil && !linked(owner) {
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
	for {
		fd, err := unix.Openat(dir, name,
			flags|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0o666)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// exists reports whether the folder is still there: a program that overwrites the store removes it
// with all else.
func (s *staging) exists() bool { return linked(s.owner) }

func linked(f *os.File) bool {
	var st unix.Stat_t
	return fstat(int(f.Fd()), &st) == nil && st.Nlink > 0
}

// newName returns a name that is free in the folder.
func (s *staging) newName() string { return strconv.FormatUint(s.next.Add(1), 36) }

// note keeps in mind, beyond the death of the program, that there may be a temporary file at path,
// until forget. Before it may be the beginning of an older note, where another thread is to write
// and is killed before it does: so it begins with a NUL byte, too.
func (s *staging) note(path string) error {
	_, err := s.writeNote(path)
	return err
}

// noteTree is note for a directory that is to go with all below it. Another one may have its path
// later, and so forget erases what is written: nothing may be removed by a note that is not true
// any more.
func (s *staging) noteTree(path string) (forget func(), err error) {
	at, err := s.writeNote(path)
	if err != nil {
		return nil, err
	}
	return func() {
		writeFull(int(s.owner.Fd()), make([]byte, len(path)), at+1) // behind its NUL byte
		s.forget()
	}, nil
}

// writeNote does what note does, and returns where it begins.
func (s *staging) writeNote(path string) (at int64, err error) {
	b := append(append([]byte{0}, path...), 0)
	at = s.reserve(len(b))
	if err = writeFull(int(s.owner.Fd()), b, at); err != nil {
		s.forget()
	}
	return at, err
}

// reserve returns where a note of n bytes is to be written.
func (s *staging) reserve(n int) (at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noted == 0 {
		s.end = 0 // what is left of older notes is not true any more, and harmless: see sweepFile
	}
	at = s.end
	s.noted++
	s.end += int64(n)
	return at
}

func (s *staging) forget() {
	s.mu.Lock()
	s.noted--
	s.mu.Unlock()
}

// endStaging removes the staging folder, if there is one, and all in it.
func (r *root) endStaging() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.staged; s != nil {
		if s.users == 0 {
			return r.remove(s)
		}
		s.closeIdle()
		return bare(r.os.RemoveAll(s.name))
	}
	return nil
}

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

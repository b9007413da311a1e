package dirstore

import (
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

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

package scratch

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"math"
	"os"
	"strconv"
	"sync"
	"syscall"
	"weak"

	"golang.org/x/sys/unix"
)

// A File is a file of the scratch folder that may do without a descriptor while nobody uses it: a
// process has few of them. It has no name until it is kept, or rests for the first time. Until then
// nothing is left of it if the process is killed.
type File struct {
	all *Files

	mu      sync.RWMutex // held for reading while file is used
	file    *os.File     // nil: it rests, or is closed
	number  int          // begins its name; 0: it had none yet
	label   string       // what its name has behind the number when it is next named
	name    string       // its path; "": it has none
	dropped bool         // it is to have no name any more
	closed  bool
}

// Files bounds how many descriptors its files have. Its lock comes after that of the file for which
// it is taken. The locks of other files are only tried.
type Files struct {
	folder string
	note   func() []byte
	most   int // descriptors

	mu   sync.Mutex
	open []weak.Pointer[File] // that have a descriptor, or had one; the oldest first
	dir  string               // where files have names; "": it was not needed yet
	lock *os.File             // the note in dir, locked until the process ends
	last int                  // number
}

// descriptorShare returns how many descriptors files that are not arrays may have: half of what the
// process may, so that arrays can be opened.
func descriptorShare() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || limit.Cur > math.MaxInt32 {
		return math.MaxInt32
	}
	return max(1, int(limit.Cur/2))
}

// NewFiles returns the set of files of a scratch folder, which is empty at first. Files that have
// names are in a folder of their own, beside a note.
func NewFiles(folder string, note func() []byte) *Files {
	return &Files{folder: folder, note: note, most: descriptorShare()}
}

// Make creates an empty file.
func (a *Files) Make() (*File, error) {
	s := &File{all: a}
	var err error
	if s.file, err = openUnnamed(a.folder); err != nil { // not every file system has unnamed files
		err = s.makeNamed()
	}
	if err != nil {
		return nil, err
	}
	a.opened(s)
	return s, nil
}

// makeNamed creates the file with a name.
func (s *File) makeNamed() error {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	name, err := s.newName()
	if err != nil {
		return err
	}
	if s.file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		s.name = name
	}
	return err
}

// opened counts the descriptor of a file, and lets others rest if there are too many.
func (a *Files) opened(s *File) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open = append(a.open, weak.Make(s))
	over := len(a.open) - a.most
	if over <= 0 {
		return
	}
	kept := a.open[:0]
	for _, p := range a.open {
		other := p.Value()
		if over > 0 && other != s && (other == nil || other.rest()) {
			over--
			continue
		}
		kept = append(kept, p)
	}
	clear(a.open[len(kept):])
	a.open = kept
}

// rest closes the descriptor, and reports whether the file has none now. A file keeps its
// descriptor while it is used, and if it cannot get a name. The caller holds all.mu.
func (s *File) rest() bool {
	if !s.mu.TryLock() {
		return false
	}
	defer s.mu.Unlock()
	if s.file == nil {
		return true
	}
	if s.name == "" {
		name, err := s.newName()
		if err != nil || linkUnnamed(s.file, name) != nil {
			return false
		}
		s.name = name
	}
	s.file.Close()
	s.file = nil
	return true
}

// linkUnnamed gives a file that has no name one.
func linkUnnamed(file *os.File, name string) error {
	open := "/proc/self/fd/" + strconv.Itoa(int(file.Fd()))
	return unix.Linkat(unix.AT_FDCWD, open, unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
}

// wake opens a file that rests.
func (s *File) wake() error {
	s.mu.Lock()
	if s.file != nil {
		s.mu.Unlock()
		return nil
	}
	err := os.ErrClosed
	if !s.closed {
		s.file, err = openWhatever(s.name)
	}
	s.mu.Unlock()
	if err == nil {
		s.all.opened(s)
	}
	return err
}

// openWhatever opens a file of our own for reading and writing, whatever its mode is.
func openWhatever(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if !errors.Is(err, iofs.ErrPermission) {
		return file, err
	}
	info, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(name, 0o600); err != nil {
		return nil, err
	}
	file, err = os.OpenFile(name, os.O_RDWR, 0)
	return file, errors.Join(err, os.Chmod(name, info.Mode().Perm()))
}

// Use calls f with the open file.
func (s *File) Use(f func(*os.File) error) error {
	for {
		s.mu.RLock()
		if s.file != nil {
			defer s.mu.RUnlock()
			return f(s.file)
		}
		s.mu.RUnlock()
		if err := s.wake(); err != nil {
			return err
		}
	}
}

// UseFD calls f with the file's descriptor.
func (s *File) UseFD(f func(fd int) error) error {
	return s.Use(func(file *os.File) error { return f(int(file.Fd())) })
}

// ReadAt implements io.ReaderAt.
func (s *File) ReadAt(p []byte, off int64) (n int, err error) {
	err = s.Use(func(file *os.File) (err error) {
		n, err = file.ReadAt(p, off)
		return err
	})
	return n, err
}

// WriteAt implements io.WriterAt.
func (s *File) WriteAt(p []byte, off int64) (n int, err error) {
	err = s.Use(func(file *os.File) (err error) {
		n, err = file.WriteAt(p, off)
		return withLimit(file, off+int64(len(p)), err)
	})
	return n, err
}

// Truncate changes the file's size.
func (s *File) Truncate(size int64) error {
	return s.Use(func(file *os.File) error { return withLimit(file, size, file.Truncate(size)) })
}

// withLimit adds to EFBIG how long the file was to be, and how long it may be.
func withLimit(file *os.File, size int64, err error) error {
	if !errors.Is(err, syscall.EFBIG) {
		return err
	}
	return fmt.Errorf("%w: %d bytes, but a file of the scratch folder can have at most %d; "+
		"for more, mount with --scratch-dir on another disk", syscall.EFBIG, size, limitOf(file))
}

// limitOf returns how long a file may be, in bytes, by its disk and by the limit of the process.
// No system call returns the disk's limit, but the kernel refuses to seek behind it. Files here are
// read and written at given places, so their own place means nothing.
func limitOf(file *os.File) int64 {
	most := int64(math.MaxInt64)
	var process unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &process) == nil && process.Cur < math.MaxInt64 {
		most = int64(process.Cur)
	}
	least := int64(0)
	for least < most {
		middle := most - (most-least)/2
		if _, err := file.Seek(middle, io.SeekStart); err == nil {
			least = middle
		} else {
			most = middle - 1
		}
	}
	return least
}

// Stat describes the file, which may go on resting.
func (s *File) Stat() (os.FileInfo, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch {
	case s.file != nil:
		return s.file.Stat()
	case s.closed:
		return nil, os.ErrClosed
	}
	return os.Lstat(s.name)
}

// SysStat is Stat, as the system has it.
func (s *File) SysStat() (*syscall.Stat_t, error) {
	info, err := s.Stat()
	if err != nil {
		return nil, err
	}
	return info.Sys().(*syscall.Stat_t), nil
}

// link gives the file a name on its disk. The file survives a power cut.
func (s *File) link(path string) error {
	return s.Use(func(file *os.File) (err error) {
		if s.name != "" {
			err = os.Link(s.name, path)
		} else {
			err = linkUnnamed(file, path)
		}
		if err != nil {
			return err
		}
		return file.Sync()
	})
}

// Close ends the file.
func (s *File) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.name != "" {
		os.Remove(s.name)
	}
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

package scratch

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"weak"
)

// Least is how many bytes files that are not arrays may take, however small the scratch space is:
// editors need them.
const Least = 64 << 20

// Space bounds what files that are not arrays take of the scratch folder, also those that were
// removed and are still open. Lines that are not stored yet count as well. It looks at the files
// themselves, for holes take nothing, but not for each write.
type Space struct {
	Limit int64 // bytes

	mu    sync.Mutex
	room  int64                         // bytes that may be taken before the files are looked at again
	files []func() (os.FileInfo, error) // that return their sizes
}

// Add counts what a file takes from now on, until it is closed.
func (s *Space) Add(file *os.File) {
	addStat(s, file, (*os.File).Stat)
}

// AddFile is Add for a file that may rest.
func (s *Space) AddFile(file *File) { addStat(s, file, (*File).Stat) }

func addStat[T any](s *Space, file *T, stat func(*T) (os.FileInfo, error)) {
	p := weak.Make(file)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files = append(s.files, func() (os.FileInfo, error) {
		if file := p.Value(); file != nil {
			return stat(file)
		}
		return nil, os.ErrClosed
	})
}

// Take asks for n bytes.
func (s *Space) Take(n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.room < n {
		s.room = s.Limit - s.used()
	}
	if s.room < n {
		return fmt.Errorf("%w: files that are not arrays, and lines that are not stored yet, "+
			"may take %d bytes of the scratch folder, as --scratch-size says", syscall.ENOSPC, s.Limit)
	}
	s.room -= n
	return nil
}

// Writer returns a writer to a file of what there is space for.
func (s *Space) Writer(file *os.File) io.Writer { return counting{s, file} }

// counting writes to a file what there is space for.
type counting struct {
	space *Space
	file  *os.File
}

func (c counting) Write(p []byte) (int, error) {
	if err := c.space.Take(int64(len(p))); err != nil {
		return 0, err
	}
	return c.file.Write(p)
}

// used returns the bytes that all files take. The caller holds mu. A file may be closed meanwhile,
// and its descriptor be another's: so it is the file that is asked.
func (s *Space) used() (sum int64) {
	s.files = slices.DeleteFunc(s.files, func(stat func() (os.FileInfo, error)) bool {
		info, err := stat()
		if err != nil {
			return true // closed
		}
		sum += info.Sys().(*syscall.Stat_t).Blocks * 512
		return false
	})
	return sum
}

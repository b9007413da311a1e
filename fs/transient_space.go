package fs

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"weak"
)

// leastTransient is how many bytes transients may take however small the scratch space is, for editors cannot do without.
const leastTransient = 64 << 20

// transientSpace bounds what transients take of the scratch folder, also those that were removed and are still open, and
// what wholes take. It looks at the files themselves, for holes take nothing, but not for each write.
type transientSpace struct {
	limit int64 // bytes

	mu    sync.Mutex
	room  int64                         // bytes that may be taken before the files are looked at again
	files []func() (os.FileInfo, error) // that return their sizes
}

// add counts what a file takes from now on, until it is closed.
func (s *transientSpace) add(file *os.File) {
	addStat(s, file, (*os.File).Stat)
}

// addScratch is add for a file that may rest.
func (s *transientSpace) addScratch(file *scratchFile) { addStat(s, file, (*scratchFile).Stat) }

func addStat[T any](s *transientSpace, file *T, stat func(*T) (os.FileInfo, error)) {
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

// take asks for n bytes.
func (s *transientSpace) take(n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.room < n {
		s.room = s.limit - s.used()
	}
	if s.room < n {
		return fmt.Errorf("%w: files that are not arrays, and lines that are not stored yet, may take %d bytes of the scratch folder, as --scratch-size says", syscall.ENOSPC, s.limit)
	}
	s.room -= n
	return nil
}

// counting writes to a file what there is space for.
type counting struct {
	space *transientSpace
	file  *os.File
}

func (c counting) Write(p []byte) (int, error) {
	if err := c.space.take(int64(len(p))); err != nil {
		return 0, err
	}
	return c.file.Write(p)
}

// used returns the bytes that all files take. The caller holds mu. A file may be closed meanwhile, and its descriptor be another's: so
// it is the file that is asked.
func (s *transientSpace) used() (sum int64) {
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

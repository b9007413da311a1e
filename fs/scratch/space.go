package scratch

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"weak"
)

// Least is how many bytes files that are not arrays may take, however small the scratch space is:
// editors need them.
const Least = 64 << 20

// Space limits the bytes of the scratch folder for files that are not arrays. Removed files count
// as long as they are open. Lines that are not stored yet count as well. Space looks at the files
// themselves, since holes take nothing, but not at each write.
type Space struct {
	Limit int64 // bytes

	mu sync.Mutex
	// bytes that may be taken before the files are looked at again
	room  int64
	files []func() (os.FileInfo, error) // that return their sizes
}

// Add counts what a file takes from now on, until it is closed.
func (s *Space) Add(file *File) {
	p := weak.Make(file)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files = append(s.files, func() (os.FileInfo, error) {
		if file := p.Value(); file != nil {
			return file.Stat()
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
		return fmt.Errorf("%w: files that are not arrays, and lines not stored yet, "+
			"may take %d bytes of the scratch folder, as --scratch-size says", syscall.ENOSPC,
			s.Limit)
	}
	s.room -= n
	return nil
}

// A Writer writes to a file, from its beginning, what there is space for.
type Writer struct {
	space *Space
	file  *File
	size  int64
}

// Writer returns a writer to a file.
func (s *Space) Writer(file *File) *Writer { return &Writer{space: s, file: file} }

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (n int, err error) {
	if err := w.space.Take(int64(len(p))); err != nil {
		return 0, err
	}
	n, err = w.file.WriteAt(p, w.size)
	w.size += int64(n)
	return n, err
}

// Size returns how many bytes were written.
func (w *Writer) Size() int64 { return w.size }

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

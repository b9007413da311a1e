package band

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// A Scratch is a folder for bands and other data that memory cannot hold, and how many bytes they
// may take there. Its files are unlinked as soon as they are created, so that nothing is left
// whatever ends the program.
type Scratch struct {
	dir   string
	limit int64

	mu   sync.Mutex
	used int64
}

// NewScratch returns scratch space of at most limit bytes below dir.
func NewScratch(dir string, limit int64) *Scratch {
	return &Scratch{dir: dir, limit: limit}
}

// Used returns the bytes of scratch in use.
func (s *Scratch) Used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// fits reports that n regions of the given size are within the limit.
func (s *Scratch) fits(n, size int64) bool { return s != nil && size <= s.limit/n }

// Reserve takes n bytes of the limit, or reports that they are not there.
func (s *Scratch) Reserve(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > s.limit-s.used {
		return false
	}
	s.used += n
	return true
}

// Release gives back n bytes of the limit.
func (s *Scratch) Release(n int64) {
	s.mu.Lock()
	s.used -= n
	s.mu.Unlock()
}

// A region is the memory of one band: anonymous, or a mapped scratch file. It comes from mmap and
// not from the Go heap. Huge pages make its first touch several times cheaper, and it must go back
// at once.
type region struct {
	buf     []byte
	scratch bool
}

// ErrNoRoom says that a band has room neither in memory nor in scratch.
var ErrNoRoom = errors.New("no room for a band")

// newRegion maps n bytes, of scratch also where the bands of other arrays leave
// no room in memory.
func (p *Pool) newRegion(n int64, scratch bool) (region, error) {
	if scratch || !p.claim(n) {
		return p.Scratch.newRegion(n)
	}
	p.Memory.Reserve(n)
	buf, err := unix.Mmap(-1, 0, int(n), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		p.Memory.Unreserve(n)
		p.mapped.Add(-n)
		return region{}, fmt.Errorf("%w of %d bytes: mmap: %w", ErrNoRoom, n, err)
	}
	if n >= 4<<20 {
		_ = unix.Madvise(buf, unix.MADV_HUGEPAGE) // a wish: without it the band is only slower
	}
	return region{buf: buf}, nil
}

// claim takes n bytes of the memory that bands may fill: the budget.
func (p *Pool) claim(n int64) bool {
	if p.mapped.Add(n) <= p.Memory.Budget() {
		return true
	}
	p.mapped.Add(-n)
	return false
}

// newRegion maps n bytes of a scratch file.
func (s *Scratch) newRegion(n int64) (region, error) {
	buf, err := s.Map(n)
	return region{buf: buf, scratch: true}, err
}

// Map maps n bytes of an unlinked file, until Unmap. Its blocks are allocated first: a write to a
// mapping whose disk is full would kill the program. If there is no room for them, that is
// ErrNoRoom.
func (s *Scratch) Map(n int64) ([]byte, error) {
	if !s.Reserve(n) {
		return nil, fmt.Errorf("%w of %d bytes: %d of %d bytes of scratch in use", ErrNoRoom,
			n, s.Used(), s.limit)
	}
	buf, err := s.mapFile(n)
	if err != nil {
		s.Release(n)
		return nil, fmt.Errorf("%w of %d bytes in scratch folder %s: %w", ErrNoRoom, n, s.dir,
			err)
	}
	return buf, nil
}

// Unmap gives back what Map returned. Nobody may use its bytes any more. If it fails, they stay
// mapped, and count as used.
func (s *Scratch) Unmap(buf []byte) error {
	err := unix.Munmap(buf)
	if err == nil {
		s.Release(int64(len(buf)))
	}
	return err
}

// Create creates a file in the folder and takes away its name.
func (s *Scratch) Create() (*os.File, error) {
	f, err := os.CreateTemp(s.dir, ".zarrfs-scratch-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (s *Scratch) mapFile(n int64) ([]byte, error) {
	f, err := s.Create()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fd := int(f.Fd())
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Fallocate(fd, 0, 0, n)
	}
	if err != nil {
		return nil, fmt.Errorf("fallocate: %w", err)
	}
	buf, err := unix.Mmap(fd, 0, int(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mmap: %w", err)
	}
	return buf, nil
}

// freeRegion unmaps r. Nobody may use its bytes any more.
func (p *Pool) freeRegion(r region) {
	n, unmap := int64(len(r.buf)), unix.Munmap
	if r.scratch {
		unmap = p.Scratch.Unmap
	}
	if err := unmap(r.buf); err != nil {
		p.Log.Error("band: munmap", "bytes", n, "err", err)
		return
	}
	if !r.scratch {
		p.Memory.Unreserve(n)
		p.mapped.Add(-n)
	}
}

// lend returns n bytes of memory in which a chunk is decoded, and the way to give them back. A
// chunk that is larger than the memory's budget is decoded in scratch.
func (p *Pool) lend(n int64) (buf []byte, release func(), err error) {
	if n <= p.Memory.Budget() {
		buf = p.Memory.Get(n)
		return buf, func() { p.Memory.Put(buf) }, nil
	}
	r, err := p.Scratch.newRegion(n)
	return r.buf, func() { p.freeRegion(r) }, err
}

package codec

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"runtime"
	"slices"
	"sync"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/mapped"
)

// buffer is memory that is lent, so that decoding a chunk allocates nothing once it runs steadily.
type buffer struct {
	b     []byte
	class int
}

// pools hold small buffers by size: four sizes to each power of two, so that a buffer is at most a
// quarter larger than asked.
var pools [4 * 64]sync.Pool

// spares hold large buffers, of the same sizes.
var spares = spareBuffers{each: runtime.NumCPU()}

// For each CPU, spareShare bytes of large buffers are kept, or one buffer of at most spareMost
// bytes. Fresh memory for each chunk would cost those that read arrays in order a quarter of their
// speed.
const (
	spareShare = 2 << 20
	spareMost  = 16 << 20
)

// getBuffer lends memory of at least n bytes; its content is undefined.
func getBuffer(n int64) *buffer {
	n = max(n, 512)
	step := bits.Len64(uint64(n-1)) - 3 // the power of two that holds n in eighths: 5 to 8 of them
	parts := (n - 1) >> step
	class := 4*step + int(parts&3)
	size := (parts + 1) << step
	if size >= mapped.Least {
		return spares.get(class, size)
	}
	if b, ok := pools[class].Get().(*buffer); ok {
		return b
	}
	return &buffer{b: make([]byte, size), class: class}
}

// release gives the memory back. b may be nil.
func (b *buffer) release() {
	switch {
	case b == nil:
	case len(b.b) >= mapped.Least:
		spares.put(b)
	default:
		pools[b.class].Put(b)
	}
}

// spareBuffers are large buffers that nobody uses. The one that was used least recently makes room.
// A sync.Pool would keep as many of each size as were used at once.
type spareBuffers struct {
	each int // CPUs

	mu    sync.Mutex
	bytes int64
	list  []*buffer // the one that was used most recently is the last
}

// get returns a spare buffer of a class, or a fresh one of size bytes.
func (s *spareBuffers) get(class int, size int64) *buffer {
	if b := s.take(class); b != nil {
		return b
	}
	mem, _ := mapped.Get(size)
	return &buffer{b: mem, class: class}
}

func (s *spareBuffers) take(class int) *buffer {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, b := range slices.Backward(s.list) {
		if b.class == class {
			s.list = slices.Delete(s.list, i, i+1)
			s.bytes -= int64(len(b.b))
			return b
		}
	}
	return nil
}

// put takes a buffer back, and returns memory beyond the limit to the system.
func (s *spareBuffers) put(b *buffer) {
	for _, gone := range s.keep(b) {
		_, _ = mapped.Put(gone.b) // what cannot go back is lost: it is one of 65,000 mappings
	}
}

// areMany reports whether more is kept than the limit allows. mu is held.
func (s *spareBuffers) areMany() bool {
	if len(s.list) <= s.each {
		return s.bytes > int64(s.each)*spareMost
	}
	return s.bytes > int64(s.each)*spareShare
}

func (s *spareBuffers) keep(b *buffer) (gone []*buffer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, b)
	s.bytes += int64(len(b.b))
	for s.areMany() {
		gone = append(gone, s.list[0])
		s.bytes -= int64(len(s.list[0].b))
		s.list = slices.Delete(s.list, 0, 1)
	}
	return gone
}

// A Source is an encoded object.
type Source interface {
	io.ReaderAt
	Size() int64
}

// span is a stretch of an object: an encoded chunk.
type span struct {
	src    Source
	off, n int64
}

// read fills p from byte off of the stretch on. An object that is shorter than its Size is corrupt.
func (s span) read(p []byte, off int64) error {
	n, err := s.src.ReadAt(p, s.off+off)
	switch {
	case n == len(p):
		return nil
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: expected %d bytes at offset %d, found %d",
			compress.ErrCorrupt, len(p), s.off+off, n)
	}
	return err
}

// part is a stretch within s.
func (s span) part(off, n int64) span { return span{s.src, s.off + off, n} }

// memory is a Source of bytes at hand.
type memory []byte

// ReadAt copies from the bytes.
func (m memory) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, m[min(off, int64(len(m))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Size is the number of bytes.
func (m memory) Size() int64 { return int64(len(m)) }

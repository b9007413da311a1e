package codec

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"sync"

	"github.com/zarrfs/zarrfs/compress"
)

// buffer is memory lent by the pools, so that decoding a chunk allocates nothing once it runs
// steadily.
type buffer struct {
	b     []byte
	class int
}

// pools hold buffers by size: four sizes to each power of two, so that a buffer is at most a
// quarter larger than asked.
var pools [4 * 64]sync.Pool

// getBuffer lends memory of at least n bytes; what it holds is undefined.
func getBuffer(n int64) *buffer {
	n = max(n, 512)
	step := bits.Len64(uint64(n-1)) - 3 // the power of two that holds n, in eighths: 5/8 to 8/8 are in use
	parts := (n - 1) >> step
	class := 4*step + int(parts&3)
	if b, ok := pools[class].Get().(*buffer); ok {
		return b
	}
	return &buffer{b: make([]byte, (parts+1)<<step), class: class}
}

// release gives the memory back; nil is nothing to give.
func (b *buffer) release() {
	if b != nil {
		pools[b.class].Put(b)
	}
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

// read fills p from the stretch's byte off on. An object that turns out shorter than it said is
// corrupt.
func (s span) read(p []byte, off int64) error {
	n, err := s.src.ReadAt(p, s.off+off)
	switch {
	case n == len(p):
		return nil
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: expected %d bytes at offset %d, found %d", compress.ErrCorrupt, len(p), s.off+off, n)
	}
	return err
}

// part is a stretch of the stretch, which must hold it.
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

package blosc

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/compress/shuffle"
)

// Decoder decodes whole buffers. It is safe for concurrent use.
type Decoder struct{}

var _ compress.Decoder = Decoder{}

// Decode implements compress.Decoder.
func (Decoder) Decode(dst, src []byte) (int, error) { return Decode(dst, src) }

// Decode decodes the buffer in src into dst and returns the length of its
// content. A longer content than dst is compress.ErrTooLarge. Bytes of dst
// between len and cap may be scribbled on.
func Decode(dst, src []byte) (int, error) {
	h, err := ParseHeader(src, int64(len(src)))
	if err != nil {
		return 0, err
	}
	if h.Size > int64(len(dst)) {
		return 0, fmt.Errorf("blosc: %w: content of %d bytes, expected at most %d",
			compress.ErrTooLarge, h.Size, len(dst))
	}
	src = src[:h.Encoded]
	if h.isStored() {
		return copy(dst[:h.Size], src[HeaderLen:]), nil
	}
	return decodeBlocks(dst, src, h)
}

// decodeBlocks decodes block after block, each one's shuffled bytes passing
// through the same scratch, which the cache holds.
func decodeBlocks(dst, src []byte, h Header) (int, error) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	if err := s.index.load(h, src); err != nil {
		return 0, err
	}
	at := 0
	for i := range s.index.Blocks() {
		off, n := s.index.Range(i)
		end := at + int(h.blockLen(i))
		if err := h.decodeBlock(dst[at:end], src[off:off+n], i, s); err != nil {
			return at, err
		}
		at = end
	}
	return at, nil
}

// scratch is the memory that one call needs besides its output.
type scratch struct {
	index Index
	buf   []byte
	cols  []byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// room returns n bytes.
func (s *scratch) room(n int) []byte {
	if cap(s.buf) < n {
		s.buf = make([]byte, n)
	}
	return s.buf[:n]
}

// decodeBlock decodes block i, which src begins with, into dst. Bytes between
// the length and the capacity of dst are scribbled on.
func (h Header) decodeBlock(dst, src []byte, i int, s *scratch) error {
	bytewise, bitwise := h.isByteShuffled(), h.isBitShuffled(len(dst))
	out := dst
	if bytewise || bitwise {
		out = s.room(len(dst))
	}
	if err := h.decodeStreams(out, src); err != nil {
		return fmt.Errorf("blosc: %w: block %d: %s", compress.ErrCorrupt, i, err)
	}
	switch {
	case bytewise:
		shuffle.Unshuffle(dst, out, h.TypeSize)
	case bitwise:
		shuffle.BitUnshuffle(dst, out, h.TypeSize)
	}
	return nil
}

// decodeStreams decodes the streams that src begins with, each a 32-bit length
// and its bytes, into equal parts of dst.
func (h Header) decodeStreams(dst, src []byte) error {
	splits := h.splits(len(dst))
	size := len(dst) / splits
	if size*splits != len(dst) {
		return fmt.Errorf("%d bytes, expected a multiple of its %d streams", len(dst), splits)
	}
	for k := range splits {
		if len(src) < 4 {
			return fmt.Errorf("%d bytes left for stream %d of %d, expected at least 4", len(src), k,
				splits)
		}
		n := int64(int32(binary.LittleEndian.Uint32(src)))
		src = src[4:]
		if n < 0 || n > int64(len(src)) {
			return fmt.Errorf("stream %d of %d has %d bytes, expected 0 to %d", k, splits, n,
				len(src))
		}
		if err := h.decodeStream(dst[k*size:(k+1)*size], src[:n]); err != nil {
			return fmt.Errorf("stream %d of %d: %w", k, splits, err)
		}
		src = src[n:]
	}
	return nil
}

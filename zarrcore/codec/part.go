package codec

import (
	"fmt"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/compress/blosc"
)

// headGuess is how much of a blosc buffer the first read takes: it holds the block offsets of a thousand blocks, and
// the whole of a small chunk.
const headGuess = 4096

// isBlosc tells that a step is blosc's.
func isBlosc(s *step) bool {
	c, ok := s.move.(compressor)
	if !ok {
		return false
	}
	_, ok = c.Decoder.(blosc.Decoder)
	return ok
}

// Partial tells that DecodePart can read and decode less than the whole chunk.
func (c *Chain) Partial() bool { return c.Plain() || c.blocks }

// DecodePart decodes at least bytes [off, off+n) of a chunk into dst, which is the whole chunk's buffer, and says which
// bytes it has decoded: dst[lo:hi]. All else in dst is undefined.
func (c *Chain) DecodePart(dst []byte, src Source, inner int64, off, n int64) (lo, hi int64, err error) {
	if err := c.checkCall(dst, inner); err != nil {
		return 0, 0, err
	}
	size := c.chunk.size
	if off < 0 || n < 0 || off > size || n > size-off {
		return 0, 0, fmt.Errorf("codec: expected a part of %d bytes, found %d bytes at offset %d", size, n, off)
	}
	s, err := c.find(src, inner)
	if err != nil {
		return 0, 0, err
	}
	switch {
	case n == 0 && s.n > 0:
		return off, off, nil
	case c.Plain():
		if err := c.chunk.checkEncoded(s.n); err != nil {
			return 0, 0, err
		}
		return off, off + n, s.read(dst[off:off+n], off)
	case c.blocks && n <= size/2:
		return c.decodeBlocks(dst, s, off, n)
	}
	return 0, size, c.chunk.decode(dst, s)
}

// decodeBlocks decodes the blocks of a blosc buffer that hold bytes [off, off+n), in two or three reads: the head, the
// rest of the block offsets if there are many, and each stretch of blocks that the head does not hold.
func (c *Chain) decodeBlocks(dst []byte, s span, off, n int64) (lo, hi int64, err error) {
	if err := c.chunk.checkEncoded(s.n); err != nil {
		return 0, 0, err
	}
	mem := getBuffer(headGuess)
	defer func() { mem.release() }()
	head := mem.b[:min(s.n, headGuess)]
	if err := s.read(head, 0); err != nil {
		return 0, 0, err
	}
	h, err := blosc.ParseHeader(head, s.n)
	if err != nil {
		return 0, 0, err
	}
	if h.Size != int64(len(dst)) {
		return 0, 0, fmt.Errorf("%w: expected a blosc buffer of %d decoded bytes, found %d", compress.ErrCorrupt, len(dst), h.Size)
	}
	if h.IndexLen() > int64(len(head)) {
		if h.IndexLen() > s.n {
			return 0, 0, fmt.Errorf("%w: expected %d bytes of block offsets, found %d", compress.ErrCorrupt, h.IndexLen(), s.n)
		}
		mem.release()
		mem = getBuffer(h.IndexLen())
		head = mem.b[:h.IndexLen()]
		if err := s.read(head, 0); err != nil {
			return 0, 0, err
		}
	}
	x, err := blosc.NewIndex(h, head[:h.IndexLen()])
	if err != nil {
		return 0, 0, err
	}
	r := blockReader{x: x, s: s, head: head, size: int64(len(dst))}
	first, last := int(off/x.BlockSize()), int((off+n-1)/x.BlockSize())
	if err := r.decode(dst, first, last); err != nil {
		return 0, 0, err
	}
	return int64(first) * x.BlockSize(), r.end(last), nil
}

// blockReader decodes blocks of one blosc buffer.
type blockReader struct {
	x    *blosc.Index
	s    span
	head []byte // the buffer's first bytes, read already
	size int64  // bytes of the decoded buffer
}

// end is where a block ends in the decoded buffer.
func (r *blockReader) end(block int) int64 {
	return min(int64(block+1)*r.x.BlockSize(), r.size)
}

// decode decodes blocks first to last; blocks that follow each other in the encoded buffer are read at once. They need
// not be in order there: c-blosc's threads write them as they come.
func (r *blockReader) decode(dst []byte, first, last int) error {
	for first <= last {
		off, n := r.x.Range(first)
		next := first + 1
		for ; next <= last; next++ {
			o, m := r.x.Range(next)
			if o != off+n {
				break
			}
			n += m
		}
		if err := r.decodeStretch(dst, first, next, off, n); err != nil {
			return err
		}
		first = next
	}
	return nil
}

// decodeStretch decodes blocks first to next-1, whose encoded bytes are the n bytes at off.
func (r *blockReader) decodeStretch(dst []byte, first, next int, off, n int64) error {
	encoded := r.head
	base := int64(0)
	if off+n > int64(len(r.head)) {
		mem := getBuffer(n)
		defer mem.release()
		encoded, base = mem.b[:n], off
		if err := r.s.read(encoded, off); err != nil {
			return err
		}
	}
	for i := first; i < next; i++ {
		o, m := r.x.Range(i)
		out := dst[int64(i)*r.x.BlockSize() : r.end(i) : r.end(i)]
		if err := r.x.DecodeBlock(out, encoded[o-base:o-base+m], i); err != nil {
			return fmt.Errorf("codec %q: block %d: %w", bloscName, i, err)
		}
	}
	return nil
}

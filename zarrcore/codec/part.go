package codec

import (
	"fmt"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/compress/blosc"
)

// HeadBytes is how much of a blosc buffer the first read takes: it holds the block offsets of three
// thousand blocks, and the whole of a small chunk. A new connection of TCP brings not much more in
// its first round trip (RFC 6928).
const HeadBytes = 12 << 10

// isBlosc reports whether a step is blosc's.
func isBlosc(s *step) bool {
	c, ok := s.move.(compressor)
	if !ok {
		return false
	}
	_, ok = c.Decoder.(blosc.Decoder)
	return ok
}

// CanDecodePart reports whether DecodePart can read and decode less than the whole chunk.
func (c *Chain) CanDecodePart() bool { return c.IsPlain() || c.blocks }

// window is the unit, in bytes of the chunk, in which DecodePart decodes blosc blocks. To touch
// fresh memory costs more than to decode a block, and a reader at random seldom wants the bytes
// beside its own.
const window = 4 << 10

// DecodePart decodes at least bytes [off, off+n) of a chunk. It decides to decode bytes [lo, hi),
// into the memory that buffer returns for them. Capacity of the buffer beyond its length may be
// overwritten. buffer is called only for a chunk that is stored, and at most once; its error is
// returned.
func (c *Chain) DecodePart(
	src Source, inner int64, off, n int64, buffer func(lo, hi int64) ([]byte, error),
) error {
	size := c.chunk.size
	if off < 0 || n < 0 || off > size || n > size-off {
		return fmt.Errorf("codec: expected a part of %d bytes, found %d bytes at offset %d",
			size, n, off)
	}
	if err := c.checkInner(inner); err != nil {
		return err
	}
	s, err := c.find(src, inner)
	if err != nil {
		return err
	}
	switch {
	case c.IsPlain():
		if err := c.chunk.checkEncoded(s.n); err != nil {
			return err
		}
		dst, err := buffer(off, off+n)
		if err != nil {
			return err
		}
		return s.read(dst, off)
	case c.blocks && n <= size/2 && n > 0:
		return c.decodeBlocks(s, off, n, buffer)
	}
	dst, err := buffer(0, size)
	if err != nil {
		return err
	}
	return c.chunk.decode(dst, s)
}

// decodeBlocks decodes the stretches of blosc blocks that hold bytes [off, off+n), in two or three
// reads: the head, the rest of the block offsets if there are many, and each stretch of blocks that
// the head does not hold. Where the source knows the blocks, the head is not read.
func (c *Chain) decodeBlocks(
	s span, off, n int64, buffer func(lo, hi int64) ([]byte, error),
) error {
	size := c.chunk.size
	if err := c.chunk.checkEncoded(s.n); err != nil {
		return err
	}
	r := blockReader{s: s, size: size, lo: off / window * window,
		hi: min((off+n+window-1)/window*window, size)}
	defer func() { r.mem.release() }()
	if err := r.find(!c.IsSharded()); err != nil {
		return err
	}
	dst, err := buffer(r.lo, r.hi)
	if err != nil {
		return err
	}
	return r.decode(dst)
}

// blockReader decodes bytes [lo, hi) of one blosc buffer.
type blockReader struct {
	x      *blosc.Index
	s      span
	size   int64   // of the decoded chunk
	mem    *buffer // that head is in
	head   []byte  // the buffer's first bytes, if they were read
	lo, hi int64
}

// find finds out where the blocks are. Those of a whole object may be known.
func (r *blockReader) find(whole bool) error {
	cache, ok := r.s.src.(BlockCache)
	if !ok || !whole {
		return r.readHead()
	}
	if b, known := cache.Blocks(); known && b.index.Size() == r.size {
		r.x = b.index
		return nil
	}
	err := r.readHead()
	if err == nil {
		cache.NoteBlocks(Blocks{r.x})
	}
	return err
}

// readHead reads the header and the block offsets.
func (r *blockReader) readHead() error {
	if err := r.read(min(r.s.n, HeadBytes)); err != nil {
		return err
	}
	h, err := blosc.ParseHeader(r.head, r.s.n)
	if err != nil {
		return err
	}
	if h.Size != r.size {
		return fmt.Errorf("%w: expected a blosc buffer of %d decoded bytes, found %d",
			compress.ErrCorrupt, r.size, h.Size)
	}
	if h.IndexLen() > int64(len(r.head)) {
		if h.IndexLen() > r.s.n {
			return fmt.Errorf("%w: expected %d bytes of block offsets, found %d",
				compress.ErrCorrupt, h.IndexLen(), r.s.n)
		}
		if err := r.read(h.IndexLen()); err != nil {
			return err
		}
	}
	r.x, err = blosc.NewIndex(h, r.head[:h.IndexLen()])
	return err
}

// read makes the first n bytes the head.
func (r *blockReader) read(n int64) error {
	r.mem.release()
	r.mem = getBuffer(n)
	r.head = r.mem.b[:n]
	return r.s.read(r.head, 0)
}

// decode decodes the blocks that hold the wanted bytes. Blocks are read at once if they follow each
// other in the encoded buffer. They need not be in order there: c-blosc's threads write each block
// as soon as it is compressed.
func (r *blockReader) decode(dst []byte) error {
	first, last := int(r.lo/r.x.BlockSize()), int((r.hi-1)/r.x.BlockSize())
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

// decodeStretch decodes what is wanted of blocks first to next-1, whose encoded bytes are the n
// bytes at off.
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
		start := int64(i) * r.x.BlockSize()
		lo, hi := max(r.lo, start), min(r.hi, start+r.x.BlockLen(i))
		o, m := r.x.Range(i)
		err := r.x.DecodeRange(dst[lo-r.lo:hi-r.lo:hi-r.lo], encoded[o-base:o-base+m], i, lo-start)
		if err != nil {
			return fmt.Errorf("codec %q: block %d: %w", bloscName, i, err)
		}
	}
	return nil
}

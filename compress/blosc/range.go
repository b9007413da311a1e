package blosc

import (
	"fmt"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/compress/shuffle"
)

// decodeRange decodes len(dst) bytes, from byte off on, of block i, whose
// content has size bytes. Its streams have to be decoded whole, but only the
// elements that are wanted are brought back to order.
func (h Header) decodeRange(dst, src []byte, i, size, off int, s *scratch) error {
	out := s.room(size)
	if err := h.decodeStreams(out, src); err != nil {
		return fmt.Errorf("blosc: %w: block %d: %s", compress.ErrCorrupt, i, err)
	}
	switch {
	case h.isByteShuffled():
		unshuffleRange(dst, out, off,
			grouping{rows: h.TypeSize, elements: 1, shuffle: shuffle.Unshuffle,
				typeSize: h.TypeSize}, s)
	case h.isBitShuffled(size) && size/h.TypeSize%8 == 0: // other blocks are not shuffled at all
		unshuffleRange(dst, out, off,
			grouping{rows: 8 * h.TypeSize, elements: 8, shuffle: shuffle.BitUnshuffle,
				typeSize: h.TypeSize}, s)
	default:
		copy(dst, out[off:])
	}
	return nil
}

// A grouping is a way to shuffle: the block's elements as so many rows, of one
// byte for every so many elements.
type grouping struct {
	rows, elements int
	typeSize       int
	shuffle        func(dst, src []byte, typeSize int)
}

// unshuffleRange brings bytes [off, off+len(dst)) of a shuffled block to order:
// it takes the columns of the rows that hold them, and unshuffles those. What
// is left over at the end of a block, less than a group, was not shuffled.
func unshuffleRange(dst, block []byte, off int, g grouping, s *scratch) {
	group := g.typeSize * g.elements // bytes of content in one column
	columns := len(block) / group
	shuffled := columns * group
	if end := off + len(dst); end > shuffled {
		from := max(off, shuffled)
		copy(dst[from-off:], block[from:end])
	}
	if off >= shuffled {
		return
	}
	first, last := off/group, (min(off+len(dst), shuffled)+group-1)/group
	n := last - first
	taken, ordered := s.columns(n * group)
	for r := range g.rows {
		copy(taken[r*n:(r+1)*n], block[r*columns+first:])
	}
	g.shuffle(ordered, taken, g.typeSize)
	copy(dst[:min(len(dst), shuffled-off)], ordered[off-first*group:])
}

// columns returns two pieces of memory of n bytes each.
func (s *scratch) columns(n int) (a, b []byte) {
	if len(s.cols) < 2*n {
		s.cols = make([]byte, 2*n)
	}
	return s.cols[:n], s.cols[n : 2*n]
}

// DecodeRange decodes len(dst) bytes of block i, from byte off of the block's
// content on. src is the bytes of the block's Range. Nothing is written beyond
// len(dst).
func (x *Index) DecodeRange(dst, src []byte, i int, off int64) error {
	if i < 0 || i >= x.Blocks() {
		return corrupt("block %d wanted, expected 0 to %d", i, x.Blocks()-1)
	}
	size := x.BlockLen(i)
	if off < 0 || off+int64(len(dst)) > size {
		return corrupt("bytes %d to %d of block %d wanted, expected at most %d", off,
			off+int64(len(dst)), i, size)
	}
	if _, want := x.Range(i); int64(len(src)) < want {
		return corrupt("truncated: %d bytes of block %d, expected %d", len(src), i, want)
	}
	if x.header.isStored() {
		copy(dst, src[off:])
		return nil
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	if int64(len(dst)) == size {
		return x.header.decodeBlock(dst[:len(dst):len(dst)], src, i, s)
	}
	return x.header.decodeRange(dst, src, i, int(size), int(off), s)
}

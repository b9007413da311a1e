package blosc

import (
	"encoding/binary"
	"slices"
)

// Index knows where the blocks of a buffer are. It is safe for concurrent use.
type Index struct {
	header Header
	starts []uint32 // offset in the buffer of each block; none if the content is stored
	sorted []uint32 // starts in ascending order; none if starts are
}

// NewIndex makes an index of the first h.IndexLen() bytes of a buffer. All
// offsets are checked to lie behind the index and within the buffer.
func NewIndex(h Header, b []byte) (*Index, error) {
	x := new(Index)
	if err := x.load(h, b); err != nil {
		return nil, err
	}
	return x, nil
}

// load makes x an index of the buffer that begins with b, reusing its memory.
func (x *Index) load(h Header, b []byte) error {
	x.header, x.starts, x.sorted = h, x.starts[:0], x.sorted[:0]
	if int64(len(b)) < h.IndexLen() {
		return corrupt("index of %d bytes, expected %d", len(b), h.IndexLen())
	}
	if h.isStored() {
		return nil
	}
	n := int(h.blocks())
	x.starts = slices.Grow(x.starts, n)[:n]
	ascending := true
	for i := range x.starts {
		start := binary.LittleEndian.Uint32(b[HeaderLen+4*i:])
		if int64(start) < h.IndexLen() || int64(start) >= h.Encoded {
			return corrupt("block %d at offset %d, expected %d to %d", i, start, h.IndexLen(),
				h.Encoded-1)
		}
		ascending = ascending && (i == 0 || x.starts[i-1] < start)
		x.starts[i] = start
	}
	if !ascending { // several threads wrote it, each block as it was ready
		x.sorted = append(x.sorted, x.starts...)
		slices.Sort(x.sorted)
	}
	return nil
}

// Blocks is the number of blocks.
func (x *Index) Blocks() int { return int(x.header.blocks()) }

// BlockSize is the length of each block's content but the last one's.
func (x *Index) BlockSize() int64 { return x.header.BlockSize }

// BlockLen is the length of block i's content.
func (x *Index) BlockLen(i int) int64 { return x.header.blockLen(i) }

// Size is the length of the buffer's content.
func (x *Index) Size() int64 { return x.header.Size }

// Encoded is the length of the buffer.
func (x *Index) Encoded() int64 { return x.header.Encoded }

// Range returns the offset and number of the buffer's bytes that block i may
// occupy: up to the next block or the end.
func (x *Index) Range(i int) (off, n int64) {
	if x.header.isStored() {
		return HeaderLen + int64(i)*x.header.BlockSize, x.header.blockLen(i)
	}
	start, end := x.starts[i], uint32(x.header.Encoded)
	if len(x.sorted) == 0 {
		if i+1 < len(x.starts) {
			end = x.starts[i+1]
		}
	} else if j, _ := slices.BinarySearch(x.sorted, start+1); j < len(x.sorted) {
		end = x.sorted[j]
	}
	return int64(start), int64(end - start)
}

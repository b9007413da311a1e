package codec

import "github.com/zarrfs/zarrfs/compress/blosc"

// This file is for objects of which each read is a round trip: where the blocks of an object are
// that is one blosc buffer.

// Blocks says where the blocks of an object are that is one blosc buffer. It never changes.
type Blocks struct{ index *blosc.Index }

// A BlockCache is optionally implemented by a Source that is one object, to keep its blocks.
type BlockCache interface {
	// Blocks returns the blocks of the object, if they are known.
	Blocks() (b Blocks, known bool)
	// NoteBlocks notes the blocks of the object, which were read.
	NoteBlocks(b Blocks)
}

// Bytes is about the memory that b takes.
func (b Blocks) Bytes() int64 { return 128 + 8*int64(b.index.Blocks()) }

// Encoded is the length of the buffer in bytes, and size that of the chunk.
func (b Blocks) Encoded() (n, size int64) { return b.index.Encoded(), b.index.Size() }

// Range returns the stretch of the object that has the blocks with bytes [lo, hi) of the chunk.
func (b Blocks) Range(lo, hi int64) (off, n int64) {
	first, last := b.at(lo), b.at(hi-1)
	off, n = b.index.Range(first)
	end := off + n
	for i := first + 1; i <= last; i++ {
		at, n := b.index.Range(i)
		off, end = min(off, at), max(end, at+n)
	}
	return off, end - off
}

// Excess is by how many bytes a block ends later than it would if all blocks were equally long and
// came in order. Threads write blocks as they are ready, and some of the data may compress less.
func (b Blocks) Excess() int64 {
	most, blocks := int64(0), int64(b.index.Blocks())
	for i := range blocks {
		off, n := b.index.Range(int(i))
		most = max(most, off+n-(i+1)*b.index.Encoded()/blocks)
	}
	return most
}

// About returns the stretch that Range would return if all blocks were equally long and came in
// order.
func (b Blocks) About(lo, hi int64) (off, n int64) {
	encoded, blocks := b.index.Encoded(), int64(b.index.Blocks())
	off = int64(b.at(lo)) * encoded / blocks
	return off, int64(b.at(hi-1)+1)*encoded/blocks - off
}

// at is the number of the block that has a byte of the chunk.
func (b Blocks) at(off int64) int {
	return int(min(max(off, 0)/b.index.BlockSize(), int64(b.index.Blocks()-1)))
}

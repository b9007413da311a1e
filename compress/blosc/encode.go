package blosc

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/compress/shuffle"
)

// Inner is a compressor of blocks.
type Inner uint8

// The inner compressors.
const (
	BloscLZ Inner = iota
	LZ4
	LZ4HC
	Snappy
	Zlib
	Zstd
)

// codecOf is each compressor's number in the header: that of what decodes it.
var codecOf = [...]byte{BloscLZ: codecBloscLZ, LZ4: codecLZ4, LZ4HC: codecLZ4, Snappy: codecSnappy,
	Zlib: codecZlib, Zstd: codecZstd}

// Shuffle is what is done to a block before it is compressed; the numbers are those of numcodecs.
type Shuffle int8

// The ways to shuffle.
const (
	AutoShuffle Shuffle = iota - 1 // bits of elements of one byte, otherwise bytes
	NoShuffle
	ByteShuffle
	BitShuffle
)

// Encoder encodes whole buffers as c-blosc 1.21 does: its blocks (but those of LZ4, see blockSize),
// streams, and levels. It is safe for concurrent use.
type Encoder struct {
	Inner     Inner
	Level     int // 0 stores the content as it is, 9 is the densest
	Shuffle   Shuffle
	TypeSize  int // bytes of an element; more than 255 count as 1
	BlockSize int // bytes; 0 lets the level decide
}

var _ compress.Encoder = Encoder{}

// minSize is the shortest content that is compressed.
const minSize = 128

// Encode implements compress.Encoder.
func (e Encoder) Encode(dst, src []byte) ([]byte, error) {
	if len(src) > maxSize {
		return dst, fmt.Errorf("blosc: %w: content of %d bytes, expected at most %d",
			compress.ErrTooLarge, len(src), maxSize)
	}
	b := e.plan(len(src))
	start := len(dst)
	longest := HeaderLen + len(src)
	dst = slices.Grow(dst, longest)[:start+longest]
	out := dst[start:]
	if !b.header.isStored() {
		n, err := b.encodeBlocks(out, src)
		if err != nil {
			return dst[:start], err
		}
		if n > 0 {
			b.header.Encoded = int64(n)
			b.header.put(out)
			return dst[:start+n], nil
		}
		b.header.flags |= flagStored
	}
	b.header.Encoded = int64(longest)
	b.header.put(out)
	copy(out[HeaderLen:], src)
	return dst, nil
}

// buffer is one buffer being encoded.
type buffer struct {
	Encoder
	header Header
}

// plan decides how a content of that many bytes is encoded.
func (e Encoder) plan(size int) buffer {
	if e.TypeSize < 1 || e.TypeSize > 255 {
		e.TypeSize = 1
	}
	if e.Shuffle == AutoShuffle {
		e.Shuffle = ByteShuffle
		if e.TypeSize == 1 {
			e.Shuffle = BitShuffle
		}
	}
	h := Header{Size: int64(size), TypeSize: e.TypeSize, BlockSize: int64(e.blockSize(size))}
	h.flags = codecOf[e.Inner] << 5
	switch e.Shuffle {
	case ByteShuffle:
		h.flags |= flagShuffle
	case BitShuffle:
		h.flags |= flagBitShuffle
	}
	if !e.isSplit(int(h.BlockSize)) {
		h.flags |= flagNoSplit
	}
	if e.Level == 0 || size < minSize {
		h.flags |= flagStored
	}
	return buffer{e, h}
}

// put writes the header to the first HeaderLen bytes of b.
func (h Header) put(b []byte) {
	const codecVersion = 1 // of every inner compressor
	b[0], b[1], b[2], b[3] = formatVersion, codecVersion, h.flags, byte(h.TypeSize)
	binary.LittleEndian.PutUint32(b[4:], uint32(h.Size))
	binary.LittleEndian.PutUint32(b[8:], uint32(h.BlockSize))
	binary.LittleEndian.PutUint32(b[12:], uint32(h.Encoded))
}

// isDense reports whether a compressor is meant for large blocks.
func (i Inner) isDense() bool { return i == LZ4HC || i == Zlib || i == Zstd }

// isSplit reports whether a block becomes one stream per byte of an element.
func (e Encoder) isSplit(blockSize int) bool {
	return e.Inner != Zstd && e.TypeSize <= maxSplits && blockSize/e.TypeSize >= minSplitElements
}

// blockSize is the length of blocks: 32 KiB, the first-level cache of most processors, times a
// factor that depends on the level and the compressor. If a block is split, that is the length of
// each stream, within bounds. All this is c-blosc's, except the streams of LZ4. They have at most
// 64 KiB, the reach of LZ4's matches. Longer ones save nothing (docs/decisions/0002-libraries.md).
// They are searched slower, and a small read must decode more of them.
func (e Encoder) blockSize(size int) int {
	const (
		cache     = 32 << 10
		lz4Window = 64 << 10
		maxStream = 256 << 10
		minBlock  = 64 << 10
		maxBlock  = 1 << 20
	)
	if size < e.TypeSize {
		return 1
	}
	n := size
	switch {
	case e.BlockSize > 0:
		n = max(e.BlockSize, minSize)
	case size >= cache:
		n = cache * [10]int{1, 2, 4, 8, 16, 16, 32, 32, 32, 32}[e.Level] / 4
		if e.Inner.isDense() {
			n *= 2
			if e.Level == 9 {
				n *= 2
			}
		}
	}
	if e.Level > 0 && e.isSplit(n) {
		if e.Inner == LZ4 && e.BlockSize == 0 {
			n = min(n, lz4Window)
		}
		n = min(max(min(n, maxStream)*e.TypeSize, minBlock), maxBlock)
	}
	n = min(n, size)
	if n > e.TypeSize {
		n -= n % e.TypeSize
	}
	return n
}

// encodeBlocks writes all behind the header to dst and returns the length of the buffer; 0 if it is
// longer than dst.
func (b *buffer) encodeBlocks(dst, src []byte) (int, error) {
	h := &b.header
	at := int(HeaderLen + 4*h.blocks())
	if at > len(dst) {
		return 0, nil
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	for i := range int(h.blocks()) {
		binary.LittleEndian.PutUint32(dst[HeaderLen+4*i:], uint32(at))
		n := int(h.blockLen(i))
		m, err := b.encodeStreams(dst[at:], h.shuffled(src[:n], s))
		if err != nil || m == 0 {
			return 0, err
		}
		at += m
		src = src[n:]
	}
	return at, nil
}

// shuffled returns a block as its streams hold it.
func (h *Header) shuffled(block []byte, s *scratch) []byte {
	switch {
	case h.isByteShuffled():
		out := s.room(len(block))
		shuffle.Shuffle(out, block, h.TypeSize)
		return out
	case h.isBitShuffled(len(block)):
		out := s.room(len(block))
		shuffle.BitShuffle(out, block, h.TypeSize)
		return out
	}
	return block
}

// encodeStreams writes the streams of a block to dst and returns their length; 0 if dst is too
// short.
func (b *buffer) encodeStreams(dst, block []byte) (int, error) {
	splits := b.header.splits(len(block))
	size := len(block) / splits
	at := 0
	for k := range splits {
		if len(dst)-at < 4 {
			return 0, nil
		}
		part := block[k*size : (k+1)*size]
		room := dst[at+4:]
		n, err := b.encodeStream(room[:min(len(room), size-1)], part)
		if err != nil {
			return 0, err
		}
		if n == 0 { // it did not get shorter, so it is stored
			if n = copy(room, part); n < size {
				return 0, nil
			}
		}
		binary.LittleEndian.PutUint32(dst[at:], uint32(n))
		at += 4 + n
	}
	return at, nil
}

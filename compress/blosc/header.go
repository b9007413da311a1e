// Package blosc encodes buffers of c-blosc 1.x, and decodes them, whole or one
// block at a time.
//
// A buffer is a header of 16 bytes, the offsets of its blocks, and the blocks. A block is one or
// several streams of one of the inner codecs (blosclz, lz4, snappy, zlib, zstd). Their output is
// the block, perhaps with its bytes or bits shuffled. Blocks are independent of each other, so that
// a few bytes can be had for the price of one block: ParseHeader, NewIndex and DecodeRange.
package blosc

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/zarrfs/zarrfs/compress"
)

// HeaderLen is the number of bytes in front of a buffer that ParseHeader needs.
const HeaderLen = 16

// formatVersion is that of all of c-blosc 1.x.
const formatVersion = 2

// maxSize is the longest content that c-blosc 1.x compresses.
const maxSize = math.MaxInt32 - HeaderLen

// Flags of the header; the three highest bits are the inner codec.
const (
	flagShuffle = 0x01
	// the content follows the header as it is: not shuffled either, whatever other flags say
	flagStored     = 0x02
	flagBitShuffle = 0x04
	flagReserved   = 0x08
	flagNoSplit    = 0x10 // each block is one stream
)

// Inner codecs. The fourth, lz4hc, decodes as lz4 and has its number.
const (
	codecBloscLZ = iota
	codecLZ4
	codecSnappy
	codecZlib
	codecZstd
	codecs
)

// A block is split into one stream per byte of an element only if elements are at most this long
// and at least so many.
const (
	maxSplits        = 16
	minSplitElements = 128
)

// storedBlock is the size of the blocks in which a stored buffer is served.
const storedBlock = 64 << 10

// Header says how a buffer is built. Sizes are in bytes.
type Header struct {
	Size      int64 // of the content
	Encoded   int64 // of the buffer, this header included
	BlockSize int64 // of all blocks' content but the last one's, which may be shorter
	TypeSize  int   // of the elements for which bytes or bits were shuffled
	flags     byte
}

// ParseHeader parses the first HeaderLen bytes of an object of the given size.
// Bytes behind the buffer are allowed; an object shorter than the buffer is
// corrupt.
func ParseHeader(b []byte, size int64) (Header, error) {
	if len(b) < HeaderLen || size < HeaderLen {
		return Header{}, corrupt("object of %d bytes, expected a header of %d",
			min(int64(len(b)), size), HeaderLen)
	}
	if b[0] != formatVersion {
		return Header{}, corrupt("format version %d, expected %d", b[0], formatVersion)
	}
	h := Header{
		flags:     b[2],
		TypeSize:  int(b[3]),
		Size:      int64(binary.LittleEndian.Uint32(b[4:])),
		BlockSize: int64(binary.LittleEndian.Uint32(b[8:])),
		Encoded:   int64(binary.LittleEndian.Uint32(b[12:])),
	}
	if err := h.check(size); err != nil {
		return Header{}, err
	}
	if h.isStored() {
		h.BlockSize = storedBlock // encoders leave any number here
	}
	return h, nil
}

// check reports whether a header can be that of an object of the given size.
func (h Header) check(size int64) error {
	switch {
	case h.flags&flagReserved != 0:
		return corrupt("flags %#02x, expected the reserved bit %#02x to be 0", h.flags,
			flagReserved)
	case h.codec() >= codecs:
		return corrupt("inner codec %d, expected at most %d", h.codec(), codecs-1)
	case h.TypeSize == 0:
		return corrupt("elements of 0 bytes, expected at least 1")
	case h.Size > maxSize:
		return corrupt("content of %d bytes, expected at most %d", h.Size, int64(maxSize))
	case h.Encoded < HeaderLen:
		return corrupt("buffer of %d bytes, expected at least %d", h.Encoded, HeaderLen)
	case h.Encoded > size:
		return corrupt("truncated: object of %d bytes, expected %d as its header says", size,
			h.Encoded)
	case h.Size == 0:
		return nil
	case h.isStored():
		if h.Encoded != HeaderLen+h.Size {
			return corrupt("buffer of %d bytes, expected %d to store %d", h.Encoded,
				HeaderLen+h.Size, h.Size)
		}
		return nil
	case h.BlockSize == 0 || h.BlockSize > h.Size:
		return corrupt("blocks of %d bytes, expected 1 to %d", h.BlockSize, h.Size)
	case h.IndexLen() > h.Encoded:
		return corrupt("buffer of %d bytes, expected at least %d for the offsets of %d blocks",
			h.Encoded, h.IndexLen(), h.blocks())
	}
	return nil
}

// IndexLen is the number of bytes in front of the buffer that NewIndex needs.
func (h Header) IndexLen() int64 {
	if h.isStored() {
		return HeaderLen
	}
	return HeaderLen + 4*h.blocks()
}

func (h Header) blocks() int64 {
	if h.Size == 0 {
		return 0
	}
	return (h.Size + h.BlockSize - 1) / h.BlockSize
}

// blockLen is the length of block i's content.
func (h Header) blockLen(i int) int64 {
	return min(h.BlockSize, h.Size-int64(i)*h.BlockSize)
}

func (h Header) isStored() bool { return h.flags&flagStored != 0 }

func (h Header) codec() byte { return h.flags >> 5 }

// isByteShuffled reports whether the streams of a block hold it byte-shuffled.
func (h Header) isByteShuffled() bool {
	return h.flags&flagShuffle != 0 && h.TypeSize > 1
}

// isBitShuffled is the same for bits; c-blosc lets byte shuffling win.
func (h Header) isBitShuffled(blockLen int) bool {
	return !h.isByteShuffled() && h.flags&flagBitShuffle != 0 && blockLen >= h.TypeSize
}

// splits is the number of streams of a block. All conditions count: encoders
// before 1.11 split by them and never set flagNoSplit.
func (h Header) splits(blockLen int) int {
	if h.flags&flagNoSplit != 0 ||
		h.TypeSize > maxSplits ||
		blockLen/h.TypeSize < minSplitElements ||
		int64(blockLen) != h.BlockSize { // the short last block
		return 1
	}
	return h.TypeSize
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("blosc: %w: %s", compress.ErrCorrupt, fmt.Sprintf(format, args...))
}

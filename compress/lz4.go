package compress

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/pierrec/lz4/v4"
)

// LZ4 decodes and encodes what numcodecs calls lz4: the decoded size as a little-endian uint32,
// then one raw LZ4 block. It is not the frame format.
type LZ4 struct {
	// of encoding, as LZ4_compress_fast has it: the higher the faster and the less dense; below 1
	// means 1
	Acceleration int
}

// Decode implements Decoder.
func (LZ4) Decode(dst, src []byte) (int, error) {
	if len(src) < 4 {
		return 0, corrupt("lz4 object of %d bytes, expected a size of 4 bytes", len(src))
	}
	size := int64(binary.LittleEndian.Uint32(src))
	if size > int64(len(dst)) {
		return 0, fmt.Errorf("%w: lz4 object decodes to %d bytes, expected at most %d", ErrTooLarge,
			size, len(dst))
	}
	n, err := lz4.UncompressBlock(src[4:], dst[:size:size])
	if err != nil {
		return 0, fmt.Errorf("%w: lz4 block of %d bytes does not decode to %d: %w", ErrCorrupt,
			len(src)-4, size, err)
	}
	if int64(n) != size {
		return n, corrupt("lz4 block decodes to %d bytes, expected %d", n, size)
	}
	return n, nil
}

// maxLZ4 is the longest content of an LZ4 block.
const maxLZ4 = 0x7E000000

// Encode implements Encoder. The block is, byte for byte, that of LZ4_compress_fast.
func (l LZ4) Encode(dst, src []byte) ([]byte, error) {
	if len(src) > maxLZ4 {
		return dst, fmt.Errorf("%w: lz4 content of %d bytes, expected at most %d", ErrTooLarge,
			len(src), maxLZ4)
	}
	out := binary.LittleEndian.AppendUint32(dst, uint32(len(src)))
	n := len(out)
	bound := lz4.CompressBlockBound(len(src))
	out = slices.Grow(out, bound)
	return out[:n+EncodeLZ4Block(out[n:n+bound], src, l.Acceleration)], nil
}

package compress

import (
	"encoding/binary"
	"fmt"

	"github.com/pierrec/lz4/v4"
)

// LZ4 decodes what numcodecs calls lz4: the decoded size as a little-endian uint32, then one raw LZ4 block. It is not the frame format.
type LZ4 struct{}

// Decode implements Decoder.
func (LZ4) Decode(dst, src []byte) (int, error) {
	if len(src) < 4 {
		return 0, corrupt("lz4 object of %d bytes, expected a size of 4 bytes", len(src))
	}
	size := int64(binary.LittleEndian.Uint32(src))
	if size > int64(len(dst)) {
		return 0, fmt.Errorf("%w: lz4 object decodes to %d bytes, expected at most %d", ErrTooLarge, size, len(dst))
	}
	n, err := lz4.UncompressBlock(src[4:], dst[:size:size])
	if err != nil {
		return 0, fmt.Errorf("%w: lz4 block of %d bytes does not decode to %d: %w", ErrCorrupt, len(src)-4, size, err)
	}
	if int64(n) != size {
		return n, corrupt("lz4 block decodes to %d bytes, expected %d", n, size)
	}
	return n, nil
}

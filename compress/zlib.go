package compress

import (
	"encoding/binary"
	"fmt"

	"github.com/zarrfs/zarrfs/compress/inflate"
)

// Zlib decodes zlib streams (RFC 1950). Bytes behind the stream are ignored, as zlib itself does.
type Zlib struct {
	Level int // of encoding: 0 stores, 1 is the fastest, 9 the densest; -1 means 6
}

// Decode implements Decoder.
func (Zlib) Decode(dst, src []byte) (int, error) {
	if len(src) < 6 {
		return 0, corrupt("zlib stream of %d bytes, expected at least 6", len(src))
	}
	header := binary.BigEndian.Uint16(src)
	if src[0]&15 != 8 || src[0]>>4 > 7 || header%31 != 0 {
		return 0, corrupt("zlib header %#04x, expected deflate with a window of at most 32 KiB "+
			"and a multiple of 31", header)
	}
	if src[1]&0x20 != 0 {
		return 0, unsupported("zlib stream with a preset dictionary")
	}
	n, used, err := inflate.Decode(dst, src[2:])
	if err != nil {
		return n, fmt.Errorf("zlib: %w", err)
	}
	trailer := src[2+used:]
	if len(trailer) < 4 {
		return n, corrupt("zlib stream ends with %d bytes of its checksum, expected 4",
			len(trailer))
	}
	if want, got := binary.BigEndian.Uint32(trailer), adler32(dst[:n]); got != want {
		return n, corrupt("zlib stream's Adler-32 is %#08x, expected %#08x", got, want)
	}
	return n, nil
}

// zlibHeaders start streams by the level's class (RFC 1950 section 2.2, FLEVEL): the fastest, fast,
// the default, the densest. The window is one of 32 KiB.
var zlibHeaders = [4]uint16{0x7801, 0x785e, 0x789c, 0x78da}

// Encode implements Encoder.
func (z Zlib) Encode(dst, src []byte) ([]byte, error) {
	class := 2
	switch {
	case z.Level == 0 || z.Level == 1:
		class = 0
	case z.Level > 1 && z.Level < 6:
		class = 1
	case z.Level > 6:
		class = 3
	}
	out, err := deflate(binary.BigEndian.AppendUint16(dst, zlibHeaders[class]), src, z.Level)
	if err != nil {
		return dst, fmt.Errorf("zlib: %w", err)
	}
	return binary.BigEndian.AppendUint32(out, adler32(src)), nil
}

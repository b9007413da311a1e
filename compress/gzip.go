package compress

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/zarrfs/zarrfs/compress/inflate"
)

// Gzip decodes gzip objects (RFC 1952): one or more members, one after the other, and zero bytes as
// padding behind them. It encodes one member, which has no name and no time.
type Gzip struct {
	Level int // as Zlib's
}

// Decode implements Decoder.
func (Gzip) Decode(dst, src []byte) (int, error) {
	total := 0
	for {
		n, rest, err := gzipMember(dst[total:], src)
		total += n
		if err != nil {
			return total, fmt.Errorf("gzip: %w", err)
		}
		if src = bytes.TrimLeft(rest, "\x00"); len(src) == 0 {
			return total, nil
		}
	}
}

// gzipMember decodes the member at the start of src and returns what follows it.
func gzipMember(dst, src []byte) (n int, rest []byte, err error) {
	body, err := gzipBody(src)
	if err != nil {
		return 0, nil, err
	}
	n, used, err := inflate.Decode(dst, body)
	if err != nil {
		return n, nil, err
	}
	trailer := body[used:]
	if len(trailer) < 8 {
		return n, nil, corrupt("member ends with %d bytes of checksum and size, expected 8",
			len(trailer))
	}
	if want, got := binary.LittleEndian.Uint32(trailer), crc32.ChecksumIEEE(dst[:n]); got != want {
		return n, nil, corrupt("member's CRC-32 is %#08x, expected %#08x", got, want)
	}
	if want := binary.LittleEndian.Uint32(trailer[4:]); uint32(n) != want {
		return n, nil, corrupt("member has %d bytes, expected %d", n, want)
	}
	return n, trailer[8:], nil
}

// Flags of a member's header (RFC 1952 section 2.3.1).
const (
	gzipHeaderCRC = 1 << 1
	gzipExtra     = 1 << 2
	gzipName      = 1 << 3
	gzipComment   = 1 << 4
)

// gzipBody returns what follows the member's header.
func gzipBody(src []byte) ([]byte, error) {
	if len(src) < 10 || src[0] != 0x1f || src[1] != 0x8b || src[2] != 8 {
		return nil, corrupt("member starts with % x, expected 10 bytes that start with 1f 8b 08",
			src[:min(len(src), 10)])
	}
	flags, body := src[3], src[10:]
	if flags&gzipExtra != 0 {
		if len(body) < 2 || len(body)-2 < int(binary.LittleEndian.Uint16(body)) {
			return nil, corrupt("header ends in its extra field")
		}
		body = body[2+int(binary.LittleEndian.Uint16(body)):]
	}
	for _, text := range []byte{gzipName, gzipComment} {
		if flags&text == 0 {
			continue
		}
		end := bytes.IndexByte(body, 0)
		if end < 0 {
			return nil, corrupt("header ends in its name or comment")
		}
		body = body[end+1:]
	}
	if flags&gzipHeaderCRC != 0 {
		if len(body) < 2 {
			return nil, corrupt("header ends in its checksum")
		}
		want, got := binary.LittleEndian.Uint16(body),
			uint16(crc32.ChecksumIEEE(src[:len(src)-len(body)]))
		if got != want {
			return nil, corrupt("header's checksum is %#04x, expected %#04x", got, want)
		}
		body = body[2:]
	}
	return body, nil
}

// Encode implements Encoder.
func (g Gzip) Encode(dst, src []byte) ([]byte, error) {
	var extra byte
	switch g.Level {
	case 9:
		extra = 2 // the densest
	case 1:
		extra = 4 // the fastest
	}
	const unknownSystem = 255
	out, err := deflate(append(dst, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, extra, unknownSystem), src,
		g.Level)
	if err != nil {
		return dst, fmt.Errorf("gzip: %w", err)
	}
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(src))
	return binary.LittleEndian.AppendUint32(out, uint32(len(src))), nil
}

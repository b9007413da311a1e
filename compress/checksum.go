package compress

import (
	"encoding/binary"
	"hash/crc32"
)

// Checksum encodes an object with a checksum of four bytes, little-endian.
type Checksum interface {
	Encoder
	// Strip verifies and removes the checksum. Nothing is copied.
	Strip(src []byte) (payload []byte, err error)
}

// Location says where an object carries its checksum.
type Location uint8

// Locations of checksums.
const (
	Default Location = iota // where the checksum's own codec puts it
	Start                   // before the payload
	End                     // behind the payload
)

type (
	// CRC32C is the Castagnoli CRC of the codec crc32c; by default at the end.
	CRC32C struct{ Location Location }
	// CRC32 is the CRC of gzip, of the codec crc32; by default at the start.
	CRC32 struct{ Location Location }
	// Adler32 is the checksum of zlib, of the codec adler32; by default at the start.
	Adler32 struct{ Location Location }
	// Fletcher32 is HDF5's checksum, at the end.
	Fletcher32 struct{}
	// JenkinsLookup3 is Bob Jenkins' hash over Prefix and the payload, at the end.
	JenkinsLookup3 struct {
		InitVal uint32
		Prefix  []byte
	}
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Strip implements Checksum.
func (c CRC32C) Strip(src []byte) ([]byte, error) {
	return strip("crc32c", src, c.Location == Start, crc32c)
}

// Encode implements Encoder.
func (c CRC32C) Encode(dst, src []byte) ([]byte, error) {
	return attach(dst, src, c.Location == Start, crc32c), nil
}

func crc32c(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// Strip implements Checksum.
func (c CRC32) Strip(src []byte) ([]byte, error) {
	return strip("crc32", src, c.Location != End, crc32.ChecksumIEEE)
}

// Encode implements Encoder.
func (c CRC32) Encode(dst, src []byte) ([]byte, error) {
	return attach(dst, src, c.Location != End, crc32.ChecksumIEEE), nil
}

// Strip implements Checksum.
func (c Adler32) Strip(src []byte) ([]byte, error) {
	return strip("adler32", src, c.Location != End, adler32)
}

// Encode implements Encoder.
func (c Adler32) Encode(dst, src []byte) ([]byte, error) {
	return attach(dst, src, c.Location != End, adler32), nil
}

// Strip implements Checksum. zarrs leaves the last byte of a payload of odd length out of its sum;
// that sum is accepted, too.
func (Fletcher32) Strip(src []byte) ([]byte, error) {
	payload, err := strip("fletcher32", src, false, fletcher32)
	if err == nil || len(src)%2 == 0 {
		return payload, err
	}
	if _, other := strip("fletcher32", src, false, func(b []byte) uint32 {
		return fletcher32(b[:len(b)-1])
	}); other == nil {
		return src[:len(src)-4], nil
	}
	return nil, err
}

// Encode implements Encoder.
func (Fletcher32) Encode(dst, src []byte) ([]byte, error) {
	return attach(dst, src, false, fletcher32), nil
}

// Strip implements Checksum.
func (j JenkinsLookup3) Strip(src []byte) ([]byte, error) {
	return strip("jenkins_lookup3", src, false, j.sum)
}

// Encode implements Encoder.
func (j JenkinsLookup3) Encode(dst, src []byte) ([]byte, error) {
	return attach(dst, src, false, j.sum), nil
}

func (j JenkinsLookup3) sum(b []byte) uint32 { return lookup3(j.InitVal, j.Prefix, b) }

// strip splits src into checksum and payload and compares.
func strip(name string, src []byte, start bool, sum func([]byte) uint32) ([]byte, error) {
	if len(src) < 4 {
		return nil, corrupt("object of %d bytes, expected a %s checksum of 4", len(src), name)
	}
	n := len(src) - 4
	payload, stored := src[:n:n], src[n:]
	if start {
		stored, payload = src[:4], src[4:]
	}
	if want, got := binary.LittleEndian.Uint32(stored), sum(payload); got != want {
		return nil, corrupt("%s of %d bytes is %#08x, expected %#08x", name, len(payload), got,
			want)
	}
	return payload, nil
}

// attach appends src and its checksum.
func attach(dst, src []byte, start bool, sum func([]byte) uint32) []byte {
	if start {
		return append(binary.LittleEndian.AppendUint32(dst, sum(src)), src...)
	}
	return binary.LittleEndian.AppendUint32(append(dst, src...), sum(src))
}

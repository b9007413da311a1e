package compress_test

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"compress/zlib"
	"io"
	"testing"

	"github.com/ulikunitz/xz"

	"github.com/zarrfs/zarrfs/compress"
)

// encoding is an encoder with what decodes it.
type encoding struct {
	name string
	compress.Encoder
	decode func(dst, src []byte) (int, error)
	oracle func(io.Reader) (io.Reader, error) // another decoder; nil if there is none
}

// stripper decodes a checksum.
func stripper(c compress.Checksum) func(dst, src []byte) (int, error) {
	return func(dst, src []byte) (int, error) {
		payload, err := c.Strip(src)
		return copy(dst, payload), err
	}
}

// encodings are all encoders at a level, from 0 to 9.
func encodings(level int) []encoding {
	z, g := compress.Zlib{Level: level}, compress.Gzip{Level: level}
	s, l, b := compress.Zstd{Level: 2*level - 3, Checksum: level%2 == 0},
		compress.LZ4{Acceleration: level - 1}, compress.BZ2{Level: level}
	x := compress.LZMA{Format: compress.LZMAXZ, Check: []int{-1, 0, 1, 4, 10}[level%5],
		Dict: 1 << (level + 10)}
	alone := compress.LZMA{Format: compress.LZMAAlone}
	lzma2, lzma1 := compress.LZMAFilter{ID: compress.FilterLZMA2},
		compress.LZMAFilter{ID: compress.FilterLZMA1, Props: &[3]int{1, 2, 0}}
	raw1 := compress.LZMA{Format: compress.LZMARaw, Filters: []compress.LZMAFilter{lzma1}}
	raw2 := compress.LZMA{Format: compress.LZMARaw,
		Filters: []compress.LZMAFilter{{ID: compress.FilterDelta, Dist: level + 1}, lzma2}}
	filtered := compress.LZMA{Format: compress.LZMAXZ, Check: -1, Filters: raw2.Filters}
	all := []encoding{
		{"zlib", z, z.Decode, func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }},
		{"gzip", g, g.Decode, func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
		{"zstd", s, s.Decode, nil},
		{"lz4", l, l.Decode, nil},
		{"bz2", b, b.Decode, func(r io.Reader) (io.Reader, error) {
			return bzip2.NewReader(r), nil
		}},
		{"xz", x, x.Decode, func(r io.Reader) (io.Reader, error) { return xz.NewReader(r) }},
		{"xz, filtered", filtered, filtered.Decode, nil},
		{"lzma alone", alone, alone.Decode, nil},
		{"lzma raw", raw1, raw1.Decode, nil},
		{"lzma2 raw", raw2, raw2.Decode, nil},
		{"base64", compress.Base64{}, compress.Base64{}.Decode, nil},
	}
	where := compress.Location(level % 3)
	for _, c := range []compress.Checksum{
		compress.CRC32{Location: where}, compress.CRC32C{Location: where},
		compress.Adler32{Location: where},
		compress.Fletcher32{}, compress.JenkinsLookup3{InitVal: uint32(level),
			Prefix: []byte("prefix")},
	} {
		all = append(all, encoding{"checksum", c, stripper(c), nil})
	}
	return all
}

// check encodes a content behind other bytes, and decodes it.
func (e encoding) check(t *testing.T, content []byte) {
	t.Helper()
	before := bytes.Clone(content)
	out, err := e.Encode([]byte("head"), content)
	if err != nil || !bytes.HasPrefix(out, []byte("head")) || !bytes.Equal(before, content) {
		t.Fatalf("%s of %d bytes: %v", e.name, len(content), err)
	}
	out = out[4:]
	most := len(content) + len(content)/32 + 256
	switch e.name {
	case "base64":
		most = len(content)*4/3 + 4
	case "bz2": // its tables
		most = len(content) + len(content)/8 + 8<<10
	}
	if len(out) > most {
		t.Errorf("%s: %d bytes encoded to %d", e.name, len(content), len(out))
	}
	back := make([]byte, len(content))
	if n, err := e.decode(back, out); err != nil || n != len(content) ||
		!bytes.Equal(back, content) {
		t.Errorf("%s of %d bytes: %v; decoded %d that are not the content", e.name, len(content),
			err, n)
	}
	if e.oracle != nil {
		if back, err := readOracle(e.oracle, out, len(content)); err != nil ||
			!bytes.Equal(back, content) {
			t.Errorf("%s of %d bytes, by another decoder: %v", e.name, len(content), err)
		}
	}
}

func TestEncode(t *testing.T) {
	contents := [][]byte{nil, {0}, []byte("abc"), bytes.Repeat([]byte("0123456789"), 1000),
		make([]byte, 200000), incompressible(100000)}
	for level := range 10 {
		for _, e := range encodings(level) {
			for _, content := range contents {
				e.check(t, content)
			}
		}
	}
}

// incompressible are n bytes without a pattern.
func incompressible(n int) []byte {
	b, state := make([]byte, n), uint64(1)
	for i := range b {
		state = state*6364136223846793005 + 1442695040888963407
		b[i] = byte(state >> 56)
	}
	return b
}

// FuzzEncode: what is encoded decodes, by other decoders too.
func FuzzEncode(f *testing.F) {
	for i := range 16 {
		f.Add(uint8(i), uint8(i), bytes.Repeat([]byte("01230124"), 20))
	}
	f.Fuzz(func(t *testing.T, which, level uint8, content []byte) {
		all := encodings(int(level % 10))
		all[int(which)%len(all)].check(t, content)
	})
}

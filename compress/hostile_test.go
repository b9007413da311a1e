package compress_test

import (
	"bytes"
	"compress/gzip"
	stdzlib "compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/zarrfs/zarrfs/compress"
)

// bomb is a megabyte of zeros, encoded.
func bomb(t *testing.T, open func(io.Writer) (io.WriteCloser, error)) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := open(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestHostile: objects that decode to, or claim, far more than the limit are refused without memory
// for what they claim.
func TestHostile(t *testing.T) {
	// The header of a .lzma that claims a dictionary of 4 GiB less 1.
	alone := append([]byte{0x5d, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff}, make([]byte, 20)...)
	// An xz block that claims the same.
	xzHeader := []byte{2, 0, 0x21, 1, 40, 0, 0, 0}
	xzHuge := append([]byte("\xfd7zXZ\x00\x00\x00\xff\x12\xd9\x41"),
		binary.LittleEndian.AppendUint32(xzHeader, crc32.ChecksumIEEE(xzHeader))...)
	xzHuge = append(xzHuge, 1, 0, 0, 'x')
	tests := []struct {
		name    string
		decoder compress.Decoder
		src     []byte
		want    error
	}{
		{"gzip bomb", compress.Gzip{}, bomb(t, func(w io.Writer) (io.WriteCloser, error) {
			return gzip.NewWriter(w), nil
		}), compress.ErrTooLarge},
		{"zlib bomb", compress.Zlib{}, bomb(t, func(w io.Writer) (io.WriteCloser, error) {
			return stdzlib.NewWriter(w), nil
		}), compress.ErrTooLarge},
		{"zstd bomb", compress.Zstd{}, bomb(t, func(w io.Writer) (io.WriteCloser, error) {
			return zstd.NewWriter(w)
		}), compress.ErrTooLarge},
		{"zstd claims 1 TiB", compress.Zstd{}, []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0,
			1, 0, 0, 1, 0, 0}, compress.ErrTooLarge},
		{"lz4 claims 4 GiB", compress.LZ4{}, []byte{0xff, 0xff, 0xff, 0xff, 0x10, 'x'},
			compress.ErrTooLarge},
		{"xz bomb", compress.LZMA{}, bomb(t, func(w io.Writer) (io.WriteCloser, error) {
			return xz.NewWriter(w)
		}), compress.ErrTooLarge},
		{"alone claims a dictionary of 4 GiB", compress.LZMA{Format: compress.LZMAAlone}, alone,
			nil},
		{"xz claims a dictionary of 4 GiB", compress.LZMA{}, xzHuge, compress.ErrCorrupt},
	}
	dst := make([]byte, 1000)
	for _, test := range tests {
		test.decoder.Decode(dst, test.src) // fills the pools
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := test.decoder.Decode(dst, test.src)
		runtime.ReadMemStats(&after)
		if test.want != nil && !errors.Is(err, test.want) || err == nil {
			t.Errorf("%s: %v, expected %v", test.name, err, test.want)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
			t.Errorf("%s: allocates %d bytes, expected at most 1 MiB", test.name, grown)
		}
	}
}

// TestZstdFrames: unknown content size, a window far larger than the object, checksums, and several
// frames.
func TestZstdFrames(t *testing.T) {
	data := bytes.Repeat([]byte("frames of zstd "), 20000)
	var b bytes.Buffer
	for range 2 {
		w, err := zstd.NewWriter(&b, zstd.WithWindowSize(zstd.MaxWindowSize),
			zstd.WithEncoderCRC(true))
		if err != nil {
			t.Fatal(err)
		}
		// flushed in between, so that the size is not known when the header is written
		for half := range 2 {
			w.Write(data[half*len(data)/2 : (half+1)*len(data)/2])
			w.Flush()
		}
		w.Close()
	}
	want := append(bytes.Clone(data), data...)
	for _, spare := range []int{0, 200 << 10} {
		dst := make([]byte, len(want), len(want)+spare)
		n, err := compress.Zstd{}.Decode(dst, b.Bytes())
		if err != nil || !bytes.Equal(dst[:n], want) {
			t.Errorf("with %d spare: %d bytes, %v; expected %d", spare, n, err, len(want))
		}
	}
}

// TestUnsupportedObjects: what we know but don't decode says so by name.
func TestUnsupportedObjects(t *testing.T) {
	tests := []struct {
		name    string
		decoder compress.Decoder
		src     []byte
	}{
		{"lzma format", compress.LZMA{Format: 9}, []byte("x")},
		{"raw without filters", compress.LZMA{Format: compress.LZMARaw}, []byte("x")},
		{"raw with x86",
			compress.LZMA{Format: compress.LZMARaw,
				Filters: []compress.LZMAFilter{{ID: 4}, {ID: compress.FilterLZMA2}}}, []byte{0}},
		{"raw with a long delta",
			compress.LZMA{Format: compress.LZMARaw,
				Filters: []compress.LZMAFilter{{ID: 3, Dist: 257}, {ID: compress.FilterLZMA2}}},
			[]byte{0}},
		{"zlib with a dictionary", compress.Zlib{}, []byte{0x78, 0xbb, 0, 0, 0, 0, 3, 0, 0, 0, 0,
			1}},
	}
	for _, test := range tests {
		if _, err := test.decoder.Decode(nil, test.src); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v, expected ErrUnsupported", test.name, err)
		}
	}
}

// TestMachineCodeFilter: an .xz object that liblzma has written behind its filter of x86 code is
// refused by the filter's name. No object is written behind such a filter.
func TestMachineCodeFilter(t *testing.T) {
	src, err := hex.DecodeString("fd377a585a0000016922de360201040021010c00d67c18afe0003f000a5d00" +
		"3d184aac004b6479000000000017b49558000122409bb2e8f19042990d010000000001595a")
	if err != nil {
		t.Fatal(err)
	}
	const want = "filter 0x4, for machine code; expected delta (0x3)"
	_, err = compress.LZMA{Format: compress.LZMAXZ}.Decode(make([]byte, 64), src)
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), want) {
		t.Errorf("decoding: %v, expected %q", err, want)
	}
	for _, format := range []int{compress.LZMARaw, compress.LZMAXZ} {
		chain := compress.LZMA{Format: format, Check: -1,
			Filters: []compress.LZMAFilter{{ID: 4}, {ID: compress.FilterLZMA2}}}
		if _, err := chain.Encode(nil, make([]byte, 64)); !errors.Is(err, errors.ErrUnsupported) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("encoding, format %d: %v, expected %q", format, err, want)
		}
	}
}

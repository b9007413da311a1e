package compress_test

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	stdadler "hash/adler32"
	"io"
	"os"
	"testing"

	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"

	"github.com/zarrfs/zarrfs/compress"
)

// fuzzDecoder feeds a decoder with changed golden objects. It must keep to its destination, fail
// with its documented errors, and decode whatever the oracle decodes, if there is one, to the same
// bytes.
func fuzzDecoder(f *testing.F, codec string, oracle func(io.Reader) (io.Reader, error)) {
	cases, _ := golden(f)
	for _, c := range cases {
		if c.Codec == codec {
			f.Add(uint8(c.Config.Format), uint16(4000), c.Encoded)
		}
	}
	f.Fuzz(func(t *testing.T, format uint8, limit uint16, src []byte) {
		config := goldenConfig{Format: int(format % 4)}
		if config.Format == compress.LZMARaw {
			config.Filters = []goldenFilter{{ID: compress.FilterLZMA2}}
		}
		buffer := make([]byte, int(limit)+32)
		n, err := config.decode(codec, buffer[:limit:limit], src)
		if n > int(limit) || !bytes.Equal(buffer[limit:], make([]byte, 32)) {
			t.Fatalf("%d bytes written, expected at most %d", n, limit)
		}
		if err != nil && !errors.Is(err, compress.ErrCorrupt) &&
			!errors.Is(err, compress.ErrTooLarge) && !errors.Is(err, errors.ErrUnsupported) {
			t.Fatalf("undocumented error: %v", err)
		}
		if oracle == nil || config.Format > compress.LZMAXZ {
			return
		}
		want, wantErr := readOracle(oracle, src, int(limit))
		switch {
		case wantErr != nil: // some are stricter about what follows a stream
		case codec == "lzma" && err != nil: // its oracle takes a stream's header for a stream
		case len(want) > int(limit):
			if err == nil {
				t.Fatalf("decoded %d bytes, expected more than %d", n, limit)
			}
		case err != nil || !bytes.Equal(buffer[:n], want):
			t.Fatalf("%d bytes, %v; expected %d as of another decoder", n, err, len(want))
		}
	})
}

// readOracle decodes up to one byte more than limit.
func readOracle(oracle func(io.Reader) (io.Reader, error), src []byte, limit int) ([]byte, error) {
	r, err := oracle(bytes.NewReader(src))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, int64(limit)+1))
}

func FuzzGzip(f *testing.F) {
	fuzzDecoder(f, "gzip", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) })
}

func FuzzZlib(f *testing.F) {
	fuzzDecoder(f, "zlib", func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) })
}

func FuzzBZ2(f *testing.F) {
	fuzzDecoder(f, "bz2", func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil })
}

func FuzzZstd(f *testing.F) { fuzzDecoder(f, "zstd", nil) }

func FuzzLZ4(f *testing.F) { fuzzDecoder(f, "lz4", nil) }

func FuzzBase64(f *testing.F) { fuzzDecoder(f, "base64", nil) }

func FuzzLZMA(f *testing.F) {
	fuzzDecoder(f, "lzma", func(r io.Reader) (io.Reader, error) {
		return xz.ReaderConfig{DictCap: 1 << 16}.NewReader(r)
	})
}

func FuzzCRC32(f *testing.F) { fuzzDecoder(f, "crc32", nil) }

func FuzzCRC32C(f *testing.F) { fuzzDecoder(f, "crc32c", nil) }

func FuzzAdler32(f *testing.F) { fuzzDecoder(f, "adler32", nil) }

func FuzzFletcher32(f *testing.F) { fuzzDecoder(f, "fletcher32", nil) }

func FuzzJenkinsLookup3(f *testing.F) { fuzzDecoder(f, "jenkins_lookup3", nil) }

// TestEveryCodecIsFuzzed holds that each codec of which there are golden objects has a target.
func TestEveryCodecIsFuzzed(t *testing.T) {
	source, err := os.ReadFile("fuzz_test.go")
	if err != nil {
		t.Fatal(err)
	}
	cases, _ := golden(t)
	for _, c := range cases {
		if !bytes.Contains(source, fmt.Appendf(nil, "fuzzDecoder(f, %q", c.Codec)) {
			t.Errorf("no fuzz target decodes %q", c.Codec)
		}
	}
}

// FuzzAdler32Sum compares the vectorised sum with the standard library's.
func FuzzAdler32Sum(f *testing.F) {
	f.Add([]byte(nil), uint16(1))
	f.Add([]byte("0123456789abcdef0123456789abcdef0"), uint16(1))
	f.Add(bytes.Repeat([]byte{255}, 5000), uint16(300))
	f.Fuzz(func(t *testing.T, b []byte, times uint16) {
		b = bytes.Repeat(b, min(int(times), 1<<17/(len(b)+1)+1))
		stored := stdadler.Checksum(b)
		src := append([]byte{byte(stored), byte(stored >> 8), byte(stored >> 16),
			byte(stored >> 24)}, b...)
		if _, err := (compress.Adler32{}).Strip(src); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzLZMAAlone compares with another decoder what both decode.
func FuzzLZMAAlone(f *testing.F) {
	cases, _ := golden(f)
	for _, c := range cases {
		if c.Config.Format == compress.LZMAAlone {
			f.Add(c.Encoded)
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		dst := make([]byte, 5000)
		n, err := compress.LZMA{Format: compress.LZMAAlone}.Decode(dst, src)
		if len(src) < 13 || src[4] != 0 || src[3] > 3 { // its dictionary would be large
			return
		}
		want, wantErr := readOracle(func(r io.Reader) (io.Reader, error) {
			return lzma.NewReader(r)
		}, src, len(dst))
		if wantErr == nil && err == nil && !bytes.Equal(dst[:n], want) {
			t.Fatalf("%d bytes, expected %d as of another decoder", n, len(want))
		}
	})
}

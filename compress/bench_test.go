package compress_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/dsnet/compress/bzip2"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/zarrfs/zarrfs/compress"
)

// BenchmarkDecode decodes a chunk of 1 MiB of noisy uint16 with each decoder, with spare capacity.
func BenchmarkDecode(b *testing.B) {
	data := make([]byte, 1<<20)
	state := uint32(1)
	for i := 0; i < len(data); i += 2 {
		state = state*1664525 + 1013904223
		v := 4480 + i/2%1024/8 + int(state>>27)
		data[i], data[i+1] = byte(v), byte(v>>8)
	}
	codecs := []struct {
		name    string
		decoder compress.Decoder
		open    func(io.Writer) (io.WriteCloser, error)
	}{
		{"gzip", compress.Gzip{}, func(w io.Writer) (io.WriteCloser, error) {
			return gzip.NewWriter(w), nil
		}},
		{"zlib", compress.Zlib{}, func(w io.Writer) (io.WriteCloser, error) {
			return zlib.NewWriter(w), nil
		}},
		{"zstd", compress.Zstd{}, func(w io.Writer) (io.WriteCloser, error) {
			return zstd.NewWriter(w)
		}},
		{"bz2", compress.BZ2{}, func(w io.Writer) (io.WriteCloser, error) {
			return bzip2.NewWriter(w, nil)
		}},
		{"xz", compress.LZMA{}, func(w io.Writer) (io.WriteCloser, error) {
			return xz.NewWriter(w)
		}},
	}
	for _, c := range codecs {
		b.Run(c.name, func(b *testing.B) {
			var encoded bytes.Buffer
			w, err := c.open(&encoded)
			if err != nil {
				b.Fatal(err)
			}
			w.Write(data)
			w.Close()
			dst := make([]byte, len(data), len(data)+256<<10)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if n, err := c.decoder.Decode(dst, encoded.Bytes()); err != nil || n != len(data) {
					b.Fatal(n, err)
				}
			}
		})
	}
}

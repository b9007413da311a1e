package inflate_test

import (
	"bytes"
	"compress/flate"
	"io"
	"testing"

	kflate "github.com/klauspost/compress/flate"

	"github.com/zarrfs/zarrfs/compress/inflate"
)

// benchInputs are streams of level 6: an image chunk of 1024 x 1024 uint16, a small chunk, and one
// that is nearly constant.
func benchInputs(b *testing.B, run func(b *testing.B, src []byte, size int)) {
	steps := make([]byte, 1<<20)
	for i := range steps {
		steps[i] = byte(i >> 14)
	}
	inputs := []struct {
		name string
		data []byte
	}{{"field2M", field(1 << 20)}, {"field16K", field(8 << 10)}, {"text", samples()["text"]},
		{"steps", steps}}
	for _, in := range inputs {
		src := deflate(b, in.data, 6)
		b.Run(in.name, func(b *testing.B) {
			b.SetBytes(int64(len(in.data)))
			b.ReportAllocs()
			run(b, src, len(in.data))
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	benchInputs(b, func(b *testing.B, src []byte, size int) {
		dst := make([]byte, size)
		for b.Loop() {
			if n, _, err := inflate.Decode(dst, src); err != nil || n != size {
				b.Fatal(n, err)
			}
		}
	})
}

func BenchmarkStdlib(b *testing.B) {
	benchInputs(b, func(b *testing.B, src []byte, size int) {
		benchReader(b, flate.NewReader(nil), src, size)
	})
}

func BenchmarkKlauspost(b *testing.B) {
	benchInputs(b, func(b *testing.B, src []byte, size int) {
		benchReader(b, kflate.NewReader(nil), src, size)
	})
}

func benchReader(b *testing.B, r io.Reader, src []byte, size int) {
	dst := make([]byte, size)
	for b.Loop() {
		if err := r.(flate.Resetter).Reset(bytes.NewReader(src), nil); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(r, dst); err != nil {
			b.Fatal(err)
		}
	}
}

package zstd

import (
	"testing"

	"github.com/klauspost/compress/zstd"
)

// BenchmarkDecode decodes kinds of data beside klauspost's decoder. Only ratios mean something:
// samples are small and the machine is shared.
func BenchmarkDecode(b *testing.B) {
	oracle, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		b.Fatal(err)
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		b.Fatal(err)
	}
	all := samples()
	for _, name := range []string{"zeros", "walk", "small", "text", "period 2", "period 13"} {
		src := encoder.EncodeAll(all[name], nil)
		dst := make([]byte, len(all[name]), len(all[name])+maxBlock)
		b.Run(name+"/own", func(b *testing.B) {
			b.SetBytes(int64(len(dst)))
			for b.Loop() {
				if _, err := Decode(dst, src); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/klauspost", func(b *testing.B) {
			b.SetBytes(int64(len(dst)))
			for b.Loop() {
				if _, err := oracle.DecodeAll(src, dst[:0]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package compress

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/pierrec/lz4/v4"
)

// TestLZ4IsC compares blocks with those of another program that writes what LZ4_compress_fast does, over contents of all kinds and
// sizes, also where they do not fit.
func TestLZ4IsC(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var other lz4.CompressorCCompat
	for i := range 3000 {
		src := make([]byte, r.IntN(1<<r.IntN(18)))
		alphabet := 1 + r.IntN(1<<r.IntN(9))
		for i := range src {
			src[i] = byte(r.IntN(alphabet))
			if i > 100 && r.IntN(20) == 0 {
				copy(src[i:], src[i-r.IntN(100):i])
			}
		}
		other.Acceleration = 1 + r.IntN(10)
		want := make([]byte, lz4.CompressBlockBound(len(src)))
		n, err := other.CompressBlock(src, want)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(want))
		m := EncodeLZ4Block(got, src, other.Acceleration)
		if !bytes.Equal(got[:m], want[:n]) {
			t.Fatalf("content %d of %d bytes: %d encoded bytes, expected the same %d", i, len(src), m, n)
		}
		for name, encode := range map[string]func(dst, src []byte, acceleration int) int{"block": EncodeLZ4Block, "stream": EncodeLZ4Stream} {
			n := encode(got, src, other.Acceleration)
			want, back := bytes.Clone(got[:n]), make([]byte, len(src))
			if k, err := lz4.UncompressBlock(want, back); err != nil || !bytes.Equal(back[:k], src) {
				t.Fatalf("content %d of %d bytes does not come back from the %s: %v", i, len(src), name, err)
			}
			tight := got[:r.IntN(len(got)+1):len(got)]
			if k := encode(tight, src, other.Acceleration); k > len(tight) || k > 0 && !bytes.Equal(tight[:k], want) {
				t.Fatalf("content %d, %s: %d bytes in a buffer of %d", i, name, k, len(tight))
			}
		}
	}
}

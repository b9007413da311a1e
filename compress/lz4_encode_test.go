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
		back := make([]byte, len(src))
		if k, err := lz4.UncompressBlock(got[:m], back); err != nil || !bytes.Equal(back[:k], src) {
			t.Fatalf("content %d of %d bytes does not come back: %v", i, len(src), err)
		}
		tight := got[:r.IntN(len(got)+1):len(got)]
		if k := EncodeLZ4Block(tight, src, other.Acceleration); k > len(tight) || k > 0 && !bytes.Equal(tight[:k], want[:n]) {
			t.Fatalf("content %d: %d bytes in a buffer of %d", i, k, len(tight))
		}
	}
}

package compress

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/pierrec/lz4/v4"
)

// TestLZ4IsC compares blocks with those of another program that writes what LZ4_compress_fast does.
// Contents are of all kinds and sizes, also such that do not fit.
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
			t.Fatalf("content %d of %d bytes: %d encoded bytes, expected the same %d", i, len(src),
				m, n)
		}
		for name, encode := range map[string]func(dst, src []byte, acceleration int) int{
			"block":  EncodeLZ4Block,
			"stream": EncodeLZ4Stream,
		} {
			n := encode(got, src, other.Acceleration)
			want, back := bytes.Clone(got[:n]), make([]byte, len(src))
			if k, err := lz4.UncompressBlock(want, back); err != nil ||
				!bytes.Equal(back[:k], src) {
				t.Fatalf("content %d of %d bytes does not come back from the %s: %v", i, len(src),
					name, err)
			}
			tight := got[:r.IntN(len(got)+1):len(got)]
			if k := encode(tight, src, other.Acceleration); k > len(tight) || k > 0 &&
				!bytes.Equal(tight[:k], want) {
				t.Fatalf("content %d, %s: %d bytes in a buffer of %d", i, name, k, len(tight))
			}
		}
	}
}

// TestLZ4Stream encodes streams whose sections are noise, repetitions, zeros and random bytes, in
// any order, at each acceleration. Noise becomes about as short as in C, and the bytes do not
// depend on what was encoded before.
func TestLZ4Stream(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	kinds := []func(src []byte){
		func(src []byte) {
			for i := range src {
				src[i] = byte(100 + 0.9*r.NormFloat64())
			}
		},
		func(src []byte) {
			period := 1 + r.IntN(1000)
			for i := range src {
				src[i] = byte(i % period * 31)
			}
		},
		func(src []byte) { clear(src) },
		func(src []byte) {
			for i := range src {
				src[i] = byte(r.IntN(256))
			}
		},
	}
	got, again, back := make([]byte, lz4Small), make([]byte, lz4Small), make([]byte, lz4Small)
	for i := range 500 {
		src, acceleration := make([]byte, 1+r.IntN(lz4Small-1)), 1+i%12
		noise := r.IntN(2) == 0
		for at := 0; at < len(src); {
			kind, size := 0, len(src)
			if !noise {
				kind, size = r.IntN(len(kinds)), min(1+r.IntN(10000), len(src)-at)
			}
			kinds[kind](src[at:][:size])
			at += size
		}
		n := EncodeLZ4Stream(got, src, acceleration)
		if k, err := lz4.UncompressBlock(got[:n], back); n > 0 &&
			(err != nil || !bytes.Equal(back[:k], src)) {
			t.Fatalf("content %d of %d bytes does not come back: %v", i, len(src), err)
		}
		if noise && acceleration <= 6 && len(src) > 2000 {
			if c := EncodeLZ4Block(again, src, acceleration); n == 0 || n > c+c/8 {
				t.Errorf("%d bytes of noise become %d at acceleration %d, expected at most "+
					"9/8 of %d", len(src), n, acceleration, c)
			}
		}
		EncodeLZ4Stream(again, again[:r.IntN(len(again))], acceleration)
		if k := EncodeLZ4Stream(again, src, acceleration); k != n ||
			!bytes.Equal(again[:k], got[:n]) {
			t.Errorf("content %d becomes %d bytes, and %d later", i, n, k)
		}
		tight := again[:r.IntN(len(src)+1)]
		if k := EncodeLZ4Stream(tight, src, acceleration); k > len(tight) || k > 0 &&
			!bytes.Equal(tight[:k], got[:n]) {
			t.Errorf("content %d: %d bytes in a buffer of %d", i, k, len(tight))
		}
	}
}

// FuzzLZ4Stream: what is encoded, into whatever room, decodes.
func FuzzLZ4Stream(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 6))
	noise := make([]byte, 9000)
	for i := range noise {
		noise[i] = byte(100 + 0.9*r.NormFloat64())
	}
	f.Add(uint8(5), uint16(9000), noise)
	f.Add(uint8(4), uint16(8000), append(bytes.Repeat(noise[:5000], 2), make([]byte, 300)...))
	f.Fuzz(func(t *testing.T, acceleration uint8, room uint16, content []byte) {
		dst, back := make([]byte, room), make([]byte, len(content))
		n := EncodeLZ4Stream(dst, content, int(acceleration%20))
		if k, err := lz4.UncompressBlock(dst[:n], back); n > 0 &&
			(err != nil || !bytes.Equal(back[:k], content)) {
			t.Errorf("%d bytes at acceleration %d do not come back: %v", len(content),
				acceleration%20, err)
		}
	})
}

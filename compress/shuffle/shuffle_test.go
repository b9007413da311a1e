package shuffle

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// The models below are the definitions, written down one byte or bit at a time.

func modelShuffle(dst, src []byte, typeSize int) {
	n := len(src) / typeSize
	copy(dst, src)
	for i := range n {
		for j := range typeSize {
			dst[j*n+i] = src[i*typeSize+j]
		}
	}
}

func modelBitShuffle(dst, src []byte, typeSize int) {
	copy(dst, src)
	n := len(src) / typeSize
	if n%8 != 0 {
		return
	}
	clear(dst[:n*typeSize])
	for k := range n {
		for bit := range 8 * typeSize {
			b := src[k*typeSize+bit/8] >> (bit % 8) & 1
			dst[bit*(n/8)+k/8] |= b << (k % 8)
		}
	}
}

func random(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// sizes to test: all small ones, a sample of the others.
func sizes(limit int) []int {
	var s []int
	step := 1
	if testing.Short() {
		step = 7
	}
	for n := 0; n <= limit; n += step {
		s = append(s, n)
		if n > 600 && n%64 > 1 {
			n += 16
		}
	}
	return s
}

const guard = 0xA5

// call runs f on slices at the given misalignment and checks the bytes around
// dst.
func call(
	t *testing.T, f func(dst, src []byte, typeSize int), dst, src []byte, typeSize, shift int,
) []byte {
	t.Helper()
	n := len(src)
	for i := range dst {
		dst[i] = guard
	}
	out := dst[32+shift:][:n]
	f(out, src, typeSize)
	for i, b := range dst {
		if b != guard && (i < 32+shift || i >= 32+shift+n) {
			t.Fatalf("type size %d, %d bytes: byte %d outside dst written", typeSize, n, i-32-shift)
		}
	}
	return out
}

func TestAgainstModel(t *testing.T) {
	for _, name := range variants(t) {
		t.Run(name, func(t *testing.T) {
			useVariant(t, name)
			for typeSize := 1; typeSize <= 18; typeSize++ {
				testTypeSize(t, typeSize, 5000)
			}
			for _, typeSize := range []int{24, 31, 32, 33, 64, 100, 255} {
				testTypeSize(t, typeSize, 1000)
			}
		})
	}
}

func testTypeSize(t *testing.T, typeSize, limit int) {
	data := random(limit + 64)
	want, mid, back := make([]byte, limit+64), make([]byte, limit+128), make([]byte, limit+128)
	for _, n := range sizes(limit) {
		shift := n % 5
		src := data[shift:][:n]

		modelShuffle(want[:n], src, typeSize)
		got := call(t, Shuffle, mid, src, typeSize, shift)
		if !bytes.Equal(got, want[:n]) {
			t.Fatalf("Shuffle, type size %d, %d bytes: differs from the model", typeSize, n)
		}
		if !bytes.Equal(call(t, Unshuffle, back, got, typeSize, (shift+1)%3), src) {
			t.Fatalf("Unshuffle, type size %d, %d bytes: does not undo Shuffle", typeSize, n)
		}

		modelBitShuffle(want[:n], src, typeSize)
		got = call(t, BitShuffle, mid, src, typeSize, shift)
		if !bytes.Equal(got, want[:n]) {
			t.Fatalf("BitShuffle, type size %d, %d bytes: differs from the model", typeSize, n)
		}
		if !bytes.Equal(call(t, BitUnshuffle, back, got, typeSize, (shift+1)%3), src) {
			t.Fatalf("BitUnshuffle, type size %d, %d bytes: does not undo BitShuffle", typeSize, n)
		}
	}
}

// TestLarge crosses many tiles.
func TestLarge(t *testing.T) {
	for _, name := range variants(t) {
		t.Run(name, func(t *testing.T) {
			useVariant(t, name)
			for _, typeSize := range []int{1, 2, 3, 4, 8, 12, 16, 17, 40} {
				for _, elements := range []int{1024, 4096 + 8, 16384 - 8, 10000} {
					src := random(elements*typeSize + 1)
					mid, back := make([]byte, len(src)), make([]byte, len(src))
					BitShuffle(mid, src, typeSize)
					BitUnshuffle(back, mid, typeSize)
					if !bytes.Equal(back, src) {
						t.Fatalf("type size %d, %d elements: bits not restored", typeSize, elements)
					}
					Shuffle(mid, src, typeSize)
					Unshuffle(back, mid, typeSize)
					if !bytes.Equal(back, src) {
						t.Fatalf("type size %d, %d elements: bytes not restored", typeSize,
							elements)
					}
				}
			}
		})
	}
}

// TestMisuse: slices of different lengths and impossible type sizes cause no panic, and nothing
// outside dst is written.
func TestMisuse(t *testing.T) {
	const guard = 64 // bytes on both sides of dst, more than one vector store writes
	for name, f := range map[string]func(dst, src []byte, typeSize int){
		"Shuffle": Shuffle, "Unshuffle": Unshuffle, "BitShuffle": BitShuffle,
		"BitUnshuffle": BitUnshuffle,
	} {
		for _, typeSize := range []int{-1, 0, 1, 2, 3, 4, 8, 12, 16, 17, 1 << 40} {
			for _, n := range [][2]int{{0, 0}, {100, 300}, {300, 100}, {257, 256}, {255, 300},
				{4099, 5000}, {5000, 4099}} {
				mem := bytes.Repeat([]byte{0xa5}, guard+n[0]+guard)
				f(mem[guard:guard+n[0]], random(n[1]), typeSize)
				for i, b := range mem {
					if outside := i < guard || i >= guard+n[0]; outside && b != 0xa5 {
						t.Fatalf("%s of %d bytes into %d, type size %d: byte %d beside dst was "+
							"written", name, n[1], n[0], typeSize, i-guard)
					}
				}
			}
		}
	}
}

func TestUnshuffleAllocatesNothing(t *testing.T) {
	src, dst := random(1<<16), make([]byte, 1<<16)
	allocs := testing.AllocsPerRun(10, func() {
		for _, typeSize := range []int{1, 2, 4, 8, 12, 16} {
			Unshuffle(dst, src, typeSize)
			BitUnshuffle(dst, src, typeSize)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations per run, expected none", allocs)
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef"), 2)
	f.Add(random(1000), 4)
	f.Add(random(300), 17)
	f.Fuzz(func(t *testing.T, src []byte, typeSize int) {
		mid, back := make([]byte, len(src)), make([]byte, len(src))
		Shuffle(mid, src, typeSize)
		if Unshuffle(back, mid, typeSize); !bytes.Equal(back, src) {
			t.Error("bytes not restored")
		}
		BitShuffle(mid, src, typeSize)
		if BitUnshuffle(back, mid, typeSize); !bytes.Equal(back, src) {
			t.Error("bits not restored")
		}
	})
}

func benchmark(b *testing.B, f func(dst, src []byte, typeSize int)) {
	// a block of blosc at a time, all within the second-level cache
	const size, block = 3 << 16, 3 << 13
	src, dst := random(size), make([]byte, size)
	for _, name := range variants(b) {
		for _, typeSize := range []int{1, 2, 4, 8, 12, 16} {
			b.Run(fmt.Sprintf("%s/%d", name, typeSize), func(b *testing.B) {
				useVariant(b, name)
				b.SetBytes(size)
				for b.Loop() {
					for i := 0; i < size; i += block {
						f(dst[i:i+block], src[i:i+block], typeSize)
					}
				}
			})
		}
	}
}

func BenchmarkUnshuffle(b *testing.B)    { benchmark(b, Unshuffle) }
func BenchmarkBitUnshuffle(b *testing.B) { benchmark(b, BitUnshuffle) }
func BenchmarkShuffle(b *testing.B)      { benchmark(b, Shuffle) }
func BenchmarkBitShuffle(b *testing.B)   { benchmark(b, BitShuffle) }

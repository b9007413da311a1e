package blosc

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/compress"
)

var inners = map[string]Inner{"blosclz": BloscLZ, "lz4": LZ4, "lz4hc": LZ4HC, "snappy": Snappy,
	"zlib": Zlib, "zstd": Zstd}

// TestLayout holds that buffers are laid out as c-blosc lays them out (testdata/headers.py), with
// the shorter blocks of LZ4.
func TestLayout(t *testing.T) {
	table, err := os.ReadFile("testdata/headers.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		var name string
		var e Encoder
		var size, flags, blockSize int
		if _, err := fmt.Sscan(line, &name, &e.Level, &e.Shuffle, &e.TypeSize, &size, &e.BlockSize,
			&flags, &blockSize); err != nil {
			t.Fatal(err)
		}
		e.Inner = inners[name]
		if e.Inner == LZ4 && e.BlockSize == 0 && flags&flagNoSplit == 0 {
			blockSize = min(blockSize, 64<<10*e.TypeSize)
		}
		out, err := e.Encode(nil, make([]byte, size))
		if err != nil {
			t.Fatal(err)
		}
		h, err := ParseHeader(out, int64(len(out)))
		if err != nil {
			t.Fatal(err)
		}
		if int(h.flags) != flags || !h.isStored() && int(h.BlockSize) != blockSize {
			t.Errorf("%s: flags %#x, blocks of %d", strings.TrimSpace(line), h.flags, h.BlockSize)
		}
	}
}

// TestEncode decodes what was encoded, behind other bytes, over all settings and awkward sizes.
func TestEncode(t *testing.T) {
	contents := [][]byte{nil, {1}, noise(127), noise(128), noise(5000),
		bytes.Repeat([]byte("0123456789abcdef"), 5000),
		append(noise(70000), make([]byte, 70001)...)}
	for name, inner := range inners {
		for level := 0; level <= 9; level += 3 {
			for shuffled := AutoShuffle; shuffled <= BitShuffle; shuffled++ {
				for _, typeSize := range []int{0, 1, 3, 4, 16, 17, 300} {
					e := Encoder{Inner: inner, Level: level, Shuffle: shuffled, TypeSize: typeSize}
					for _, content := range contents {
						checkEncode(t, fmt.Sprintf("%s %+v, %d bytes", name, e, len(content)), e,
							content)
					}
				}
			}
		}
	}
}

func checkEncode(t *testing.T, name string, e compress.Encoder, content []byte) {
	t.Helper()
	before := bytes.Clone(content)
	out, err := e.Encode([]byte("head"), content)
	if err != nil || !bytes.HasPrefix(out, []byte("head")) || !bytes.Equal(before, content) {
		t.Fatalf("%s: %v", name, err)
	}
	if most := HeaderLen + len(content); len(out)-4 > most {
		t.Errorf("%s: encoded to %d bytes, expected at most %d", name, len(out)-4, most)
	}
	back := make([]byte, len(content))
	if n, err := Decode(back, out[4:]); err != nil || n != len(content) ||
		!bytes.Equal(back, content) {
		t.Errorf("%s: %v; decoded %d bytes that are not the content", name, err, n)
	}
}

// TestEncodeAllocatesNothing takes the best of some runs, as TestDecodeAllocatesNothing does.
func TestEncodeAllocatesNothing(t *testing.T) {
	content := bytes.Repeat(noise(100), 1000)
	for _, e := range []Encoder{{BloscLZ, 5, ByteShuffle, 4, 0}, {LZ4, 5, ByteShuffle, 4, 0},
		{Zstd, 3, BitShuffle, 2, 0}, {Zlib, 6, NoShuffle, 1, 0}} {
		dst, least := make([]byte, 0, 2*len(content)), 1e9
		for range 30 {
			least = min(least, testing.AllocsPerRun(1, func() {
				if _, err := e.Encode(dst, content); err != nil {
					t.Fatal(err)
				}
			}))
		}
		if least > 0 {
			t.Errorf("%+v: always allocates, expected only the first time", e)
		}
	}
}

// FuzzEncode: what is encoded decodes.
func FuzzEncode(f *testing.F) {
	f.Add(uint8(1), uint8(5), uint8(2), uint8(4), uint16(0), bytes.Repeat([]byte("01230124"), 100))
	f.Add(uint8(0), uint8(9), uint8(0), uint8(1), uint16(200), noise(1000))
	f.Fuzz(func(t *testing.T, inner, level, shuffled, typeSize uint8, blockSize uint16,
		content []byte) {
		e := Encoder{Inner(inner % 6), int(level % 10), Shuffle(shuffled%4) - 1, int(typeSize),
			int(blockSize)}
		checkEncode(t, fmt.Sprintf("%+v", e), e, content)
	})
}

package inflate_test

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/zarrfs/zarrfs/compress/inflate"
)

// samples are inputs of different kinds: empty, tiny, constant, periodic, text-like, noisy, random.
func samples() map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	random := make([]byte, 70000)
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	skewed := make([]byte, 300000)
	for i := range skewed {
		skewed[i] = byte(r.ExpFloat64() * 9)
	}
	m := map[string][]byte{
		"empty":    nil,
		"one":      {42},
		"constant": make([]byte, 100000),
		"text":     bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog. "), 3000),
		"random":   random,
		"skewed":   skewed,
		"field":    field(100000),
	}
	for period := 2; period <= 40; period++ {
		m[fmt.Sprintf("period%d", period)] = bytes.Repeat(random[:period], 2000/period+2)
	}
	return m
}

// field is a smooth uint16 field with noise, as instruments record them, as 2n bytes.
func field(n int) []byte {
	r := rand.New(rand.NewPCG(3, 4))
	b := make([]byte, 0, 2*n)
	for i := range n {
		x := float64(i%1024) / 1024
		v := uint16(16 * (280 + 19*(x*x-x*0.7) + 0.6*r.NormFloat64()))
		b = append(b, byte(v), byte(v>>8))
	}
	return b
}

func deflate(t testing.TB, data []byte, level int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	for name, data := range samples() {
		for level := flate.HuffmanOnly; level <= 9; level++ {
			src := deflate(t, data, level)
			garbage := append(bytes.Clone(src), "behind the stream"...)
			dst := make([]byte, len(data))
			n, used, err := inflate.Decode(dst, garbage)
			if err != nil || n != len(data) || used != len(src) || !bytes.Equal(dst, data) {
				t.Errorf("%s at level %d: Decode = %d, %d, %v; expected %d, %d, nil and the "+
					"same bytes", name, level, n, used, err, len(data), len(src))
			}
		}
	}
}

// TestLimit: a destination one byte too small is ErrTooLarge and nothing behind it is touched.
func TestLimit(t *testing.T) {
	for name, data := range samples() {
		for level := flate.HuffmanOnly; level <= 9; level++ {
			if len(data) == 0 {
				continue
			}
			dst := make([]byte, len(data)+64)
			_, _, err := inflate.Decode(dst[:len(data)-1], deflate(t, data, level))
			if !errors.Is(err, inflate.ErrTooLarge) {
				t.Errorf("%s at level %d, one byte short: %v, expected ErrTooLarge", name, level,
					err)
			}
			if !bytes.Equal(dst[len(data)-1:], make([]byte, 65)) {
				t.Errorf("%s at level %d: bytes behind the destination were written", name, level)
			}
		}
	}
}

// TestTruncatedStreams: every shorter input is ErrCorrupt.
func TestTruncatedStreams(t *testing.T) {
	data := field(3000)
	for _, level := range []int{flate.HuffmanOnly, 0, 1, 6} {
		src := deflate(t, data, level)
		dst := make([]byte, len(data))
		for n := range src {
			if _, _, err := inflate.Decode(dst, src[:n:n]); !errors.Is(err, inflate.ErrCorrupt) {
				t.Fatalf("level %d, %d of %d bytes: %v, expected ErrCorrupt", level, n, len(src),
					err)
			}
		}
	}
}

// bitWriter writes DEFLATE's bit order, for streams that no encoder makes.
type bitWriter struct {
	b []byte
	n uint
}

// bits writes the low n bits of v, lowest first, as headers and extra bits are written.
func (w *bitWriter) bits(v, n uint) *bitWriter {
	for i := range n {
		if w.n%8 == 0 {
			w.b = append(w.b, 0)
		}
		w.b[len(w.b)-1] |= byte(v>>i&1) << (w.n % 8)
		w.n++
	}
	return w
}

// code writes a Huffman code of n bits, highest first.
func (w *bitWriter) code(v, n uint) *bitWriter {
	for i := n; i > 0; i-- {
		w.bits(v>>(i-1), 1)
	}
	return w
}

// dynamic starts a final dynamic block whose 257+nlit and 1+ndist code lengths are those given.
// Lengths are written with a complete code of 16 symbols of 4 bits each: the lengths themselves.
func dynamic(lits, dists []uint) *bitWriter {
	w := new(bitWriter).bits(1, 1).bits(2, 2).bits(uint(len(lits)-257), 5).bits(uint(len(dists)-1),
		5).bits(15, 4)
	for range 3 {
		w.bits(0, 3) // symbols 16 to 18
	}
	for range 16 {
		w.bits(4, 3)
	}
	for _, n := range append(append([]uint(nil), lits...), dists...) {
		w.code(n, 4)
	}
	return w
}

// lengths returns 257+more literal/length code lengths, all zero but those given.
func lengths(more int, given map[int]uint) []uint {
	l := make([]uint, 257+more)
	for symbol, n := range given {
		l[symbol] = n
	}
	return l
}

// TestCodes holds the sets of codes that zlib takes and refuses.
func TestCodes(t *testing.T) {
	ab := map[int]uint{'a': 1, 256: 2, 257: 2} // a=0, end=10, length 3=11
	deep := map[int]uint{256: 15, 'z': 15}     // 1 to 14 bits for a to n, 15 bits for z and the end
	for i := range 14 {
		deep['a'+i] = uint(i + 1)
	}
	tests := []struct {
		name string
		w    *bitWriter
		want string // "" for ErrCorrupt
	}{
		{"complete codes", dynamic(lengths(1, ab), []uint{1, 1}).code(0, 1).code(3, 2).code(0,
			1).code(2, 2), "aaaa"},
		{"one distance code of one bit", dynamic(lengths(1, ab), []uint{1}).code(0, 1).code(3,
			2).code(0, 1).code(2, 2), "aaaa"},
		{"one distance code, its other bit used",
			dynamic(lengths(1, ab), []uint{1}).code(0, 1).code(3, 2).code(1, 1).code(2, 2), ""},
		{"one distance code of two bits", dynamic(lengths(1, ab), []uint{2}).code(0, 1).code(2, 2),
			""},
		{"no distance code, none used", dynamic(lengths(1, ab), []uint{0}).code(0, 1).code(2, 2),
			"a"},
		{"no distance code, one used", dynamic(lengths(1, ab), []uint{0}).code(0, 1).code(3,
			2).code(0, 1).code(2, 2), ""},
		{"over-subscribed distances", dynamic(lengths(1, ab), []uint{1, 1, 1}).code(0, 1).code(2,
			2), ""},
		{"incomplete distances", dynamic(lengths(1, ab), []uint{1, 2}).code(0, 1).code(2, 2), ""},
		{"incomplete literals", dynamic(lengths(0, map[int]uint{'a': 2, 256: 2}), []uint{0}).code(0,
			2).code(1, 2), ""},
		{"over-subscribed literals", dynamic(lengths(0, map[int]uint{'a': 1, 'b': 1, 256: 1}),
			[]uint{0}).code(0, 1), ""},
		{"only an end of block", dynamic(lengths(0, map[int]uint{256: 1}), []uint{0}).code(0, 1),
			"<empty>"},
		{"only an end of block, its other bit used",
			dynamic(lengths(0, map[int]uint{256: 1}), []uint{0}).code(1, 1), ""},
		{"no end of block", dynamic(lengths(0, map[int]uint{'a': 1, 'b': 1}), []uint{0}).code(0, 1),
			""},
		{"codes of all lengths", dynamic(lengths(0, deep), []uint{0}).code(0, 1).code(2,
			2).code(1<<14-2, 14).code(1<<15-2, 15).code(1<<15-1, 15), "abnz"},
		{"287 literal/length codes", dynamic(make([]uint, 287), []uint{0}), ""},
		{"31 distance codes", dynamic(lengths(1, ab), make([]uint, 31)).code(2, 2), ""},
		{"reserved block type", new(bitWriter).bits(1, 1).bits(3, 2), ""},
		{"fixed block", new(bitWriter).bits(1, 1).bits(1, 2).code(0x30+'a', 8).code(1, 7).code(0,
			5).code(0, 7), "aaaa"},
		{"fixed block, match before the start", new(bitWriter).bits(1, 1).bits(1, 2).code(0x30+'a',
			8).code(1, 7).code(1, 5).code(0, 7), ""},
		{"fixed block, distance code 30", new(bitWriter).bits(1, 1).bits(1, 2).code(0x30+'a',
			8).code(1, 7).code(30, 5).code(0, 7), ""},
		{"fixed block, length code 286", new(bitWriter).bits(1, 1).bits(1, 2).code(0x30+'a',
			8).code(0xc6, 8).code(0, 5).code(0, 7), ""},
		{"stored block", &bitWriter{b: []byte{1, 2, 0, 0xfd, 0xff, 'h', 'i'}}, "hi"},
		{"stored block, wrong complement", &bitWriter{b: []byte{1, 2, 0, 0xfd, 0xfe, 'h', 'i'}},
			""},
		{"stored block, then a fixed one",
			&bitWriter{b: []byte{0, 2, 0, 0xfd, 0xff, 'h', 'i', 3, 0}}, "hi"},
	}
	for _, test := range tests {
		for _, tail := range []int{0, 600} { // without and with room for the fast loop
			src := append(bytes.Clone(test.w.b), make([]byte, tail)...)
			dst := make([]byte, 8+tail)
			n, used, err := inflate.Decode(dst, src)
			switch {
			case test.want == "" && !errors.Is(err, inflate.ErrCorrupt):
				t.Errorf("%s: %v, expected ErrCorrupt", test.name, err)
			case test.want == "<empty>" && (err != nil || n != 0):
				t.Errorf("%s: %q, %v, expected nothing", test.name, dst[:n], err)
			case test.want != "" && test.want != "<empty>" &&
				(err != nil || string(dst[:n]) != test.want || used != len(test.w.b)):
				t.Errorf("%s: %q after %d of %d bytes, %v, expected %q", test.name, dst[:n], used,
					len(test.w.b), err, test.want)
			}
		}
	}
}

// FuzzDecode compares with the standard library: the same output, or both fail.
func FuzzDecode(f *testing.F) {
	for _, data := range samples() {
		for _, level := range []int{flate.HuffmanOnly, 0, 1, 9} {
			f.Add(deflate(f, data[:min(len(data), 2000)], level), uint16(4000))
		}
	}
	f.Add(dynamic(lengths(1, map[int]uint{'a': 1, 256: 2, 257: 2}), []uint{1}).code(0, 1).code(3,
		2).code(0, 1).code(2, 2).b, uint16(4))
	f.Fuzz(func(t *testing.T, src []byte, limit uint16) {
		in := bytes.NewReader(src)
		want, wantErr := io.ReadAll(io.LimitReader(flate.NewReader(in), int64(limit)+1))
		buffer := make([]byte, int(limit)+32)
		dst := buffer[:limit]
		n, used, err := inflate.Decode(dst, src)
		if !bytes.Equal(buffer[limit:], make([]byte, 32)) {
			t.Fatal("bytes behind the destination were written")
		}
		switch {
		case len(want) > int(limit):
			if err == nil {
				t.Fatalf("decoded %d bytes, expected an error: the output has more than %d", n,
					limit)
			}
		case wantErr != nil:
			if err == nil {
				t.Fatalf("decoded %d bytes, expected an error as %v", n, wantErr)
			}
		case err != nil:
			t.Fatalf("%v, expected %d bytes", err, len(want))
		case !bytes.Equal(dst[:n], want) || used != len(src)-in.Len():
			t.Fatalf("other output than compress/flate, or %d bytes used, expected %d", used,
				len(src)-in.Len())
		}
	})
}

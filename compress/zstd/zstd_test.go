package zstd

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// frame is a frame of testdata, made by the zstd program.
type frame struct {
	name, sum string
	size      int
	encoded   []byte
}

func frames(t testing.TB) []frame {
	t.Helper()
	sums, err := os.ReadFile("testdata/sums.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []frame
	for line := range bytes.Lines(sums) {
		var f frame
		if _, err := fmt.Sscan(string(line), &f.sum, &f.size, &f.name); err != nil {
			t.Fatal(err)
		}
		if f.encoded, err = os.ReadFile(filepath.Join("testdata", f.name)); err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

// TestFrames decodes the frames of the zstd program, into destinations with and without room behind
// them and as long as can be and longer.
func TestFrames(t *testing.T) {
	variants(t, func(t *testing.T) {
		for _, f := range frames(t) {
			for _, room := range [][2]int{{0, 0}, {0, 31}, {0, 4096}, {1, 0}, {100, 0},
				{1 << 18, 0}} {
				dst := guarded(t, f.size+room[0]+room[1])[:f.size+room[0]]
				n, err := Decode(dst, f.encoded)
				if err != nil || n != f.size {
					t.Fatalf("%s: %d bytes, %v; expected %d", f.name, n, err, f.size)
				}
				if sum := sha256.Sum256(dst[:n]); hex.EncodeToString(sum[:]) != f.sum {
					t.Errorf("%s, %v bytes of room: other content than was encoded", f.name, room)
				}
			}
			if f.size == 0 {
				continue
			}
			if _, err := Decode(make([]byte, f.size-1, f.size+1000), f.encoded); !errors.Is(err,
				ErrTooLarge) {
				t.Errorf("%s: %v, expected ErrTooLarge for one byte less", f.name, err)
			}
		}
	})
}

// TestTruncatedFrames decodes every beginning of the frames. Each beginning ends at the end of the
// readable memory.
func TestTruncatedFrames(t *testing.T) {
	variants(t, func(t *testing.T) {
		for _, f := range frames(t) {
			src, dst := guarded(t, len(f.encoded)), guarded(t, f.size)
			for n := range len(f.encoded) {
				b := src[len(src)-n:]
				copy(b, f.encoded)
				if _, err := Decode(dst, b); !errors.Is(err, ErrCorrupt) {
					t.Fatalf("%s: %v after %d of %d bytes, expected ErrCorrupt", f.name, err, n,
						len(f.encoded))
				}
			}
		}
	})
}

// TestDamaged decodes frames with changed bytes, with and without assembly. The frames end at the
// end of the readable memory.
func TestDamaged(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, f := range frames(t) {
		src, dst, other := guarded(t, len(f.encoded)), guarded(t, f.size+100),
			make([]byte, f.size+100)
		for range 300 {
			copy(src, f.encoded)
			for range 1 + rng.IntN(3) {
				src[rng.IntN(len(src))] ^= 1 << rng.IntN(8)
			}
			n, err := Decode(dst, src)
			if err != nil && !documented(err) {
				t.Fatalf("%s: undocumented error %v", f.name, err)
			}
			portably(func() {
				m, otherErr := Decode(other, src)
				if (err == nil) != (otherErr == nil) || err == nil &&
					!bytes.Equal(dst[:n], other[:m]) {
					t.Fatalf("%s: %d bytes, %v; portable code %d bytes, %v", f.name, n, err, m,
						otherErr)
				}
			})
		}
	}
}

func documented(err error) bool {
	return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrTooLarge) ||
		errors.Is(err, errors.ErrUnsupported)
}

// samples are kinds of data that encode in different ways.
func samples() map[string][]byte {
	rng := rand.New(rand.NewPCG(3, 4))
	s := map[string][]byte{}
	random := make([]byte, 300000)
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	s["random"] = random
	s["zeros"] = make([]byte, 700000)
	var walk, small, text []byte
	value := 280.0
	for range 60000 {
		value += rng.NormFloat64() / 8
		walk = binary.LittleEndian.AppendUint32(walk, math.Float32bits(float32(value))&^0xfff)
		small = append(small, byte(rng.ExpFloat64()*3))
		text = append(text, fmt.Sprint(rng.IntN(300), " is what it said\n"[:3+rng.IntN(14)])...)
	}
	s["walk"], s["small"], s["text"] = walk, small, text
	for period := 1; period <= 40; period++ {
		var b []byte
		for range 300 {
			b = append(b, random[rng.IntN(1000):][:rng.IntN(60)]...)
			unit := random[rng.IntN(len(random)-period):][:period]
			b = append(b, bytes.Repeat(unit, 2+rng.IntN(1+400/period))...)
		}
		s[fmt.Sprintf("period %d", period)] = b
	}
	return s
}

// TestEncoded decodes what klauspost's encoder makes of many kinds of data.
func TestEncoded(t *testing.T) {
	all := samples()
	for level := zstd.SpeedFastest; level <= zstd.SpeedBestCompression; level++ {
		for _, window := range []int{1 << 10, 1 << 20} {
			w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithWindowSize(window),
				zstd.WithEncoderConcurrency(1))
			if err != nil {
				t.Fatal(err)
			}
			encoded := map[string][]byte{}
			for name, data := range all {
				encoded[name] = w.EncodeAll(data, nil)
			}
			t.Run(fmt.Sprintf("%v/%d", level, window), func(t *testing.T) {
				variants(t, func(t *testing.T) {
					for name, data := range all {
						decodesTo(t, name, encoded[name], data)
					}
				})
			})
		}
	}
}

func decodesTo(t *testing.T, name string, src, want []byte) {
	t.Helper()
	for _, spare := range []int{0, 100} {
		dst := make([]byte, len(want), len(want)+spare)
		n, err := Decode(dst, src)
		if err != nil || !bytes.Equal(dst[:n], want) {
			t.Errorf("%s: %d bytes, %v; expected %d bytes as encoded", name, n, err, len(want))
		}
	}
}

// TestSeries decodes frames one after the other, with skippable ones among them: a match of one
// must not reach into another.
func TestSeries(t *testing.T) {
	var src, want []byte
	for i, f := range frames(t) {
		dst := make([]byte, f.size)
		if _, err := Decode(dst, f.encoded); err != nil {
			t.Fatal(err)
		}
		want = append(want, dst...)
		src = append(src, f.encoded...)
		src = binary.LittleEndian.AppendUint32(src, skipMagic|uint32(i&15))
		src = binary.LittleEndian.AppendUint32(src, uint32(i))
		src = append(src, make([]byte, i)...)
	}
	variants(t, func(t *testing.T) { decodesTo(t, "series", src, want) })
	if n, err := Decode(nil, []byte{0x5f, 0x2a, 0x4d, 0x18, 0, 0, 0, 0}); n != 0 || err != nil {
		t.Errorf("only a skippable frame: %d bytes, %v; expected none", n, err)
	}
}

// head is the start of a frame of 6 bytes: a window of 1 KiB, no content size, no checksum.
const head = "\x28\xb5\x2f\xfd\x00\x00"

// TestRefused holds what malformed frames are refused with.
func TestRefused(t *testing.T) {
	tests := []struct {
		name string
		src  string
		want error
	}{
		{"nothing", "", ErrCorrupt},
		{"another magic number", "\x27\xb5\x2f\xfd\x00\x00\x01\x00\x00", ErrCorrupt},
		{"reserved bit", "\x28\xb5\x2f\xfd\x08\x00\x01\x00\x00", ErrCorrupt},
		{"dictionary", "\x28\xb5\x2f\xfd\x01\x00\x07\x01\x00\x00", errors.ErrUnsupported},
		{"dictionary 0: no dictionary", "\x28\xb5\x2f\xfd\x01\x00\x00\x01\x00\x00", nil},
		{"content size too large",
			"\x28\xb5\x2f\xfd\xe0\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00", ErrTooLarge},
		{"less content than said", "\x28\xb5\x2f\xfd\x20\x02\x09\x00\x00x", ErrCorrupt},
		{"more content than said", "\x28\xb5\x2f\xfd\x20\x02\x19\x00\x00xyz", ErrCorrupt},
		{"as much content as said", "\x28\xb5\x2f\xfd\x20\x03\x19\x00\x00xyz", nil},
		{"wrong checksum", "\x28\xb5\x2f\xfd\x24\x03\x19\x00\x00xyz\x00\x00\x00\x00", ErrCorrupt},
		{"block type 3", head + "\x07\x00\x00", ErrCorrupt},
		{"raw block larger than the window", head + "\x01\x21\x00" + string(make([]byte, 1060)),
			ErrCorrupt},
		{"run larger than the window", head + "\x0b\x20\x00x", ErrCorrupt},
		{"run as large as the window", head + "\x03\x20\x00x", nil},
		{"too many bytes",
			head + "\x02\x20\x00x\x02\x20\x00x\x02\x20\x00x\x02\x20\x00x\x03\x20\x00x",
			ErrTooLarge},
		{"trailing bytes", head + "\x01\x00\x00xyz", ErrCorrupt},
		{"empty compressed block", head + "\x05\x00\x00", ErrCorrupt},
		{"only literals", head + "\x25\x00\x00\x10xy\x00", nil},
		{"bytes after literals", head + "\x2d\x00\x00\x10xy\x00\x00", ErrCorrupt},
		{"literals with the last table, of none", head + "\x2d\x00\x00\x03\x04\x00\x01\x00",
			ErrCorrupt},
		{"reserved modes", head + "\x35\x00\x00\x10xy\x01\x01\x00", ErrCorrupt},
		{"repeated tables, of none", head + "\x35\x00\x00\x10xy\x01\xfc\x01", ErrCorrupt},
		{"no end of bits", head + "\x35\x00\x00\x10xy\x01\x00\x00", ErrCorrupt},
		{"symbol for all lengths", head + "\x4d\x00\x00\x10xy\x01\x54\x24\x00\x00\x01", ErrCorrupt},
		{"one sequence in runs: 2 literals, match of 3 one back",
			head + "\x4d\x00\x00\x10xy\x01\x54\x02\x02\x00\x04", nil},
		{"match before the start", head + "\x4d\x00\x00\x10xy\x01\x54\x02\x03\x00\x08", ErrCorrupt},
		{"more literals than there are", head + "\x4d\x00\x00\x10xy\x01\x54\x03\x02\x00\x04",
			ErrCorrupt},
		{"offset 0", head + "\x4d\x00\x00\x10xy\x01\x54\x00\x01\x00\x03", ErrCorrupt},
	}
	variants(t, func(t *testing.T) {
		for _, test := range tests {
			_, err := Decode(make([]byte, 4200), []byte(test.src))
			if !errors.Is(err, test.want) {
				t.Errorf("%s: %v, expected %v", test.name, err, test.want)
			}
		}
	})
}

// TestChecksum holds XXH64 against values of its specification's reference implementation.
func TestChecksum(t *testing.T) {
	for input, want := range map[string]uint64{
		"":    0xef46db3751d8e999,
		"a":   0xd24ec4f1a98c6e5b,
		"abc": 0x44bc2cf5ad770999,
		"Nobody inspects the spammish repetition": 0xfbcea83c8a378bf1,
	} {
		if got := xxh64([]byte(input)); got != want {
			t.Errorf("%q: %#x, expected %#x", input, got, want)
		}
	}
}

// FuzzDecode holds that whatever klauspost's decoder decodes gives the same here, with and without
// assembly. What it refuses is refused, except what it is stricter about (see stricter).
func FuzzDecode(f *testing.F) {
	for _, frame := range frames(f) {
		if len(frame.encoded) < 2500 {
			f.Add(frame.encoded)
		}
	}
	oracle, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
		zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(1<<62),
		zstd.WithDecoderMaxWindow(1<<41+7<<38))
	if err != nil {
		f.Fatal(err)
	}
	const limit = 1 << 18
	f.Fuzz(func(t *testing.T, src []byte) {
		b := slices.Repeat([]byte{0xa5}, limit+64)
		n, err := Decode(b[:limit:limit], src)
		if err != nil && !documented(err) {
			t.Fatalf("undocumented error %v", err)
		}
		if bytes.Count(b[limit:], []byte{0xa5}) != 64 {
			t.Fatal("wrote beyond its destination")
		}
		portably(func() {
			c := make([]byte, limit)
			m, otherErr := Decode(c, src)
			if (err == nil) != (otherErr == nil) || err == nil && !bytes.Equal(b[:n], c[:m]) {
				t.Fatalf("%d bytes, %v; portable code %d bytes, %v", n, err, m, otherErr)
			}
		})
		want, wantErr := oracle.DecodeAll(src, make([]byte, 0, limit))
		switch {
		case len(src) == 0:
		case wantErr == nil && (err != nil || !bytes.Equal(b[:n], want)):
			t.Fatalf("%d bytes, %v; expected %d", n, err, len(want))
		case wantErr != nil && err == nil && !stricter(wantErr):
			t.Fatalf("%d bytes, expected an error as %v", n, wantErr)
		}
	})
}

// stricter reports whether klauspost's decoder refuses what the reference decoder takes. One case
// is matches from further back than the window: a decoder without a window can serve them. The
// other is Huffman weights whose last state takes too many bits.
func stricter(err error) bool {
	return strings.Contains(err.Error(), "match offset") ||
		strings.Contains(err.Error(), "fse decompress returned: unexpected EOF")
}

package zstd

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// roundTrip encodes a content behind other bytes at a level and decodes it by both decoders.
func roundTrip(t *testing.T, oracle *zstd.Decoder, content []byte, level int, checksum bool) {
	t.Helper()
	out := Encode([]byte("head"), content, level, checksum)
	if !bytes.HasPrefix(out, []byte("head")) {
		t.Fatalf("what was before %d bytes of level %d was changed", len(content), level)
	}
	out = out[4:]
	if most := len(content) + 3*(len(content)/maxBlock) + frameRoom; len(out) > most {
		t.Errorf("level %d: %d bytes became %d, expected at most %d", level, len(content), len(out),
			most)
	}
	back := make([]byte, len(content))
	if n, err := Decode(back, out); err != nil || !bytes.Equal(back[:n], content) {
		t.Fatalf("level %d: %d bytes decode to %d, %v", level, len(content), n, err)
	}
	if other, err := oracle.DecodeAll(out, nil); err != nil || !bytes.Equal(other, content) {
		t.Fatalf("level %d: %d bytes decode to %d by another decoder, %v", level, len(content),
			len(other), err)
	}
}

func newOracle(t testing.TB) *zstd.Decoder {
	oracle, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(1<<30))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(oracle.Close)
	return oracle
}

// encodeLevels are levels of each kind of search.
var encodeLevels = []int{-1 << 20, -3, -1, 0, 1, 2, 3, 4}

// TestEncodeSamples: kinds of data decode to what they were.
func TestEncodeSamples(t *testing.T) {
	oracle := newOracle(t)
	for name, data := range samples() {
		t.Run(name, func(t *testing.T) {
			variants(t, func(t *testing.T) {
				for _, level := range encodeLevels {
					roundTrip(t, oracle, data, level, level&1 == 0)
				}
			})
		})
	}
}

// TestEncodeSizes: contents of sizes around the limits of headers and blocks decode to what they
// were.
func TestEncodeSizes(t *testing.T) {
	oracle := newOracle(t)
	all := samples()
	var sizes []int
	for n := range 40 {
		sizes = append(sizes, n)
	}
	for _, n := range []int{255, 256, 1 << 10, 1<<10 + 256, 4096, 1 << 14, 1 << 16, 1<<16 + 256,
		maxBlock, 2 * maxBlock} {
		sizes = append(sizes, n-1, n, n+1)
	}
	for _, name := range []string{"random", "zeros", "walk", "small", "text", "period 5"} {
		data := all[name]
		for _, n := range sizes {
			for _, level := range []int{-1, 1, 3} {
				roundTrip(t, oracle, data[:min(n, len(data))], level, n&1 == 0)
			}
		}
	}
}

// TestEncodeManyOffsets encodes contents longer than a window, with pieces that came before, near
// and far.
func TestEncodeManyOffsets(t *testing.T) {
	oracle := newOracle(t)
	rng := rand.New(rand.NewPCG(5, 6))
	data := make([]byte, 0, 5<<20)
	for len(data) < 5<<20-1000 {
		if n := rng.IntN(40); len(data) > 0 && rng.IntN(3) > 0 {
			from := rng.IntN(len(data))
			data = append(data, data[from:min(from+n, len(data))]...)
		} else {
			for range n {
				data = append(data, byte(rng.ExpFloat64()*20))
			}
		}
	}
	for _, level := range encodeLevels {
		roundTrip(t, oracle, data, level, false)
	}
}

// TestEncodeRepeats: what an encoder made before changes nothing of what it makes.
func TestEncodeRepeats(t *testing.T) {
	all := samples()
	for _, level := range encodeLevels {
		e := new(encoder)
		want := e.append(nil, all["text"], level, true)
		e.append(nil, all["walk"], level, true)
		e.append(nil, all["small"], 3, true)
		for i := range 3 {
			if got := e.append(nil, all["text"], level, true); !bytes.Equal(got, want) {
				t.Errorf("level %d: turn %d gives other bytes", level, i)
			}
		}
	}
}

// TestEncodeAllocates: with room in dst, nothing is allocated.
func TestEncodeAllocates(t *testing.T) {
	data := samples()["walk"]
	dst := make([]byte, 0, len(data))
	e := new(encoder)
	for _, level := range []int{1, 3} {
		if n := testing.AllocsPerRun(5, func() { e.append(dst, data, level, true) }); n != 0 {
			t.Errorf("level %d: %v allocations", level, n)
		}
	}
}

// FuzzEncode: what is encoded decodes, by another decoder too.
func FuzzEncode(f *testing.F) {
	for _, data := range samples() {
		f.Add(data[:min(len(data), 3000)], uint8(len(data)), uint16(1))
	}
	f.Add([]byte{}, uint8(1), uint16(1))
	f.Add([]byte{7}, uint8(1), uint16(1))
	f.Add([]byte{7}, uint8(3), uint16(40000))
	f.Add([]byte("0123012345"), uint8(3), uint16(30000))
	oracle := newOracle(f)
	e := new(encoder)
	f.Fuzz(func(t *testing.T, data []byte, level uint8, times uint16) {
		data = bytes.Repeat(data, min(int(times), 3<<16/(len(data)+1)+1))
		out := e.append(nil, data, encodeLevels[int(level)%len(encodeLevels)], level >= 128)
		back := make([]byte, len(data))
		if n, err := Decode(back, out); err != nil || !bytes.Equal(back[:n], data) {
			t.Fatalf("%d bytes decode to %d, %v", len(data), n, err)
		}
		portably(func() {
			if other := e.append(nil, data, encodeLevels[int(level)%len(encodeLevels)],
				level >= 128); !bytes.Equal(other, out) {
				t.Fatalf("%d bytes encode to others in portable code", len(data))
			}
		})
		if other, err := oracle.DecodeAll(out, nil); err != nil || !bytes.Equal(other, data) {
			t.Fatalf("%d bytes decode to %d by another decoder, %v", len(data), len(other), err)
		}
	})
}

// BenchmarkEncode encodes kinds of data beside klauspost's encoder.
func BenchmarkEncode(b *testing.B) {
	all := samples()
	for _, level := range []int{1, 3} {
		other, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)),
			zstd.WithAllLitEntropyCompression(true), zstd.WithEncoderCRC(false))
		if err != nil {
			b.Fatal(err)
		}
		for _, name := range []string{"zeros", "walk", "small", "text", "period 13", "random"} {
			data := all[name]
			dst := make([]byte, 0, 2*len(data)+100)
			run := func(who string, encode func() []byte) {
				b.Run(fmt.Sprintf("%d/%s/%s", level, name, who), func(b *testing.B) {
					b.SetBytes(int64(len(data)))
					size := 0
					for b.Loop() {
						size = len(encode())
					}
					b.ReportMetric(float64(len(data))/float64(size), "ratio")
				})
			}
			run("own", func() []byte { return Encode(dst, data, level, false) })
			run("klauspost", func() []byte { return other.EncodeAll(data, dst) })
		}
	}
}

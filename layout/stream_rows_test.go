package layout

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestStreamRows holds that rows written past the caches are those that copyRows writes, and that
// nothing beside them is touched. Where the processor can, assembly writes them.
func TestStreamRows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	src := make([]byte, 8<<10)
	for i := range src {
		src[i] = byte(random.Uint32())
	}
	for range 20_000 {
		n, rows := 1+random.Int64N(400), 1+random.Int64N(5)
		to, from := n+random.Int64N(300), n+random.Int64N(300)
		if random.IntN(2) == 0 {
			to = (to + line - 1) &^ (line - 1)
		}
		at, begin := random.Int64N(130), random.Int64N(70)
		got := bytes.Repeat([]byte{0xaa}, int(at+rows*to+100))
		want := bytes.Clone(got)
		copyRows(want[at:], src[begin:], n, rows, to, from)
		streamRows(got[at:], src[begin:], n, rows, to, from)
		settle()
		if !bytes.Equal(got, want) {
			t.Fatalf("%d rows of %d bytes, %d apart from byte %d on, of rows %d apart: other "+
				"bytes than copyRows", rows, n, to, at, from)
		}
	}
}

// TestScatterLarge scatters chunks to a stretch so large that rows are written past the caches, and
// compares it with what Runs says.
func TestScatterLarge(t *testing.T) {
	for _, tt := range []struct {
		name         string
		shape, chunk []int64
		item         int64
	}{
		{"rows that are whole lines", []int64{8, 1024, 1024}, []int64{4, 512, 512}, 4},
		{"rows at any place of a line", []int64{9, 1021, 1023}, []int64{4, 300, 301}, 2},
		{"one axis", []int64{20 << 20}, []int64{3 << 20}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := mustGrid(t, tt.shape, tt.chunk, tt.item)
			flat := make([]byte, max(g.Size(), streamed))
			seen := make([]byte, len(flat))
			src := make([]byte, g.ChunkBytes())
			for n := range g.Chunks() {
				for i := range src {
					src[i] = byte(int64(i)*7 + n)
				}
				box := g.Box(n)
				box.Scatter(flat, 0, src)
				for flatOff, chunkOff := range box.Runs() {
					copy(seen[flatOff:flatOff+box.RunLen], src[chunkOff:chunkOff+box.RunLen])
				}
			}
			if !bytes.Equal(flat, seen) {
				t.Error("Scatter has not written what Runs says")
			}
		})
	}
}

// BenchmarkScatter scatters chunks of 128³ float32 values, whose rows have 512 bytes.
func BenchmarkScatter(b *testing.B) {
	g := mustGrid(b, []int64{128, 1024, 1024}, []int64{128, 128, 128}, 4)
	flat, src := make([]byte, g.Size()), make([]byte, g.ChunkBytes())
	for _, way := range []struct {
		name string
		rows func(dst, src []byte, n, rows, to, from int64)
	}{{"through the caches", copyRows}, {"past them", streamRows}} {
		b.Run(way.name, func(b *testing.B) {
			b.SetBytes(g.ChunkBytes())
			for i := range b.N {
				box := g.Box(int64(i) % g.Chunks())
				box.strips(0, box.Off, 0, func(flatOff, chunkOff, count, to, from int64) {
					way.rows(flat[flatOff:], src[chunkOff:], box.RunLen, count, to, from)
				})
				settle()
			}
		})
	}
}

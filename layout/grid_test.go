package layout

import (
	"errors"
	"fmt"
	"math"
	"testing"
)

func mustGrid(t testing.TB, shape, chunk []int64, item int64) *Grid {
	t.Helper()
	g, err := NewGrid(shape, chunk, item)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestRuns(t *testing.T) {
	tests := []struct {
		name         string
		shape, chunk []int64
		item, off, n int64
		want         string
	}{
		{"one axis, across an edge", []int64{10}, []int64{4}, 2, 6, 6, "[{0 6 6 2} {1 0 8 4}]"},
		{"edge chunk is padded", []int64{10}, []int64{4}, 2, 16, 99, "[{2 0 16 4}]"},
		{"rows of a 2-d chunk", []int64{4, 4}, []int64{2, 2}, 1, 0, 8,
			"[{0 0 0 2} {1 0 2 2} {0 2 4 2} {1 2 6 2}]"},
		{"full inner axes merge", []int64{6, 2, 2}, []int64{2, 2, 2}, 1, 3, 10,
			"[{0 3 3 5} {1 0 8 5}]"},
		{"rank 0", nil, nil, 8, 2, 99, "[{0 2 2 6}]"},
		{"nothing", []int64{0, 3}, []int64{1, 3}, 4, 0, 10, "[]"},
		{"before the start", []int64{4}, []int64{4}, 1, -2, 4, "[{0 0 0 2}]"},
		{"chunk longer than the array", []int64{2, 3}, []int64{4, 5}, 1, 1, 4,
			"[{0 1 1 2} {0 5 3 2}]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := []Run{}
			for r := range mustGrid(t, tt.shape, tt.chunk, tt.item).Runs(tt.off, tt.n) {
				got = append(got, r)
			}
			if s := fmt.Sprint(got); s != tt.want {
				t.Errorf("got %s, want %s", s, tt.want)
			}
		})
	}
}

func TestNewGridRefuses(t *testing.T) {
	tests := []struct {
		name         string
		shape, chunk []int64
		item         int64
	}{
		{"rank mismatch", []int64{1, 2}, []int64{1}, 1},
		{"negative length", []int64{-1}, []int64{1}, 1},
		{"zero chunk", []int64{3}, []int64{0}, 1},
		{"array too large", []int64{1 << 40, 1 << 40}, []int64{1, 1}, 1},
		{"array of 2^63 bytes", []int64{1 << 60}, []int64{1}, 8},
		{"chunk too large", []int64{4}, []int64{math.MaxInt64}, 2},
		{"too many axes", make([]int64, 65), make([]int64, 65), 1},
	}
	for _, tt := range tests {
		if _, err := NewGrid(tt.shape, tt.chunk, tt.item); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", tt.name, err)
		}
	}
}

func TestHugeGrid(t *testing.T) {
	g := mustGrid(t, []int64{1 << 30, 1 << 30}, []int64{1 << 10, 1 << 10}, 1)
	r := g.RunAt(1<<60 - 1)
	want := Run{Chunk: 1<<40 - 1, ChunkOff: 1<<20 - 1, Off: 1<<60 - 1, Len: 1}
	if r != want {
		t.Errorf("got %+v, want %+v", r, want)
	}
	if s := g.Slab(g.SlabOf(1<<60 - 1)); s.Off+s.Len != 1<<60 || s.End != 1<<40 {
		t.Errorf("last slab is %+v", s)
	}
}

// element is the naive oracle: where one element lies, from the definitions.
func element(shape, chunk []int64, elem int64) (chunkNo, inChunk int64) {
	pos := make([]int64, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		pos[i] = elem % shape[i]
		elem /= shape[i]
	}
	for i, p := range pos {
		chunkNo = chunkNo*((shape[i]+chunk[i]-1)/chunk[i]) + p/chunk[i]
		inChunk = inChunk*chunk[i] + p%chunk[i]
	}
	return chunkNo, inChunk
}

// FuzzGrid checks runs, slabs and boxes byte by byte against element.
func FuzzGrid(f *testing.F) {
	f.Add(uint8(3), uint32(0x04030205), uint32(0x02020103), uint8(2), uint16(5), uint16(40))
	f.Add(uint8(1), uint32(7), uint32(9), uint8(1), uint16(0), uint16(9))
	f.Add(uint8(0), uint32(0), uint32(0), uint8(8), uint16(1), uint16(3))
	f.Add(uint8(4), uint32(0x03030303), uint32(0x02010101), uint8(3), uint16(17), uint16(200))
	f.Fuzz(func(t *testing.T, rank uint8, shapeBits, chunkBits uint32, item uint8, off, n uint16) {
		shape, chunk := make([]int64, rank%5), make([]int64, rank%5)
		for i := range shape {
			shape[i] = int64(shapeBits>>(8*i)&0xff) % 7
			chunk[i] = int64(chunkBits>>(8*i)&0xff)%8 + 1
		}
		g := mustGrid(t, shape, chunk, int64(item%5)+1)
		where := func(elem int64) (chunkNo, inChunk int64) { return element(shape, chunk, elem) }
		checkRuns(t, g, where, int64(off), int64(n))
		checkSlabs(t, g, where)
	})
}

func checkRuns(t *testing.T, g *Grid, where func(int64) (int64, int64), off, n int64) {
	pos := off
	for r := range g.Runs(off, n) {
		if r.Off != pos || r.Len <= 0 {
			t.Fatalf("run %+v, expected to start at %d", r, pos)
		}
		for k := int64(0); k < r.Len; k++ {
			c, in := where((r.Off + k) / g.itemSize)
			if c != r.Chunk || in*g.itemSize+(r.Off+k)%g.itemSize != r.ChunkOff+k {
				t.Fatalf("grid %v/%v: byte %d of run %+v is in chunk %d, element %d", g.shape,
					g.chunk, k, r, c, in)
			}
		}
		pos += r.Len
	}
	if want := max(off, min(off+n, g.size)); pos != want {
		t.Fatalf("runs end at %d, expected %d", pos, want)
	}
	if off < g.size {
		checkPart(t, g, off, n)
	}
}

func checkSlabs(t *testing.T, g *Grid, where func(int64) (int64, int64)) {
	var end, chunks int64
	flat := make([]int64, g.size) // chunk number + 1 of each byte, by scattering boxes
	for s := range g.Slabs() {
		slab := g.Slab(s)
		if slab.Off != end || slab.First != chunks {
			t.Fatalf("grid %v/%v: slab %d is %+v, expected to start at byte %d, chunk %d", g.shape,
				g.chunk, s, slab, end, chunks)
		}
		if g.SlabOf(slab.Off) != s || g.SlabOf(slab.Off+slab.Len-1) != s {
			t.Fatalf("grid %v/%v: slab %d does not hold its own bytes", g.shape, g.chunk, s)
		}
		for c := slab.First; c < slab.End; c++ {
			if n := g.Box(c).Bytes(); n > g.BytesOf(c) || n == 0 {
				t.Fatalf("grid %v/%v: %d bytes of chunk %d are in the array, of %d", g.shape,
					g.chunk, n, c, g.BytesOf(c))
			}
			g.Box(c).each(func(flatOff, chunkOff, n int64) {
				for k := range n {
					flat[flatOff+k] = c + 1
				}
			})
		}
		end, chunks = slab.Off+slab.Len, slab.End
	}
	if end != g.size || (g.size > 0 && chunks != g.chunks) {
		t.Fatalf("grid %v/%v: slabs end at byte %d of %d, chunk %d of %d", g.shape, g.chunk, end,
			g.size, chunks, g.chunks)
	}
	for i, c := range flat {
		if want, _ := where(int64(i) / g.itemSize); c != want+1 {
			t.Fatalf("grid %v/%v: byte %d was scattered from chunk %d, expected %d", g.shape,
				g.chunk, i, c-1, want)
		}
	}
}

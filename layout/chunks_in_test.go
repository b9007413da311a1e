package layout

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// checkPart compares what goes through bytes [off, off+n) chunk by chunk with the runs in the
// array's order.
func checkPart(t *testing.T, g *Grid, off, n int64) {
	t.Helper()
	want := map[int64][]Run{}
	for r := range g.Runs(off, n) {
		want[r.Chunk] = append(want[r.Chunk], r)
	}
	seen := map[int64]bool{}
	for chunk := range g.ChunksIn(off, max(0, min(n, g.size-off))) {
		if seen[chunk] {
			t.Fatalf("grid %v/%v, bytes %d+%d: chunk %d comes twice", g.shape, g.chunk, off, n,
				chunk)
		}
		seen[chunk] = true
		got := slices.Collect(g.RunsOf(chunk, off, n))
		if !slices.Equal(got, want[chunk]) || len(got) == 0 {
			t.Fatalf("grid %v/%v, bytes %d+%d: chunk %d has runs %+v, want %+v", g.shape, g.chunk,
				off, n, chunk, got, want[chunk])
		}
		last := got[len(got)-1]
		if first, end := g.Hull(chunk, off, n); first != got[0].ChunkOff ||
			end != last.ChunkOff+last.Len {
			t.Fatalf("grid %v/%v, bytes %d+%d: runs %+v of chunk %d lie in [%d, %d)", g.shape,
				g.chunk, off, n, got, chunk, first, end)
		}
	}
	if len(seen) != len(want) {
		t.Fatalf("grid %v/%v, bytes %d+%d: chunks %v, want %d of them", g.shape, g.chunk, off, n,
			seen, len(want))
	}
}

// TestPartByChunk goes through every part of small grids, regular and cut.
func TestPartByChunk(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		rank := random.IntN(5)
		shape, chunk, cuts := make([]int64, rank), make([]int64, rank), make([][]Cut, rank)
		for i := range shape {
			shape[i], chunk[i] = random.Int64N(5)+1, random.Int64N(5)+1
			cuts[i] = []Cut{{random.Int64N(3) + 1, random.Int64N(3) + 1}, {5, 3}}
		}
		item := random.Int64N(2) + 1
		cut, err := NewCutGrid(shape, cuts, item)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range []*Grid{mustGrid(t, shape, chunk, item), cut} {
			for off := int64(0); off < g.size; off += 1 + g.size/40 {
				for n := int64(1); n <= g.size-off; n += 1 + g.size/40 {
					checkPart(t, g, off, n)
				}
			}
		}
	}
}

// TestPartOfHugeGrid: the time does not grow with the chunks that a part does not touch.
func TestPartOfHugeGrid(t *testing.T) {
	g := mustGrid(t, []int64{1 << 30, 1 << 30}, []int64{1 << 10, 1}, 1)
	checkPart(t, g, 1<<60-100, 100)
	checkPart(t, g, 1<<40-50, 100)
}

// TestParts: the parts of a run follow each other and are no longer than they may be.
func TestParts(t *testing.T) {
	r := Run{Chunk: 3, ChunkOff: 10, Off: 100, Len: 10}
	want := []Run{{3, 10, 100, 4}, {3, 14, 104, 4}, {3, 18, 108, 2}}
	if got := slices.Collect(r.Parts(4)); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := slices.Collect(r.Parts(10)); !slices.Equal(got, []Run{r}) {
		t.Errorf("got %+v, want the run itself", got)
	}
}

// BenchmarkRuns goes through 1 MiB of arrays cut in cubes, and in chunks one element wide.
func BenchmarkRuns(b *testing.B) {
	for name, g := range map[string]*Grid{
		"cubes":  mustGrid(b, []int64{1024, 1024, 1024}, []int64{128, 128, 128}, 4),
		"narrow": mustGrid(b, []int64{1024, 4096}, []int64{256, 1}, 1),
	} {
		b.Run(name+"/flat", func(b *testing.B) {
			for range b.N {
				for range g.Runs(1<<20, 1<<20) {
				}
			}
		})
		b.Run(name+"/by chunk", func(b *testing.B) {
			for range b.N {
				for chunk := range g.ChunksIn(1<<20, 1<<20) {
					for range g.RunsOf(chunk, 1<<20, 1<<20) {
					}
				}
			}
		})
	}
}

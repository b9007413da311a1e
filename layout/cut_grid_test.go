package layout

import (
	"errors"
	"fmt"
	"math"
	"testing"
)

// cutElement is the naive oracle for grids whose chunks differ: where one
// element lies, from the lengths of all chunks along each axis.
func cutElement(shape []int64, lengths [][]int64, elem int64) (chunkNo, inChunk int64) {
	pos := make([]int64, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		pos[i] = elem % shape[i]
		elem /= shape[i]
	}
	for i, p := range pos {
		count, start := int64(0), int64(0)
		for _, n := range lengths[i] { // chunks that begin in the array
			if start < shape[i] {
				count++
			}
			start += n
		}
		c := int64(0)
		for p >= lengths[i][c] {
			p -= lengths[i][c]
			c++
		}
		chunkNo = chunkNo*count + c
		inChunk = inChunk*lengths[i][c] + p
	}
	return chunkNo, inChunk
}

// FuzzCutGrid checks runs, slabs and boxes byte by byte against cutElement.
func FuzzCutGrid(f *testing.F) {
	f.Add(uint8(2), uint32(0x0605), []byte{0x12, 0x21, 0x31}, []byte{0x13, 0x21}, uint8(2),
		uint16(3), uint16(30))
	f.Add(uint8(3), uint32(0x030405), []byte{0x41}, []byte{0x11, 0x31}, uint8(1), uint16(0),
		uint16(99))
	f.Add(uint8(1), uint32(0x06), []byte{0x91}, []byte{}, uint8(4), uint16(0), uint16(99))
	f.Add(uint8(0), uint32(0), []byte{}, []byte{}, uint8(8), uint16(1), uint16(3))
	f.Fuzz(func(t *testing.T, rank uint8, shapeBits uint32, cuts0, cuts1 []byte, item uint8, off,
		n uint16) {
		shape := make([]int64, rank%4)
		cuts, lengths := make([][]Cut, len(shape)), make([][]int64, len(shape))
		for i := range shape {
			shape[i] = int64(shapeBits>>(8*i)&0xff) % 7
			some := cuts0
			if i%2 == 1 {
				some = cuts1
			}
			for _, b := range some {
				cuts[i] = append(cuts[i], Cut{int64(b>>4) + 1, int64(b&3) + 1})
			}
			cuts[i] = append(cuts[i], Cut{2, 4}) // enough for any shape
			for _, c := range cuts[i] {
				for range c.Count {
					lengths[i] = append(lengths[i], c.Length)
				}
			}
		}
		g, err := NewCutGrid(shape, cuts, int64(item%5)+1)
		if err != nil {
			t.Fatal(err)
		}
		where := func(elem int64) (int64, int64) { return cutElement(shape, lengths, elem) }
		checkRuns(t, g, where, int64(off), int64(n))
		checkSlabs(t, g, where)
		checkInside(t, g, where)
	})
}

// checkInside counts the elements of each chunk that lie in the array, and looks whether they lie
// in the chunk's rows.
func checkInside(t *testing.T, g *Grid, where func(elem int64) (int64, int64)) {
	t.Helper()
	counts := map[int64]int64{}
	elems := g.Size() / g.ItemSize()
	for elem := range elems {
		chunk, in := where(elem)
		counts[chunk] += g.ItemSize()
		first, end, bytes := g.Rows(chunk)
		if row := in * g.ItemSize() / bytes; g.Rank() > 0 &&
			(row+first != elem/(elems/g.Shape()[0]) || row+first >= end) {
			t.Fatalf("element %d lies in row %d+%d of chunk %d, which ends at %d", elem, first, row,
				chunk, end)
		}
	}
	for chunk, n := range counts {
		if got := g.Inside(chunk); got != n || g.InsideGrown(chunk) < n ||
			g.InsideGrown(chunk) > g.BytesOf(chunk) {
			t.Fatalf("%d bytes of chunk %d lie in the array, expected %d; grown %d", got, chunk, n,
				g.InsideGrown(chunk))
		}
	}
}

// TestBoundedGrid: chunks end where the array does, and the last one knows how long it may get.
func TestBoundedGrid(t *testing.T) {
	g, err := NewBoundedGrid([]int64{10, 7}, []int64{4, 3}, 2)
	if err != nil {
		t.Fatal(err)
	}
	for chunk, want := range []string{
		"[4 3] 24 24", "[4 3] 24 24", "[4 1] 8 8", "[4 3] 24 24", "[4 3] 24 24", "[4 1] 8 8",
		"[2 3] 12 24", "[2 3] 12 24", "[2 1] 4 8",
	} {
		n := int64(chunk)
		if got := fmt.Sprint(g.ShapeOf(g.Coords(n, nil)), g.Inside(n),
			g.InsideGrown(n)); got != want || g.Inside(n) != g.BytesOf(n) {
			t.Errorf("chunk %d: %s, want %s", n, got, want)
		}
	}
	for _, c := range []struct{ shape, chunk []int64 }{
		{[]int64{3}, []int64{0}}, {[]int64{3}, nil}, {[]int64{math.MaxInt64, 2}, []int64{1, 1}},
	} {
		if _, err := NewBoundedGrid(c.shape, c.chunk, 1); !errors.Is(err, ErrInvalid) {
			t.Errorf("%v: %v, want ErrInvalid", c, err)
		}
	}
	if empty, err := NewBoundedGrid([]int64{0, 7}, []int64{0, 3}, 1); err != nil ||
		empty.Chunks() != 0 {
		t.Errorf("an axis of length 0: %v", err)
	}
}

// TestBehindTheEnd: the cuts of axis 0 behind the array's end are those of an array that has grown.
func TestBehindTheEnd(t *testing.T) {
	cuts := [][]Cut{{{2, 1}, {3, 2}, {5, math.MaxInt64}}}
	short, err := NewCutGrid([]int64{3}, cuts, 1)
	if err != nil {
		t.Fatal(err)
	}
	long, err := NewCutGrid([]int64{40}, cuts, 1)
	if err != nil {
		t.Fatal(err)
	}
	for chunk := range long.Chunks() {
		first, end, _ := short.Rows(chunk)
		if wantFirst, wantEnd, _ := long.Rows(chunk); first != wantFirst || end != wantEnd {
			t.Errorf("chunk %d has rows [%d, %d), want [%d, %d)", chunk, first, end, wantFirst,
				wantEnd)
		}
	}
	if fmt.Sprint(short.ChunkShape(), short.Lengths(0), short.Chunks()) != "[3] [2 3] 2" {
		t.Errorf("%v %v %d", short.ChunkShape(), short.Lengths(0), short.Chunks())
	}
}

// TestCutGrid holds what the fuzz test does not: a grid cut as a regular one equals the regular
// one, and a grid too large to be listed can be walked.
func TestCutGrid(t *testing.T) {
	shape, chunk := []int64{7, 5, 3}, []int64{3, 2, 3}
	regular := mustGrid(t, shape, chunk, 2)
	cut, err := NewCutGrid(shape, [][]Cut{{{3, 3}}, {{2, 1}, {2, 9}}, {{3, 1}}}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if !regular.IsRegular() || cut.IsRegular() || cut.Chunks() != regular.Chunks() {
		t.Errorf("%d chunks, want %d", cut.Chunks(), regular.Chunks())
	}
	for off := range regular.Size() {
		if got, want := cut.RunAt(off), regular.RunAt(off); got != want {
			t.Errorf("run at %d is %+v, want %+v", off, got, want)
		}
	}
	some, err := NewCutGrid([]int64{9}, [][]Cut{{{2, 1}, {3, 2}, {2, 1}, {50, 1}}}, 1)
	// 50 begins behind the end
	if got := fmt.Sprint(some.Lengths(0), regular.Lengths(1)); err != nil || got != "[2 3] [2]" {
		t.Errorf("chunks have the lengths %s, want [2 3] [2]", got)
	}
	huge, err := NewCutGrid([]int64{math.MaxInt64}, [][]Cut{{{10, math.MaxInt64 / 10}, {7, 1}}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	last := huge.RunAt(math.MaxInt64 - 1)
	if want := (Run{Chunk: math.MaxInt64 / 10, ChunkOff: 6, Off: math.MaxInt64 - 1,
		Len: 1}); last != want || huge.BytesOf(last.Chunk) != 7 {
		t.Errorf("the last run is %+v, want %+v", last, want)
	}
	over, err := NewCutGrid([]int64{math.MaxInt64 - 1},
		[][]Cut{{{math.MaxInt64 / 2, math.MaxInt64}}}, 1)
	if err != nil || over.Chunks() != 2 {
		t.Errorf("chunks that end beyond 2^63: %v", err)
	}
}

func TestNewCutGridRefuses(t *testing.T) {
	for _, tt := range []struct {
		shape []int64
		cuts  [][]Cut
	}{
		{[]int64{3}, nil},
		{[]int64{3}, [][]Cut{nil}},
		{[]int64{3}, [][]Cut{{{2, 1}}}},
		{[]int64{3}, [][]Cut{{{3, 0}}}},
		{[]int64{3}, [][]Cut{{{3, 1}, {-1, 1}}}},
		{[]int64{3}, [][]Cut{{{0, 5}, {3, 1}}}},
		{[]int64{1 << 40, 1 << 40}, [][]Cut{{{1, 1 << 40}}, {{1, 1 << 40}}}},
		{[]int64{3, 3}, [][]Cut{{{math.MaxInt64, 1}}, {{math.MaxInt64, 1}}}},
	} {
		if _, err := NewCutGrid(tt.shape, tt.cuts, 1); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", fmt.Sprint(tt.shape, tt.cuts), err)
		}
	}
}

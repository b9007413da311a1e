package layout

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// A Cut is a number of chunks that follow each other along an axis and have
// the same length, in elements.
type Cut struct{ Length, Count int64 }

// NewCutGrid returns the grid of an array whose chunks differ in length: along axis i they are
// those of cuts[i], one after the other. Together they are as long as the axis or longer. What lies
// outside the array is padding. Chunks that begin there are not part of the grid, but those of axis
// 0 may become so when the array grows. Every length and every count is 1 or more. The limits are
// those of NewGrid, for the largest chunk.
func NewCutGrid(shape []int64, cuts [][]Cut, itemSize int64) (*Grid, error) {
	if len(cuts) != len(shape) {
		return nil, fmt.Errorf("%w: shape %v has %d axes, the cuts %d", ErrInvalid, shape,
			len(shape), len(cuts))
	}
	axes := make([]axis, len(shape))
	longest := make([]int64, len(shape))
	for i, n := range shape {
		var err error
		if axes[i], err = newAxis(n, cuts[i]); err != nil {
			return nil, fmt.Errorf("%w: axis %d: %w", ErrInvalid, i, err)
		}
		longest[i] = axes[i].longest()
	}
	g, err := NewGrid(shape, longest, itemSize)
	if err != nil {
		return nil, err
	}
	g.cut(axes)
	if _, ok := product(1, g.counts); !ok {
		return nil, fmt.Errorf("%w: shape %v has more than 2^63-1 chunks", ErrInvalid, shape)
	}
	return g, nil
}

// NewBoundedGrid returns the grid of an array with chunks of one shape, cut at the ends of the
// array: none has padding. An axis of length 0 may have chunks of any length. The limits are those
// of NewGrid.
func NewBoundedGrid(shape, chunk []int64, itemSize int64) (*Grid, error) {
	if err := checkShapes(shape, chunk, itemSize); err != nil {
		return nil, err
	}
	cuts := make([][]Cut, len(shape))
	for i, n := range shape {
		if n == 0 {
			continue
		}
		if whole := n / chunk[i]; whole > 0 {
			cuts[i] = append(cuts[i], Cut{Length: chunk[i], Count: whole})
		}
		if rest := n % chunk[i]; rest > 0 {
			cuts[i] = append(cuts[i], Cut{Length: rest, Count: 1})
		}
	}
	g, err := NewCutGrid(shape, cuts, itemSize)
	if err == nil && len(chunk) > 0 {
		g.open = chunk[0]
	}
	return g, err
}

// cut replaces the grid's regular axes.
func (g *Grid) cut(axes []axis) {
	g.axes = axes
	g.runAxis = 0
	for i, a := range axes {
		g.counts[i] = a.count
		if i > 0 && !a.isWhole(g.shape[i]) {
			g.runAxis = i
		}
	}
	g.chunks, _ = product(1, g.counts)
}

// IsRegular reports whether all chunks of the grid have the same shape.
func (g *Grid) IsRegular() bool { return g.axes == nil }

// Extent returns where the chunk at coordinate c of an axis begins, and its
// length, padding included. Both are in elements.
func (g *Grid) Extent(i int, c int64) (start, length int64) {
	if g.axes == nil {
		return c * g.chunk[i], g.chunk[i]
	}
	return g.axes[i].extent(c)
}

// CoordOf returns the coordinate, along an axis, of the chunks that hold the
// element at position pos of it.
func (g *Grid) CoordOf(i int, pos int64) int64 {
	if g.axes == nil {
		return pos / g.chunk[i]
	}
	return g.axes[i].coordOf(pos)
}

// Lengths returns the lengths that chunks have along an axis, each once.
func (g *Grid) Lengths(i int) []int64 {
	if g.axes == nil {
		return []int64{g.chunk[i]}
	}
	var all []int64
	for _, s := range g.axes[i].within() {
		all = append(all, s.Length)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ShapeOf returns the shape of the chunk at the given grid coordinates, in
// elements.
func (g *Grid) ShapeOf(coords []int64) []int64 {
	shape := make([]int64, len(coords))
	for i, c := range coords {
		_, shape[i] = g.Extent(i, c)
	}
	return shape
}

// BytesOf returns the bytes of a decoded chunk, given by its C-order number.
func (g *Grid) BytesOf(chunk int64) int64 {
	if g.axes == nil {
		return g.chunkBytes
	}
	var some [8]int64
	n := g.itemSize
	for i, c := range g.Coords(chunk, some[:]) {
		_, length := g.axes[i].extent(c)
		n *= length
	}
	return n
}

// An axis is cut into chunks of different lengths. The stretches are sorted,
// and only the first may begin at 0. They go on behind the array's end as far as
// the cuts do.
type axis struct {
	stretches []stretch
	count     int64 // chunks that begin within the axis
}

// A stretch is a Cut in its place.
type stretch struct {
	start int64 // in elements
	first int64 // coordinate of its first chunk
	Cut
}

// newAxis places cuts along an axis of n elements.
func newAxis(n int64, cuts []Cut) (axis, error) {
	var a axis
	start, first := int64(0), int64(0)
	for _, c := range cuts {
		if c.Length < 1 || c.Count < 1 {
			return a, fmt.Errorf("%d chunks of length %d, expected at least 1 of at least 1",
				c.Count, c.Length)
		}
		if start == math.MaxInt64 || first == math.MaxInt64 {
			continue // behind all positions
		}
		a.stretches = append(a.stretches, stretch{start, first, c})
		if start < n {
			a.count = first + min(c.Count, (n-start-1)/c.Length+1)
		}
		if c.Count > (math.MaxInt64-start)/c.Length || c.Count > math.MaxInt64-first {
			start = math.MaxInt64 // the last chunk ends beyond all positions
			continue
		}
		start += c.Count * c.Length
		first += c.Count
	}
	if start < n {
		return a, fmt.Errorf("chunks of %d elements in all, expected at least %d", start, n)
	}
	return a, nil
}

// within returns the stretches that have chunks of the grid.
func (a axis) within() []stretch {
	n := sort.Search(len(a.stretches), func(i int) bool { return a.stretches[i].first >= a.count })
	return a.stretches[:n]
}

// isWhole reports that one chunk holds the axis of n elements without padding.
func (a axis) isWhole(n int64) bool { return a.count == 1 && a.stretches[0].Length == n }

// longest returns the length of the longest chunk; 0 if there is none.
func (a axis) longest() int64 {
	n := int64(0)
	for _, s := range a.within() {
		n = max(n, s.Length)
	}
	return n
}

func (a axis) extent(c int64) (start, length int64) {
	i := sort.Search(len(a.stretches), func(i int) bool { return a.stretches[i].first > c }) - 1
	s := &a.stretches[i]
	return s.start + (c-s.first)*s.Length, s.Length
}

func (a axis) coordOf(pos int64) int64 {
	i := sort.Search(len(a.stretches), func(i int) bool { return a.stretches[i].start > pos }) - 1
	s := &a.stretches[i]
	return s.first + (pos-s.start)/s.Length
}

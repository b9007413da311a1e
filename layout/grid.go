// Package layout says where the bytes of an array live: the chunk of each
// element of the flat array, its offset there, and the key under which the
// chunk is stored. It is integers only, and the copy of a chunk's rows to their
// places: no I/O, no data types, no codecs.
//
// The flat array is the array's bytes in C order, without any header. A [Grid]
// cuts its shape into chunks. A [Run] is a stretch of bytes that is contiguous
// both in the flat array and inside one chunk. A slab is all chunks that share
// the leading chunk index, and so a contiguous stretch of the flat array.
package layout

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// ErrInvalid is wrapped by every error about a shape that no grid can have.
var ErrInvalid = errors.New("invalid layout")

// MaxRank is the largest number of dimensions a grid accepts. NumPy stops at
// 64, tensorstore at 32.
const MaxRank = 64

// A Grid says how an array's shape is cut into chunks. In a regular grid all
// have one shape, those at the upper edges too. What lies outside the array is
// padding (Zarr v2 "Chunks", v3 "Regular grids"). NewCutGrid makes the others.
// A Grid is immutable.
type Grid struct {
	shape, chunk []int64 // in elements, one entry per axis; of the longest chunks where they differ
	axes         []axis  // where chunks differ; nil in a regular grid
	counts       []int64 // chunks per axis
	stride       []int64 // bytes of the flat array per step of one element on each axis
	// bytes inside a chunk per step of one element on each axis, in a regular grid
	chunkStride []int64
	itemSize    int64 // bytes of one element
	size        int64 // bytes of the flat array
	chunks      int64 // number of chunks
	chunkBytes  int64 // bytes of one decoded chunk, the largest where they differ
	slabAxis    int   // first axis along which a chunk holds more than one element
	runAxis     int   // runs are contiguous over the axes after this one
	// the length that the last chunk along axis 0 gets when the array grows; 0: the one it has
	open int64
}

// NewGrid cuts shape (elements per axis) into chunks of the given shape, of
// elements of itemSize bytes. Rank 0 is one chunk of one element; an axis of
// length 0 has no chunks. The array and a chunk may have up to 2^63-1 bytes.
func NewGrid(shape, chunk []int64, itemSize int64) (*Grid, error) {
	if err := checkShapes(shape, chunk, itemSize); err != nil {
		return nil, err
	}
	g := &Grid{shape: clone(shape), chunk: clone(chunk), itemSize: itemSize}
	var ok bool
	if g.size, ok = product(itemSize, shape); !ok {
		return nil, fmt.Errorf("%w: shape %v of %d-byte elements has more than 2^63-1 bytes",
			ErrInvalid, shape, itemSize)
	}
	if g.chunkBytes, ok = product(itemSize, chunk); !ok {
		return nil, fmt.Errorf("%w: chunk shape %v of %d-byte elements has more than 2^63-1 bytes",
			ErrInvalid, chunk, itemSize)
	}
	g.counts = make([]int64, len(shape))
	for i, n := range shape {
		if n > 0 {
			g.counts[i] = (n-1)/chunk[i] + 1
		}
	}
	if g.chunks, ok = product(1, g.counts); !ok {
		return nil, fmt.Errorf("%w: shape %v in chunks of %v has more than 2^63-1 chunks",
			ErrInvalid, shape, chunk)
	}
	g.stride, g.chunkStride = strides(shape, itemSize), strides(chunk, itemSize)
	g.slabAxis, g.runAxis = slabAxis(chunk), runAxis(shape, chunk)
	return g, nil
}

func checkShapes(shape, chunk []int64, itemSize int64) error {
	if len(shape) != len(chunk) {
		return fmt.Errorf("%w: shape %v has %d axes, chunk shape %v has %d", ErrInvalid, shape,
			len(shape), chunk, len(chunk))
	}
	if len(shape) > MaxRank {
		return fmt.Errorf("%w: %d axes, expected at most %d", ErrInvalid, len(shape), MaxRank)
	}
	if itemSize < 0 {
		return fmt.Errorf("%w: element size %d, expected 0 or more", ErrInvalid, itemSize)
	}
	for i, n := range shape {
		if n < 0 {
			return fmt.Errorf("%w: axis %d has length %d, expected 0 or more", ErrInvalid, i, n)
		}
		if chunk[i] < 0 || chunk[i] == 0 && n > 0 {
			return fmt.Errorf("%w: axis %d has chunk length %d, expected 1 or more", ErrInvalid, i,
				chunk[i])
		}
	}
	return nil
}

// product returns base times all of ns, and whether it fits an int64. A zero
// among ns makes it 0, whatever the others are.
func product(base int64, ns []int64) (int64, bool) {
	p, overflow := uint64(base), false
	for _, n := range ns {
		if n == 0 {
			return 0, true
		}
		hi, lo := bits.Mul64(p, uint64(n))
		overflow = overflow || hi != 0 || lo > math.MaxInt64
		p = lo
	}
	return int64(p), !overflow
}

// strides returns the bytes per step on each axis of a C-order block. Where
// the block is empty the strides are never used, and may be anything.
func strides(shape []int64, itemSize int64) []int64 {
	s := make([]int64, len(shape))
	step := itemSize
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = step
		step *= shape[i]
	}
	return s
}

// slabAxis is the first axis along which a chunk holds more than one element:
// a C-order scan needs all chunks that differ only in the axes after it.
func slabAxis(chunk []int64) int {
	for i, n := range chunk {
		if n > 1 {
			return i
		}
	}
	return max(len(chunk)-1, 0)
}

// runAxis is the last axis on which chunk and array differ: after it a chunk
// holds whole rows, so a run spans the chunk's extent of that axis.
func runAxis(shape, chunk []int64) int {
	for i := len(shape) - 1; i > 0; i-- {
		if chunk[i] != shape[i] {
			return i
		}
	}
	return 0
}

func clone(s []int64) []int64 { return append([]int64{}, s...) }

// Shape returns the array's shape in elements; the caller must not change it.
func (g *Grid) Shape() []int64 { return g.shape }

// ChunkShape returns the shape of a chunk in elements, with the longest length
// along each axis where they differ; the caller must not change it.
func (g *Grid) ChunkShape() []int64 { return g.chunk }

// Counts returns the number of chunks along each axis; the caller must not
// change it.
func (g *Grid) Counts() []int64 { return g.counts }

// Rank returns the number of axes.
func (g *Grid) Rank() int { return len(g.shape) }

// ItemSize returns the bytes of one element.
func (g *Grid) ItemSize() int64 { return g.itemSize }

// Size returns the bytes of the flat array.
func (g *Grid) Size() int64 { return g.size }

// Chunks returns the number of chunks in the grid.
func (g *Grid) Chunks() int64 { return g.chunks }

// ChunkBytes returns the bytes of one decoded chunk, edge chunks included; of
// the largest where they differ.
func (g *Grid) ChunkBytes() int64 { return g.chunkBytes }

// Coords writes the grid coordinates of a chunk, given by its C-order number,
// into dst, which is grown as needed and returned. Numbers beyond the end go on
// along axis 0: those are the chunks of an array that has grown.
func (g *Grid) Coords(chunk int64, dst []int64) []int64 {
	if cap(dst) < len(g.counts) {
		dst = make([]int64, len(g.counts))
	}
	dst = dst[:len(g.counts)]
	for i := len(dst) - 1; i > 0; i-- {
		dst[i] = chunk % g.counts[i]
		chunk /= g.counts[i]
	}
	if len(dst) > 0 {
		dst[0] = chunk
	}
	return dst
}

// Index returns the C-order number of the chunk at the given grid coordinates.
func (g *Grid) Index(coords []int64) int64 {
	var n int64
	for i, c := range coords {
		n = n*g.counts[i] + c
	}
	return n
}

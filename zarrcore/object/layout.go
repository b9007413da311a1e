package object

import (
	"slices"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// A Layout says which object holds a chunk, and which chunks an object holds. In most arrays all
// objects have one shape. Shards may differ in shape if the document lists their lengths. Even then
// all chunks have one shape, and it divides the shape of every shard. A Layout is immutable: an
// array of another shape has another one.
type Layout struct {
	*Keys
	chunks    *layout.Grid // that of Keys itself, where an object is one chunk and objects differ
	perObject []int64      // chunks in an object along each axis; nil where objects differ
	sharded   bool
}

// A Chain is what a Layout asks of the codecs of an array.
type Chain interface {
	Chunk() []int64  // the shape of the smallest separately decodable block
	IsSharded() bool // an object is a shard, with an index
}

// NewLayout returns the layout of the array that m describes, with these codecs. If
// reversed is set, m is the array of the store with its axes reversed. Grids count in
// bytes of m.Type.
func NewLayout(m *meta.Array, path string, chain Chain, reversed bool) (*Layout, error) {
	keys, err := NewKeys(m, path)
	if err != nil {
		return nil, err
	}
	keys.reversed = reversed
	return keys.layout(chain)
}

// layout cuts objects into chunks.
func (k *Keys) layout(chain Chain) (*Layout, error) {
	l := &Layout{Keys: k, sharded: chain.IsSharded()}
	switch {
	case k.meta.IsRegular():
		l.perObject = chunksPerObject(k.meta.Chunk, chain.Chunk())
	case !l.sharded:
		l.chunks = k.Grid
		return l, nil
	}
	var err error
	l.chunks, err = layout.NewGrid(k.meta.Shape, chain.Chunk(), k.meta.Type.Size)
	return l, err
}

// chunksPerObject returns how many chunks an object has along each axis.
func chunksPerObject(object, chunk []int64) []int64 {
	per := make([]int64, len(object))
	for i, n := range chunk {
		per[i] = object[i] / max(n, 1)
	}
	return per
}

// ChunkGrid returns the grid of the array's chunks.
func (l *Layout) ChunkGrid() *layout.Grid { return l.chunks }

// Find returns the number and the key of the object that holds a chunk, and the chunk's
// C-order number within it.
func (l *Layout) Find(chunk int64) (object int64, key string, inner int64) {
	var some [8]int64 // enough for most arrays without an allocation
	coords, inner := l.locate(l.chunks.Coords(chunk, some[:]))
	return l.Index(coords), l.keyAt(coords), inner
}

// Holder returns the number of the object that holds a chunk.
func (l *Layout) Holder(chunk int64) int64 {
	if !l.sharded {
		return chunk
	}
	var some [8]int64
	object, _ := l.locate(l.chunks.Coords(chunk, some[:]))
	return l.Index(object)
}

// Holders returns the objects that hold these chunks, in order.
func (l *Layout) Holders(chunks []int64) []int64 {
	objects := make([]int64, len(chunks))
	for i, n := range chunks {
		objects[i] = l.Holder(n)
	}
	slices.Sort(objects)
	return slices.Compact(objects)
}

// locate returns the coordinates of the object that holds the chunk at coords,
// and the chunk's C-order number within it. It overwrites coords.
func (l *Layout) locate(coords []int64) (object []int64, inner int64) {
	if l.perObject != nil {
		for i, per := range l.perObject {
			inner = inner*per + coords[i]%per
			coords[i] /= per
		}
		return coords, inner
	}
	if l.chunks == l.Grid {
		return coords, 0
	}
	chunk := l.chunks.ChunkShape()
	for i, c := range coords {
		pos := c * chunk[i]
		coords[i] = l.CoordOf(i, pos)
		start, length := l.Extent(i, coords[i])
		inner = inner*(length/chunk[i]) + (pos-start)/chunk[i]
	}
	return coords, inner
}

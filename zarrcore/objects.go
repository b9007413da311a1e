package zarrcore

import (
	"fmt"
	"slices"
	"sync"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
)

// This file tells which object holds a chunk, and with which codec chain it is
// encoded. In most arrays all objects have one shape, and so one chain. Where
// the document lists the lengths of chunks, a chain is bound for each shape as
// it is met; where such objects are shards, their chunks have one shape all the
// same, for it divides that of every shard.

// cutObjects sets the grid of chunks and what leads from it to the objects.
func (a *Array) cutObjects() error {
	var err error
	if a.meta.Cuts == nil {
		a.perObject = chunksPerObject(a.meta.Chunk, a.chain.Chunk())
		a.grid, err = layout.NewGrid(a.meta.Shape, a.chain.Chunk(), a.meta.Type.Size)
		return err
	}
	a.chains = &chainCache{byShape: map[string]*codec.Chain{}}
	a.grid = a.objects
	if a.chain.Sharded() {
		if a.grid, err = layout.NewGrid(a.meta.Shape, a.chain.Chunk(), a.meta.Type.Size); err != nil {
			return err
		}
	}
	return a.bindLengths()
}

// chunksPerObject returns how many chunks an object has along each axis.
func chunksPerObject(object, chunk []int64) []int64 {
	per := make([]int64, len(object))
	for i, n := range chunk {
		per[i] = object[i] / max(n, 1)
	}
	return per
}

// bindLengths binds a chain for every length along each axis, so that an array
// is refused as a whole if its codecs do not fit one of its objects.
func (a *Array) bindLengths() error {
	for i := range a.meta.Cuts {
		shape := append([]int64{}, a.meta.Chunk...)
		for _, shape[i] = range a.objects.Lengths(i) {
			if _, err := a.bindShape(shape); err != nil {
				return fmt.Errorf("objects of shape %v: %w", shape, err)
			}
		}
	}
	return nil
}

// bindShape binds the array's codecs to objects of the given shape.
func (a *Array) bindShape(shape []int64) (*codec.Chain, error) {
	m := *a.meta
	m.Chunk = shape
	return codec.Bind(&m)
}

// chainOf returns the codec chain of the object that holds chunk n.
func (a *Array) chainOf(n int64) (*codec.Chain, error) {
	if a.chains == nil {
		return a.chain, nil
	}
	coords, _ := a.locate(a.grid.Coords(n, nil))
	return a.chains.get(a.objects.ShapeOf(coords), a.bindShape)
}

// objectOf returns the key of the object that holds chunk n, and the chunk's
// C-order number within it.
func (a *Array) objectOf(n int64) (key string, inner int64) {
	var some [8]int64 // enough for most arrays without an allocation
	coords := a.grid.Coords(n, some[:])
	if a.perObject != nil {
		for i := range coords {
			per := a.perObject[i]
			inner = inner*per + coords[i]%per
			coords[i] /= per
		}
	} else {
		coords, inner = a.locate(coords)
	}
	return a.keyAt(coords), inner
}

// keyAt returns the key of the object at these coordinates, which it may
// overwrite.
func (a *Array) keyAt(coords []int64) string {
	if a.source != nil {
		slices.Reverse(coords)
	}
	var short [128]byte
	return string(a.meta.Keys.Append(append(short[:0], a.prefix...), coords))
}

// locate returns the coordinates of the object that holds the chunk at coords,
// and the chunk's C-order number within it, where objects differ in shape. It
// overwrites coords.
func (a *Array) locate(coords []int64) (object []int64, inner int64) {
	if a.grid == a.objects {
		return coords, 0
	}
	chunk := a.grid.ChunkShape()
	for i, c := range coords {
		pos := c * chunk[i]
		coords[i] = a.objects.CoordOf(i, pos)
		start, length := a.objects.Extent(i, coords[i])
		inner = inner*(length/chunk[i]) + (pos-start)/chunk[i]
	}
	return coords, inner
}

// maxChains is how many chains of one array are kept: as many shapes as a grid
// of a few lengths along each axis has.
const maxChains = 4096

// A chainCache keeps the chains of an array by the shape of the object.
type chainCache struct {
	mu      sync.Mutex
	byShape map[string]*codec.Chain
}

// get returns the chain for a shape, bound if need be.
func (c *chainCache) get(shape []int64, bind func([]int64) (*codec.Chain, error)) (*codec.Chain, error) {
	key := fmt.Sprint(shape)
	c.mu.Lock()
	chain := c.byShape[key]
	c.mu.Unlock()
	if chain != nil {
		return chain, nil
	}
	chain, err := bind(shape)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byShape) >= maxChains {
		clear(c.byShape)
	}
	c.byShape[key] = chain
	return chain, nil
}

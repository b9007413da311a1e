package zarrcore

import (
	"fmt"
	iofs "io/fs"
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
	if a.meta.Regular() {
		a.perObject = chunksPerObject(a.meta.Chunk, a.chain.Chunk())
		a.grid, err = layout.NewGrid(a.meta.Shape, a.chain.Chunk(), a.meta.Type.Size)
		return err
	}
	if a.chains == nil {
		a.chains = &chainCache[*codec.Chain]{}
	}
	a.grid = a.objects
	if a.chain.Sharded() {
		a.grid, err = layout.NewGrid(a.meta.Shape, a.chain.Chunk(), a.meta.Type.Size)
	}
	return err
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
	if a.chains == nil {
		return nil
	}
	return a.eachLength(func(shape []int64) error {
		_, err := a.chains.get(shape, a.bindShape)
		return err
	})
}

// eachLength calls bind with shapes of objects, among which every length along
// each axis is, up to the first error.
func (a *Array) eachLength(bind func(shape []int64) error) error {
	for i := range a.meta.Shape {
		shape := append([]int64{}, a.meta.Chunk...)
		for _, shape[i] = range a.objects.Lengths(i) {
			if err := bind(shape); err != nil {
				return fmt.Errorf("objects of shape %v: %w", shape, err)
			}
		}
	}
	return nil
}

// rebind is bindLengths for an array of another length of axis 0 than before had.
func (a *Array) rebind(before *Array) (err error) {
	if a.chains == nil || a.objects.Rank() == 0 || slices.Equal(a.objects.Lengths(0), before.objects.Lengths(0)) {
		return nil
	}
	if a.chain, err = a.bindShape(a.meta.Chunk); err == nil {
		err = a.bindLengths()
	}
	if err != nil {
		return fmt.Errorf("%w: the codecs do not fit the chunks of %d rows: %v", iofs.ErrInvalid, a.rows(), err)
	}
	return nil
}

// bindShape binds the array's codecs to objects of the given shape.
func (a *Array) bindShape(shape []int64) (*codec.Chain, error) {
	m := *a.meta
	m.Chunk = slices.Clone(shape)
	return codec.Bind(&m)
}

// chainOf returns the codec chain of an object that has a length along axis 0.
func (a *Array) chainOf(obj, length int64) (*codec.Chain, error) {
	if a.chains == nil {
		return a.chain, nil
	}
	shape := a.objects.ShapeOf(a.objects.Coords(obj, nil))
	if len(shape) > 0 {
		shape[0] = length
	}
	return a.chains.get(shape, a.bindShape)
}

// objectOf returns the number and the key of the object that holds chunk n, and
// the chunk's C-order number within it.
func (a *Array) objectOf(n int64) (obj int64, key string, inner int64) {
	var some [8]int64 // enough for most arrays without an allocation
	coords, inner := a.locate(a.grid.Coords(n, some[:]))
	return a.objects.Index(coords), a.keyAt(coords), inner
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
// and the chunk's C-order number within it. It overwrites coords.
func (a *Array) locate(coords []int64) (object []int64, inner int64) {
	if a.perObject != nil {
		for i, per := range a.perObject {
			inner = inner*per + coords[i]%per
			coords[i] /= per
		}
		return coords, inner
	}
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
type chainCache[C any] struct {
	mu      sync.Mutex
	byShape map[string]C
}

// get returns the chain for a shape, bound if need be.
func (c *chainCache[C]) get(shape []int64, bind func([]int64) (C, error)) (C, error) {
	key := fmt.Sprint(shape)
	c.mu.Lock()
	chain, ok := c.byShape[key]
	c.mu.Unlock()
	if ok {
		return chain, nil
	}
	chain, err := bind(shape)
	if err != nil {
		return chain, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byShape == nil || len(c.byShape) >= maxChains {
		c.byShape = map[string]C{}
	}
	c.byShape[key] = chain
	return chain, nil
}

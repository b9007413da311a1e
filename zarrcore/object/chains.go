package object

import (
	"fmt"
	"slices"
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// maxChains is how many chains of one array are kept: as many shapes as a grid
// of a few lengths along each axis has.
const maxChains = 4096

// Chains are the codec chains with which the objects of an array are encoded. In most
// arrays all objects have one shape, and so one chain. In the others a chain is bound for
// each shape as it is met. All methods may be called concurrently.
type Chains[C any] struct {
	bind func(*meta.Array) (C, error)
	meta *meta.Array

	largest C // the only one where all objects have one shape

	mu      sync.Mutex
	byShape map[string]C // of the others
}

// NewChains binds the chain of the largest object of an array, and returns it beside the
// chains of all.
func NewChains[C any](m *meta.Array, bind func(*meta.Array) (C, error)) (
	all *Chains[C], largest C, err error) {
	if largest, err = bind(m); err != nil {
		return nil, largest, err
	}
	return &Chains[C]{bind: bind, meta: m, largest: largest, byShape: map[string]C{}}, largest, nil
}

// BindAll binds a chain for every length that an object has along each axis. So an array
// is refused as a whole if its codecs do not fit one of its objects.
func (c *Chains[C]) BindAll(k *Keys) error {
	if c.meta.IsRegular() {
		return nil
	}
	for i := range k.Rank() {
		shape := slices.Clone(k.meta.Chunk)
		for _, shape[i] = range k.Lengths(i) {
			if _, err := c.OfShape(shape); err != nil {
				return fmt.Errorf("objects of shape %v: %w", shape, err)
			}
		}
	}
	return nil
}

// Of returns the chain of an object that has a length along axis 0.
func (c *Chains[C]) Of(k *Keys, object, length int64) (C, error) {
	if c.meta.IsRegular() {
		return c.largest, nil
	}
	shape := k.ShapeAt(object)
	if len(shape) > 0 {
		shape[0] = length
	}
	return c.OfShape(shape)
}

// OfShape returns the chain of objects of a shape, bound if need be.
func (c *Chains[C]) OfShape(shape []int64) (C, error) {
	if c.meta.IsRegular() {
		return c.largest, nil
	}
	key := fmt.Sprint(shape)
	c.mu.Lock()
	chain, ok := c.byShape[key]
	c.mu.Unlock()
	if ok {
		return chain, nil
	}
	m := *c.meta
	m.Chunk = slices.Clone(shape)
	chain, err := c.bind(&m)
	if err != nil {
		return chain, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byShape) >= maxChains {
		clear(c.byShape)
	}
	c.byShape[key] = chain
	return chain, nil
}

package writing

import (
	"context"
	"sync"

	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Unborn returns the content of a file of an array that may not be there yet.
func Unborn(w *Array, v view.ArrayView) view.Content { return &unborn{view: v, of: w} }

// unborn is the content of a file that has no array yet: nothing until there is one, and then what
// that has.
type unborn struct {
	view view.ArrayView
	of   *Array

	mu   sync.Mutex
	born *view.Flat
}

// flat returns what the array has, nil as long as there is none.
func (c *unborn) flat() (*view.Flat, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if arr := c.of.Live(); c.born == nil && arr != nil {
		born, err := view.NewFlat(c.view, arr)
		if err != nil {
			return nil, err
		}
		c.born = born
	}
	return c.born, nil
}

// Size implements view.Content.
func (c *unborn) Size() int64 {
	size, _ := c.of.Size(c.view)
	return size
}

// Array implements view.Content.
func (c *unborn) Array() *zarrcore.Array { return c.of.Live() }

// Rights implements view.Content: nothing of it was read from objects.
func (c *unborn) Rights() store.Rights { return store.Rights{} }

// Read implements view.Content.
func (c *unborn) Read(ctx context.Context, off, n int64) (*view.Found, error) {
	born, err := c.flat()
	if err != nil || born == nil {
		return &view.Found{}, err
	}
	return born.Read(ctx, off, n)
}

// NextData implements view.Content.
func (c *unborn) NextData(ctx context.Context, off int64) (start, end int64, err error) {
	born, err := c.flat()
	if err != nil || born == nil {
		return off, c.Size(), err
	}
	return born.NextData(ctx, off)
}

// Close implements view.Content.
func (c *unborn) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.born != nil {
		c.born.Close()
	}
}

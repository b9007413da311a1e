package writing

import (
	"context"
	"sync"

	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Headerless returns the content of a file of an array that may not be there yet.
func Headerless(w *Array, v view.ArrayView) view.Content { return &headerless{view: v, of: w} }

// headerless is the content of a file that has no array yet: nothing until there is one, and then
// what that has.
type headerless struct {
	view view.ArrayView
	of   *Array

	mu   sync.Mutex
	made *view.Flat
}

// flat returns what the array has, nil as long as there is none.
func (c *headerless) flat() (*view.Flat, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if arr := c.of.Live(); c.made == nil && arr != nil {
		made, err := view.NewFlat(c.view, arr)
		if err != nil {
			return nil, err
		}
		c.made = made
	}
	return c.made, nil
}

// Size implements view.Content.
func (c *headerless) Size() int64 {
	size, _ := c.of.Size(c.view)
	return size
}

// Array implements view.Content.
func (c *headerless) Array() *zarrcore.Array { return c.of.Live() }

// Rights implements view.Content: nothing of it was read from objects.
func (c *headerless) Rights() store.Rights { return store.Rights{} }

// Read implements view.Content.
func (c *headerless) Read(ctx context.Context, off, n int64) (*view.Found, error) {
	made, err := c.flat()
	if err != nil || made == nil {
		return &view.Found{}, err
	}
	return made.Read(ctx, off, n)
}

// NextData implements view.Content.
func (c *headerless) NextData(ctx context.Context, off int64) (start, end int64, err error) {
	made, err := c.flat()
	if err != nil || made == nil {
		return off, c.Size(), err
	}
	return made.NextData(ctx, off)
}

// Close implements view.Content.
func (c *headerless) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made != nil {
		c.made.Close()
	}
}

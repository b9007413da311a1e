// Package composite has the files that show many arrays, while programs have them open. What is
// written to such a file goes to its arrays, as by their .raw files. What would change the
// structure is refused.
package composite

import (
	"context"
	"sync"

	"github.com/zarrfs/zarrfs/fs/view"
)

// Handles are the open handles of a composite file. All of them show the same, because the kernel
// has one size and one page cache for them.
type Handles struct {
	mu     sync.Mutex
	opened map[*view.Composite]struct{}
	size   int64 // of each
}

// Enter notes a handle. ok is false if those that are open show something else. No lock is held
// while they are compared: that may ask the store.
func (c *Handles) Enter(ctx context.Context, of *view.Composite) (ok bool) {
	alike := make(map[*view.Composite]bool)
	for {
		other := c.enter(of, alike)
		if other == nil {
			return true
		}
		if alike[other] = other.IsLike(ctx, of); !alike[other] {
			return false
		}
	}
}

// enter notes a handle if all that are open are alike. Otherwise it returns one that is not known
// to be.
func (c *Handles) enter(of *view.Composite, alike map[*view.Composite]bool) *view.Composite {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other := range c.opened {
		if !alike[other] {
			return other
		}
	}
	if c.opened == nil {
		c.opened = make(map[*view.Composite]struct{})
	}
	c.opened[of] = struct{}{}
	c.size = of.Size()
	return nil
}

// Leave notes the end of a handle.
func (c *Handles) Leave(of *view.Composite) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.opened, of)
}

// Size returns the size of the file while it is open.
func (c *Handles) Size() (size int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size, len(c.opened) > 0
}

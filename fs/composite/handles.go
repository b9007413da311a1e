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

// Enter notes a handle. ok is false if those that are open show something else.
func (c *Handles) Enter(ctx context.Context, of *view.Composite) (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other := range c.opened {
		if !other.IsLike(ctx, of) {
			return false
		}
	}
	if c.opened == nil {
		c.opened = make(map[*view.Composite]struct{})
	}
	c.opened[of] = struct{}{}
	c.size = of.Size()
	return true
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

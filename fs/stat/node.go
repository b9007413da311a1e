package stat

import (
	"context"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
)

const (
	// recentFor is how long the metadata of a node is used again. It is long enough for the views
	// of an array, which are looked up and asked for their attributes one after the other. It is
	// shorter than the time for which the kernel itself believes attributes.
	recentFor = 500 * time.Millisecond
	// mostNodes is how many nodes are kept for that.
	mostNodes = 256
)

// NodePart is the metadata of a node as it was read a moment ago. A listing with attributes of a
// large group would otherwise read and parse each document up to six times. Opening a file does not
// use it.
type NodePart struct {
	node *zarrcore.Node
	at   time.Time // zero: it was forgotten

	// of the states before it was read: a rename or a removal may have made it another since
	changes int64
}

// Node returns the node at path as it was at most recentFor ago.
func (c *Cache) Node(ctx context.Context, path string) (*zarrcore.Node, error) {
	now := time.Now()
	n, age := c.recent(path, now)
	if n != nil {
		return n, nil
	}
	n, err := c.reader.Node(ctx, path)
	if err == nil && n.Kind != zarrcore.LinkNode { // what that leads to can change without it
		c.keep(path, n, now, age)
	}
	return n, err
}

// age is another number after something was forgotten, renamed or removed.
func (c *Cache) age() int64 { return c.forgets.Load() + c.nodes.Changes() }

// recent returns the node at path if it is kept, and otherwise what keep needs to know of the time
// before the node is read.
func (c *Cache) recent(path string, now time.Time) (n *zarrcore.Node, age int64) {
	age = c.age()
	if r := c.nodes.Shared(path); r != nil && now.Sub(r.at) < recentFor &&
		r.changes == c.nodes.Changes() {
		return r.node, age
	}
	return nil, age
}

// forgotten replaces a node by one that says nothing. It stays, so that the path does not take two
// places of the cache.
func forgotten(*NodePart) *NodePart { return new(NodePart) }

// keep keeps a node, unless an invalidation raced with the read since recent.
func (c *Cache) keep(path string, n *zarrcore.Node, now time.Time, age int64) {
	c.nodes.Edit(path, func(kept *NodePart) *NodePart {
		if c.age() != age {
			return kept
		}
		return &NodePart{n, now, c.nodes.Changes()}
	})
}

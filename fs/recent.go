package fs

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/zarrcore"
)

const (
	// recentFor is how long the metadata of a node is used again. It is long enough for the views
	// of an array, which are looked up and asked for their attributes one after the other. It is
	// shorter than the time for which the kernel itself believes attributes.
	recentFor = 500 * time.Millisecond
	// recentNodes is how many nodes are kept for that.
	recentNodes = 256
)

// recentCache keeps the nodes that were read last. A listing with attributes of a large group would
// otherwise read and parse each document up to six times. Opening a file does not use it.
type recentCache struct {
	*pathstate.Bounded[recentNode]
	forgets atomic.Int64 // how many times something was forgotten
}

type recentNode struct {
	node *zarrcore.Node
	at   time.Time // zero: it was forgotten

	changes int64 // of the states before it was read: a rename or a removal may have made it another since
}

func (c *recentCache) init(states *states) {
	c.Bounded = pathstate.NewBounded(pathstate.PartsOf(states, func(s *state) *pathstate.Bound[recentNode] {
		return &s.recent
	}), recentNodes)
}

// age is another number after something was forgotten, renamed or removed.
func (c *recentCache) age() int64 { return c.forgets.Load() + c.Changes() }

// node returns the node at path as it was at most recentFor ago.
func (f *filesystem) node(ctx context.Context, path string) (*zarrcore.Node, error) {
	now := time.Now()
	n, age := f.recent.get(path, now)
	if n != nil {
		return n, nil
	}
	n, err := f.h.Node(ctx, path)
	if err == nil && n.Kind != zarrcore.LinkNode { // what that leads to can change without it
		f.recent.put(path, n, now, age)
	}
	return n, err
}

// get returns the node at path if it is kept, and otherwise what put needs to know of the time
// before the node is read.
func (c *recentCache) get(path string, now time.Time) (n *zarrcore.Node, age int64) {
	age = c.age()
	if r := c.Of(path); r != nil && now.Sub(r.at) < recentFor && r.changes == c.Changes() {
		return r.node, age
	}
	return nil, age
}

// forget makes the next look at path a fresh one.
func (c *recentCache) forget(path string) {
	c.forgets.Add(1)
	c.Change(path, forgotten)
}

// forgetRecent makes the next look at the path a fresh one. The entry stays, so that the path does
// not take two places of the cache.
func (s *state) forgetRecent() { s.recent.Change(forgotten) }

// forgotten replaces an entry by one that says nothing.
func forgotten(*recentNode) *recentNode { return new(recentNode) }

// put keeps a node, unless an invalidation raced with the read since get.
func (c *recentCache) put(path string, n *zarrcore.Node, now time.Time, age int64) {
	c.Edit(path, func(kept *recentNode) *recentNode {
		if c.age() != age {
			return kept
		}
		return &recentNode{n, now, c.Changes()}
	})
}

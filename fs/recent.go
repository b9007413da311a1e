package fs

import (
	"context"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
)

const (
	// recentFor is how long the metadata of a node is used again: long enough for the views of an
	// array, which are looked up and asked for their attributes one after the other, and less than
	// the kernel itself believes attributes.
	recentFor = 500 * time.Millisecond
	// recentNodes is how many nodes are kept for that.
	recentNodes = 256
)

// recentCache keeps the nodes that were read last. A listing with attributes of a large group would
// otherwise read and parse each document up to six times. Opening a file does not use it.
type recentCache struct {
	mu      sync.Mutex
	forgets int // how many times something was forgotten
	nodes   map[string]recentNode
	ring    [recentNodes]string // their paths, in the order in which they came
	next    int
}

type recentNode struct {
	node *zarrcore.Node
	at   time.Time
}

// node returns the node at path as it was at most recentFor ago.
func (f *filesystem) node(ctx context.Context, path string) (*zarrcore.Node, error) {
	now := time.Now()
	n, forgets := f.recent.get(path, now)
	if n != nil {
		return n, nil
	}
	n, err := f.h.Node(ctx, path)
	if err == nil && n.Kind != zarrcore.LinkNode { // what that leads to can change without it
		f.recent.put(path, n, now, forgets)
	}
	return n, err
}

// get returns the node at path if it is kept, and else what put needs to know of the time before
// the node is read.
func (c *recentCache) get(path string, now time.Time) (n *zarrcore.Node, forgets int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.nodes[path]; ok && now.Sub(r.at) < recentFor {
		return r.node, 0
	}
	return nil, c.forgets
}

// forget makes the next look at path a fresh one.
func (c *recentCache) forget(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgets++
	if r, ok := c.nodes[path]; ok {
		c.nodes[path] = recentNode{node: r.node}
	}
}

// forgetAll makes the next look at any path a fresh one.
func (c *recentCache) forgetAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgets++
	c.nodes, c.ring = nil, [recentNodes]string{}
}

// put keeps a node, unless an invalidation raced with the read since get.
func (c *recentCache) put(path string, n *zarrcore.Node, now time.Time, forgets int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forgets != forgets {
		return
	}
	if c.nodes == nil {
		c.nodes = make(map[string]recentNode, recentNodes)
	}
	if _, ok := c.nodes[path]; !ok {
		delete(c.nodes, c.ring[c.next])
		c.ring[c.next] = path
		c.next = (c.next + 1) % recentNodes
	}
	c.nodes[path] = recentNode{n, now}
}

package zarrcore

import (
	"container/list"
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/codec"
)

// indexBudget bounds the decoded shard indexes kept, in bytes.
const indexBudget = 16 << 20

// An indexID names one shard index: the object's, or that of a nested shard.
type indexID struct {
	array   uint64
	key     string
	version string
	off, n  int64 // the shard's stretch of the object, in bytes
}

// An indexCache keeps the most recently used shard indexes, so that a shard of
// a thousand chunks is not asked for its index a thousand times.
type indexCache struct {
	budget int64

	mu    sync.Mutex
	used  int64
	byID  map[indexID]*list.Element
	order *list.List // of indexItem, most recent in front
}

type indexItem struct {
	id    indexID
	index *codec.Index
}

func newIndexCache(budget int64) *indexCache {
	return &indexCache{budget: budget, byID: map[indexID]*list.Element{}, order: list.New()}
}

// get returns the index of id, loaded if need be. Two callers may load the same
// one: an index is small, and waiting would cost more.
func (c *indexCache) get(id indexID, load func() (*codec.Index, error)) (*codec.Index, error) {
	if x := c.find(id); x != nil {
		return x, nil
	}
	x, err := load()
	if err == nil && x.Bytes() <= c.budget/4 {
		c.add(id, x)
	}
	return x, err
}

func (c *indexCache) find(id indexID) *codec.Index {
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.byID[id]
	if el == nil {
		return nil
	}
	c.order.MoveToFront(el)
	return el.Value.(indexItem).index
}

func (c *indexCache) add(id indexID, x *codec.Index) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID[id] != nil {
		return
	}
	c.byID[id] = c.order.PushFront(indexItem{id, x})
	for c.used += x.Bytes(); c.used > c.budget; {
		last := c.order.Remove(c.order.Back()).(indexItem)
		delete(c.byID, last.id)
		c.used -= last.index.Bytes()
	}
}

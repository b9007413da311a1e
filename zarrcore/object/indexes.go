package object

import (
	"container/list"
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/codec"
)

// IndexBudget is how many bytes of decoded shard indexes are worth keeping.
const IndexBudget = 16 << 20

// An IndexID names one shard index: the object's, or that of a nested shard.
type IndexID struct {
	Array   uint64 // the generation of the array
	Key     string // of the object
	Version string // of the object
	Off, N  int64  // the shard's stretch of the object, in bytes
}

// Indexes keep the most recently used shard indexes, so that a shard of a thousand chunks
// is not asked for its index a thousand times. All methods may be called concurrently.
type Indexes struct {
	budget int64

	mu    sync.Mutex
	used  int64
	byID  map[IndexID]*list.Element
	order *list.List // of indexItem, most recent in front
}

type indexItem struct {
	id    IndexID
	index *codec.Index
}

// NewIndexes returns an empty cache of so many bytes.
func NewIndexes(budget int64) *Indexes {
	return &Indexes{budget: budget, byID: map[IndexID]*list.Element{}, order: list.New()}
}

// Get returns the index of id, loaded if need be. Two callers may load the same
// one: an index is small, and waiting would cost more.
func (c *Indexes) Get(id IndexID, load func() (*codec.Index, error)) (*codec.Index, error) {
	if x := c.find(id); x != nil {
		return x, nil
	}
	x, err := load()
	if err == nil && x.Bytes() <= c.budget/4 {
		c.add(id, x)
	}
	return x, err
}

func (c *Indexes) find(id IndexID) *codec.Index {
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.byID[id]
	if el == nil {
		return nil
	}
	c.order.MoveToFront(el)
	return el.Value.(indexItem).index
}

func (c *Indexes) add(id IndexID, x *codec.Index) {
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

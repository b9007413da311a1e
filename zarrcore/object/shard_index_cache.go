package object

import (
	"container/list"
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/store"
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
	known map[shardID]shard
}

// A shardID names a shard, in whatever version.
type shardID struct {
	array uint64
	key   string
}

// A shard is what was found when it was opened last.
type shard struct {
	version string
	size    int64
	epoch   uint64 // in which it was opened
	missing bool   // there was none
}

// mostShards is how many shards are known at most: each takes about 200 bytes.
const mostShards = 1 << 15

type indexItem struct {
	id    IndexID
	index *codec.Index
}

// NewIndexes returns an empty cache of so many bytes.
func NewIndexes(budget int64) *Indexes {
	return &Indexes{budget: budget, byID: map[IndexID]*list.Element{}, order: list.New(),
		known: map[shardID]shard{}}
}

// note notes what was found when a shard was opened.
func (c *Indexes) note(id shardID, s shard) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= mostShards {
		clear(c.known)
	}
	c.known[id] = s
}

// opened notes what came of opening a shard in an epoch.
func (c *Indexes) opened(id shardID, epoch uint64, o store.Object, err error) {
	switch {
	case err == ErrMissing:
		c.note(id, shard{missing: true, epoch: epoch})
	case err == nil && o.Info().Version != "":
		c.note(id, shard{version: o.Info().Version, size: o.Size(), epoch: epoch})
	}
}

// shard returns what was found when a shard was opened last.
func (c *Indexes) shard(id shardID) (shard, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.known[id]
	return s, ok
}

// forget forgets a shard that has changed.
func (c *Indexes) forget(id shardID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, id)
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

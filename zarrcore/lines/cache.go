package lines

import (
	"container/list"
	"context"
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// cacheShare: decoded chunks are kept in this part of the memory budget.
const cacheShare = 4

// Cache keeps the most recently used chunks of all arrays whose elements have no fixed size.
type Cache struct {
	mem *chunk.Memory

	mu      sync.Mutex
	used    int64 // bytes of the chunks
	entries map[Key]*list.Element
	order   *list.List // of *cached, most recent in front
}

// NewCache returns an empty cache that counts what it keeps in mem.
func NewCache(mem *chunk.Memory) *Cache {
	return &Cache{mem: mem, entries: map[Key]*list.Element{}, order: list.New()}
}

// Key names a chunk as it is in one epoch of an array.
type Key struct {
	Array uint64
	Chunk int64
	Epoch uint64
}

// cached is a chunk, or the load of one.
type cached struct {
	key   Key
	ready chan struct{} // closed when the rest is set
	e     *vlen.Elements
	err   error
	bytes int64 // counted in used
}

// Get returns the chunk of key. One goroutine loads it if it is missing, and the others wait for
// that. An error is not kept.
func (c *Cache) Get(
	ctx context.Context, key Key, load func() (*vlen.Elements, error),
) (*vlen.Elements, error) {
	for {
		entry, mine := c.entry(key)
		if mine {
			entry.e, entry.err = load()
			c.loaded(entry)
			return entry.e, entry.err
		}
		select {
		case <-entry.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if entry.err == nil {
			return entry.e, nil
		}
		if err := ctx.Err(); err != nil { // the loader's error may be that it was canceled
			return nil, err
		}
	}
}

// entry returns the entry of key; mine reports that the caller must load it.
func (c *Cache) entry(key Key) (entry *cached, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el := c.entries[key]; el != nil {
		c.order.MoveToFront(el)
		return el.Value.(*cached), false
	}
	entry = &cached{key: key, ready: make(chan struct{})}
	c.entries[key] = c.order.PushFront(entry)
	return entry, true
}

// Has reports whether the chunk of key is there or being loaded.
func (c *Cache) Has(key Key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries[key] != nil
}

// loaded counts what an entry takes, and drops others for it.
func (c *Cache) loaded(entry *cached) {
	defer close(entry.ready)
	c.mu.Lock()
	if entry.err != nil {
		c.drop(c.entries[entry.key])
	} else {
		entry.bytes = entryBytes
		if entry.e != nil {
			entry.bytes += entry.e.Bytes()
		}
		c.used += entry.bytes
	}
	freed := int64(0)
	for el := c.order.Back(); el != nil && c.used > c.mem.Budget()/cacheShare; {
		last := el
		el = el.Prev()
		if old := last.Value.(*cached); old != entry && old.bytes > 0 {
			freed += old.bytes
			c.drop(last)
		}
	}
	c.mu.Unlock()
	c.mem.Unreserve(freed)
	c.mem.Reserve(entry.bytes)
}

// entryBytes is what an entry costs beside its elements.
const entryBytes = 256

// drop forgets an entry. The caller holds mu.
func (c *Cache) drop(el *list.Element) {
	entry := c.order.Remove(el).(*cached)
	delete(c.entries, entry.key)
	c.used -= entry.bytes
}

package chunk

import (
	"container/list"
	"context"
	"sync"
)

// entryOverhead is what an entry costs beside its buffer, in bytes.
const entryOverhead = 256

// A Cache keeps decoded chunks, the most useful ones within its Memory's
// budget. It is a segmented LRU: a chunk enters on probation and is protected
// once it is asked for again, so that one scan does not displace what is used
// repeatedly. All methods may be called concurrently.
//
// Chunks that are larger than the budget are kept in files; see KeepLarge.
type Cache struct {
	mem     *Memory
	scratch Scratch // for large chunks
	room    int64   // bytes of scratch that are kept; 0: none

	mu        sync.Mutex
	entries   map[ID]*entry
	probation *list.List // of *entry, most recent in front
	protected *list.List
	large     *list.List // those with a part in scratch
	hot       int64      // bytes in protected
	filed     int64      // bytes in scratch of those in large
	hits      int64
	misses    int64
	gone      [][]byte // of scratch, that nobody uses any more
	closed    bool     // nothing is loaded for a later use

	unmapping sync.Mutex // taken before mu, while they are unmapped
}

// An entry is one chunk. All fields are guarded by Cache.mu, except that the
// bytes of parts may be read by holders of a pin.
type entry struct {
	id      ID
	parts   parts
	bytes   int64 // capacity of all parts in memory
	filed   int64 // bytes of those in scratch
	fill    bool
	version string
	epoch   uint64        // of the array when version was last known to be current
	loading chan struct{} // closed when the load in flight ends; nil if none
	pins    int
	dead    bool // no longer in the cache: recycled with its last pin
	elem    *list.Element
	hot     bool
	early   bool // it was loaded for a use that is still to come
	leaves  bool // it is removed with its last pin
}

// NewCache returns an empty cache that allocates from mem.
func NewCache(mem *Memory) *Cache {
	c := &Cache{
		mem: mem, entries: map[ID]*entry{},
		probation: list.New(), protected: list.New(), large: list.New(),
	}
	mem.reclaim = c.reclaim
	return c
}

// A Pin keeps a chunk's bytes in memory until Release.
type Pin struct {
	c     *Cache
	e     *entry
	parts parts
}

// IsFill reports that the chunk is not stored and shows the fill value.
func (p Pin) IsFill() bool { return p.parts == nil }

// Slices appends bytes [off, off+n) of the chunk to bufs. The chunk must be stored, and the bytes
// must be among those that were asked for.
func (p Pin) Slices(bufs [][]byte, off, n int64) [][]byte {
	return p.parts.slices(bufs, off, off+n)
}

// Release ends the use of the chunk's bytes.
func (p Pin) Release() {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.c.unpin(p.e)
}

// Peek is Get where the bytes are there already; ok reports whether they are.
func (c *Cache) Peek(id ID, off, n int64, epoch uint64) (_ Pin, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[id]
	if e == nil || !e.has(off, n, epoch) {
		return Pin{}, false
	}
	e.pins++
	c.touch(e, true)
	return Pin{c, e, e.parts}, true
}

// has reports that bytes [off, off+n) are there and known to be current.
func (e *entry) has(off, n int64, epoch uint64) bool {
	if !e.isKnown() || e.epoch < epoch {
		return false
	}
	lo, hi := e.parts.gap(off, off+n)
	return e.fill || lo >= hi
}

// Get pins chunk id, of size bytes, with at least bytes [off, off+n) valid. A
// chunk is loaded by one goroutine at a time; the others wait for it. epoch
// grows whenever the array's objects may have changed: a chunk last checked in
// an older epoch is checked again.
func (c *Cache) Get(
	ctx context.Context, id ID, size, off, n int64, epoch uint64, b Backing,
) (Pin, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, hit := c.pin(id), true
	for {
		if e.loading != nil {
			if err := c.await(ctx, e); err != nil {
				c.unpin(e)
				return Pin{}, err
			}
			continue
		}
		if e.dead {
			c.unpin(e)
			e = c.pin(id)
			continue
		}
		if e.isKnown() && e.epoch < epoch {
			c.recheck(ctx, e, epoch, b)
			continue
		}
		if e.has(off, n, epoch) {
			c.touch(e, hit)
			return Pin{c, e, e.parts}, nil
		}
		hit = false
		lo, hi := e.parts.gap(off, off+n)
		need := Need{Off: lo, N: hi - lo, Size: size, Parts: len(e.parts), Version: e.version}
		if err := c.load(ctx, e, need, epoch, b); err != nil {
			c.unpin(e)
			return Pin{}, err
		}
	}
}

// Load loads a whole chunk for a use that is still to come. That one counts as the first. Load does
// nothing if something of the chunk is there, or is being loaded, or after Close.
func (c *Cache) Load(ctx context.Context, id ID, size int64, epoch uint64, b Backing) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	e := c.pin(id)
	defer c.unpin(e)
	if e.loading != nil || e.isKnown() {
		return nil
	}
	err := c.load(ctx, e, Need{N: size, Size: size}, epoch, b)
	e.early = err == nil // before anybody who waits for it can use it
	return err
}

// isKnown reports whether anything was loaded.
func (e *entry) isKnown() bool { return e.fill || e.parts != nil }

// pin returns the entry of id with one pin more, a new one if there is none.
func (c *Cache) pin(id ID) *entry {
	e := c.entries[id]
	if e == nil {
		e = &entry{id: id}
		c.entries[id] = e
	}
	e.pins++
	return e
}

func (c *Cache) unpin(e *entry) {
	e.pins--
	if e.pins > 0 {
		return
	}
	if (e.leaves || !e.isKnown()) && !e.dead {
		c.remove(e)
	}
	if e.dead {
		c.recycle(e)
	} else if over := c.mem.over(0); over > 0 {
		c.shrink(over) // what was pinned may have exceeded the budget
	}
	c.makeRoom(0)
}

// await waits, without the lock, until the load of e in flight has ended.
func (c *Cache) await(ctx context.Context, e *entry) error {
	loading := e.loading
	c.mu.Unlock()
	defer c.mu.Lock()
	return wait(ctx, loading)
}

// load gets what is needed of e, without the lock.
func (c *Cache) load(ctx context.Context, e *entry, need Need, epoch uint64, b Backing) error {
	done := make(chan struct{})
	e.loading = done
	var p part
	need.Buffer = func(lo, hi int64) (_ []byte, err error) {
		p.lo = lo
		p.buf, p.inFile, err = c.buffer(hi - lo)
		return p.buf, err
	}
	c.mu.Unlock()
	var got Loaded
	var err error
	func() {
		defer c.mu.Lock()
		got, err = b.Load(ctx, e.id, need)
	}()
	e.loading = nil
	close(done)
	replaced := e.isKnown() && (got.Fill || got.Version != e.version)
	if p.buf != nil && (err != nil || got.Fill || replaced) {
		c.free(p)
	}
	switch {
	case err != nil:
		return err
	case replaced: // or deleted, between two parts: start over
		c.remove(e)
		return nil
	case got.Fill:
		e.fill = true
	default:
		c.extend(e, p)
	}
	e.version, e.epoch = got.Version, epoch
	if e.elem == nil && !e.dead {
		e.elem = c.probation.PushFront(e)
	}
	c.shrink(c.mem.over(0))
	return nil
}

// extend adds a part to e.
func (c *Cache) extend(e *entry, p part) {
	e.parts = e.parts.with(p)
	n := int64(cap(p.buf))
	if p.inFile {
		c.unlink(e)
		e.filed += n
		if !e.dead {
			e.elem = c.large.PushFront(e)
			c.filed += e.filed
		}
		return
	}
	e.bytes += n
	if e.hot {
		c.hot += n
	}
}

// recheck asks, without the lock, whether e is still what is stored. If not, e
// leaves the cache.
func (c *Cache) recheck(ctx context.Context, e *entry, epoch uint64, b Backing) {
	version := e.version
	c.mu.Unlock()
	current := b.IsCurrent(ctx, e.id, version)
	c.mu.Lock()
	if current {
		e.epoch = max(e.epoch, epoch)
	} else {
		c.remove(e)
	}
}

// touch moves e to its place after a use.
func (c *Cache) touch(e *entry, hit bool) {
	if !hit {
		c.misses++
		return
	}
	c.hits++
	if e.early {
		e.early = false
		return
	}
	switch {
	case e.elem == nil:
		return
	case e.filed > 0:
		c.large.MoveToFront(e.elem)
		return
	case e.hot:
		c.protected.MoveToFront(e.elem)
		return
	}
	c.probation.Remove(e.elem)
	e.elem, e.hot = c.protected.PushFront(e), true
	c.hot += e.bytes
	for c.hot > c.mem.budget/5*4 && c.protected.Len() > 1 {
		c.demote(c.protected.Back().Value.(*entry))
	}
}

func (c *Cache) demote(e *entry) {
	c.unlink(e)
	e.elem = c.probation.PushFront(e)
}

func (c *Cache) unlink(e *entry) {
	if e.elem == nil {
		return
	}
	switch {
	case e.filed > 0:
		c.large.Remove(e.elem)
		c.filed -= e.filed
	case e.hot:
		c.protected.Remove(e.elem)
		c.hot -= e.bytes
	default:
		c.probation.Remove(e.elem)
	}
	e.elem, e.hot = nil, false
}

// remove takes e out of the cache; its buffer lives until its last pin.
func (c *Cache) remove(e *entry) {
	c.unlink(e)
	if c.entries[e.id] == e {
		delete(c.entries, e.id)
	}
	e.dead = true
	if e.pins == 0 {
		c.recycle(e)
	}
}

func (c *Cache) recycle(e *entry) {
	for _, p := range e.parts {
		c.free(p)
	}
	e.parts, e.bytes, e.filed = nil, 0, 0
}

// reclaim frees n bytes, for one buffer, if it can. A chunk of just that size
// goes first if one is among the next to go: its buffer is used again, where
// others would be garbage.
func (c *Cache) reclaim(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	over := min(n, c.mem.over(n))
	if over <= 0 {
		return
	}
	if e := c.nextOf(n); e != nil {
		over -= e.bytes
		c.remove(e)
	}
	c.shrink(over)
}

// near is how many of the next chunks to go are looked at for one of some size.
const near = 128

// nextOf returns the next chunk to go that has size bytes; nil if none is near.
func (c *Cache) nextOf(size int64) *entry {
	left := near
	for _, l := range []*list.List{c.probation, c.protected} {
		for el := l.Back(); el != nil && left > 0; el = el.Prev() {
			if e := el.Value.(*entry); e.pins == 0 && e.bytes == size {
				return e
			}
			left--
		}
	}
	return nil
}

// shrink evicts unpinned chunks worth n bytes, those on probation first, and
// more while there are too many entries for the budget.
func (c *Cache) shrink(n int64) {
	for _, l := range []*list.List{c.probation, c.protected} {
		for el := l.Back(); el != nil && (n > 0 || c.isCrowded()); {
			e := el.Value.(*entry)
			el = el.Prev()
			if e.pins == 0 {
				n -= e.bytes
				c.remove(e)
			}
		}
	}
	c.shrinkLarge(n)
}

// isCrowded reports that entries, which cost memory even where their chunk is
// not stored, use more than an eighth of the budget.
func (c *Cache) isCrowded() bool {
	return int64(len(c.entries))*entryOverhead > c.mem.budget/8
}

// Forget forgets one chunk, whose object was replaced. A load of it that is under
// way is not kept.
func (c *Cache) Forget(id ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[id]; e != nil {
		c.remove(e)
	}
}

// Drop forgets all chunks of an array's generation. Loads of them that are under way are not kept.
func (c *Cache) Drop(array uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, e := range c.entries {
		if id.Array == array {
			c.forget(e)
		}
	}
}

// Close forgets all chunks and gives their memory back, as far as nobody has them pinned or loads
// them. Loads that are under way are not kept.
func (c *Cache) Close() {
	c.forgetAll()
	c.mem.Close()
	c.unmap()
}

func (c *Cache) forgetAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, e := range c.entries {
		c.forget(e)
	}
}

// forget removes e. If it is being loaded, those who wait for it use it before that.
func (c *Cache) forget(e *entry) {
	if e.loading != nil {
		e.leaves = true
		return
	}
	c.remove(e)
}

// Stats says how the cache does.
type Stats struct {
	Chunks int   `json:"chunks"` // chunks held
	Hits   int64 `json:"hits"`
	Misses int64 `json:"misses"`
}

// Stats returns counters since the start.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Stats{Chunks: len(c.entries), Hits: c.hits, Misses: c.misses}
}

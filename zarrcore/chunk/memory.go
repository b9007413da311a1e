package chunk

import (
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/mapped"
)

// Memory hands out buffers and keeps what is handed out within a budget by
// asking its owner to give some back. Freed buffers are recycled by exact
// size: fresh memory costs more to touch than a chunk costs to decode. Others
// are let go: large ones go back to the system, and the garbage collector has
// small ones. All methods may be called concurrently.
type Memory struct {
	budget  int64
	reclaim func(n int64) // asks the cache to free n bytes for one buffer; set before use

	mu     sync.Mutex
	used   int64            // bytes handed out or reserved
	coming int64            // bytes of used for which callers are making room
	idle   int64            // bytes kept for recycling
	free   map[int][][]byte // idle buffers by capacity
	want   map[int]int      // how many calls of Get are making room for a buffer, by its capacity
	peak   int64            // the largest used so far
	mapped int64            // bytes of buffers that are not of the Go heap, wherever they are
	gone   [][]byte         // buffers of mapped.Least bytes or more that were let go
	litter int64            // bytes of smaller ones that were let go since the last call of collect
	closed bool             // nothing is kept for recycling

	collecting sync.Mutex
}

// NewMemory returns a Memory with a budget in bytes.
func NewMemory(budget int64) *Memory {
	return &Memory{
		budget: budget, free: map[int][][]byte{}, want: map[int]int{}, reclaim: func(int64) {},
	}
}

// Budget returns the bytes that may be in use.
func (m *Memory) Budget() int64 { return m.budget }

// Used returns the bytes in use, and the most that ever were.
func (m *Memory) Used() (now, peak int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used, m.peak
}

// OnHeap returns how many bytes of the Go heap the buffers may take: now, and once
// the budget is full, if they are then as large as they are now.
func (m *Memory) OnHeap() (now, full int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.used + m.idle
	if now = held - m.mapped; now <= 0 {
		return 0, 0
	}
	return now, int64(float64(now) / float64(held) * float64(max(held, m.budget)))
}

// hugeChunk is the size, in bytes, up to which a chunk is decoded whatever the
// budget is.
const hugeChunk = 4 << 30

// GetChunk is Get for chunks, whose size a document says that may be hostile: Go
// programs do not survive an allocation that fails.
func (m *Memory) GetChunk(n int64) ([]byte, error) {
	b, _, err := m.getChunk(n)
	return b, err
}

// GetFilled is GetChunk for bytes that the caller fills at once: fresh memory comes with its pages.
func (m *Memory) GetFilled(n int64) ([]byte, error) {
	b, fresh, err := m.getChunk(n)
	if fresh && n >= mapped.Least && n < hugePage {
		populate(b)
	}
	return b, err
}

func (m *Memory) getChunk(n int64) (b []byte, fresh bool, err error) {
	if n > m.Largest() {
		return nil, false, fmt.Errorf("%w: %d bytes, expected at most %d, or 4 times the cache's "+
			"size of %d",
			ErrTooLarge, n, int64(hugeChunk), m.budget)
	}
	b, fresh = m.get(n)
	return b, fresh, nil
}

// Largest is how many bytes a chunk may have.
func (m *Memory) Largest() int64 {
	if m.budget > math.MaxInt64/4 {
		return math.MaxInt64
	}
	return max(hugeChunk, 4*m.budget)
}

// Get returns a buffer of n bytes of arbitrary content. It always succeeds:
// beyond the budget the cache is asked to shrink, and pinned chunks may
// exceed it for as long as they are pinned.
func (m *Memory) Get(n int64) []byte {
	b, _ := m.get(n)
	return b
}

func (m *Memory) get(n int64) (b []byte, fresh bool) {
	m.mu.Lock()
	m.want[int(n)]++
	m.mu.Unlock()
	m.Reserve(n)
	if b := m.recycled(int(n)); b != nil {
		return b, false
	}
	m.unmap()
	m.collect()
	b = m.fresh(n)
	if n >= hugePage {
		preferHuge(b)
	}
	return b, true
}

// fresh returns a buffer of n bytes that nobody had before.
func (m *Memory) fresh(n int64) []byte {
	b, isMapped := mapped.Get(n)
	if isMapped {
		m.mu.Lock()
		m.mapped += n
		m.mu.Unlock()
	}
	return b
}

// recycled ends the wait for a buffer of n bytes, and returns one that is idle; nil if there is
// none.
func (m *Memory) recycled(n int) (b []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.want[n]--; m.want[n] == 0 {
		delete(m.want, n)
	}
	if list := m.free[n]; len(list) > 0 {
		b = list[len(list)-1]
		m.setList(n, list[:len(list)-1])
		m.idle -= int64(n)
	}
	return b
}

// unmap gives the large buffers that were let go back to the system. That takes
// longer than a lock may be held.
func (m *Memory) unmap() {
	m.mu.Lock()
	gone := m.gone
	m.gone = nil
	m.mu.Unlock()
	for _, b := range gone {
		size := int64(cap(b))
		was, err := mapped.Put(b)
		m.mu.Lock()
		switch {
		case err != nil: // it is there still, so it is used again
			m.keep(b)
		case was:
			m.mapped -= size
		default:
			m.litter += size
		}
		m.mu.Unlock()
	}
}

// collect collects the small buffers that were let go, once they are many. By itself the
// collector would begin when the heap has grown by a part, and those who decode
// chunks of many sizes outrun it: what is let go while it works is a cycle late.
// They wait here.
func (m *Memory) collect() {
	if !m.isLittered() {
		return
	}
	m.collecting.Lock()
	defer m.collecting.Unlock()
	if !m.isLittered() { // somebody else has just done it
		return
	}
	m.mu.Lock()
	m.litter = 0
	m.mu.Unlock()
	runtime.GC()
}

// isLittered reports whether the buffers that were let go are worth a collection.
func (m *Memory) isLittered() bool {
	const least, most = 8 << 20, 32 << 20
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.litter > min(max(least, m.budget/8), most)
}

// Put takes back a buffer from Get that nobody uses any more.
func (m *Memory) Put(b []byte) {
	size := cap(b)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used -= int64(size)
	if m.closed {
		m.letGo(b)
		go m.unmap() // the caller may hold the lock of a cache
		return
	}
	if m.idle+int64(size) > m.mayIdle() && len(m.free[size]) >= m.want[size] {
		m.letGo(b) // nobody waits for it
		return
	}
	m.keep(b)
}

// keep keeps a buffer for recycling. mu is held.
func (m *Memory) keep(b []byte) {
	m.idle += int64(cap(b))
	m.free[cap(b)] = append(m.free[cap(b)], b)
}

// letGo notes that a buffer is not used again. mu is held.
func (m *Memory) letGo(b []byte) {
	if cap(b) >= mapped.Least {
		m.gone = append(m.gone, b)
		return
	}
	m.litter += int64(cap(b))
}

// Close gives back the buffers that are kept for recycling, and those in use once they are put.
func (m *Memory) Close() {
	m.mu.Lock()
	m.closed = true
	for size, list := range m.free {
		m.idle -= int64(size) * int64(len(list))
		for _, b := range list {
			m.letGo(b)
		}
		delete(m.free, size)
	}
	m.mu.Unlock()
	m.unmap()
}

// Reserve counts n bytes that the caller allocates in its own way, and makes
// room for them.
func (m *Memory) Reserve(n int64) {
	m.mu.Lock()
	m.used += n
	m.peak = max(m.peak, m.used)
	m.dropIdle(n)
	if m.used <= m.budget {
		m.mu.Unlock()
		return
	}
	m.coming += n
	m.mu.Unlock()
	m.reclaim(n)
	m.mu.Lock()
	m.coming -= n
	m.mu.Unlock()
}

// Unreserve gives back n bytes counted by Reserve.
func (m *Memory) Unreserve(n int64) {
	m.mu.Lock()
	m.used -= n
	m.mu.Unlock()
}

// over returns the bytes by which the budget is exceeded. Those for which
// other callers are making room are theirs; own are the caller's.
func (m *Memory) over(own int64) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used - (m.coming - own) - m.budget
}

// mayIdle returns how many bytes may be kept for recycling: what the budget
// leaves, and a few that are evicted in one size and asked for in another.
func (m *Memory) mayIdle() int64 {
	const few = 8 << 20
	return max(m.budget-m.used, min(m.budget/16, few))
}

// dropIdle forgets idle buffers of sizes other than keep until no more are idle
// than may be, then those of size keep too.
func (m *Memory) dropIdle(keep int64) {
	for _, own := range []bool{false, true} {
		for size, list := range m.free {
			if (int64(size) == keep) != own {
				continue
			}
			for len(list) > 0 && m.idle > m.mayIdle() &&
				!(own && m.idle-int64(size) <= m.mayIdle()) {
				last := list[len(list)-1]
				list[len(list)-1] = nil
				list = list[:len(list)-1]
				m.idle -= int64(size)
				m.letGo(last)
			}
			m.setList(size, list)
		}
	}
}

func (m *Memory) setList(size int, list [][]byte) {
	if len(list) == 0 {
		delete(m.free, size)
		return
	}
	m.free[size] = list
}

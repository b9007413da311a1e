package merge

import (
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/mapped"
)

// buffers lend memory for encoded chunks while one object is written.
type buffers struct {
	mem  *chunk.Memory
	size int64
	once bool // there is one chunk

	mu   sync.Mutex
	idle [][]byte
}

// get lends memory until free is called. For an object of one small chunk it comes from where this
// processor has had it last, without the locks of the budget.
func (b *buffers) get() (buf []byte, free func()) {
	if b.once && b.size < mapped.Least {
		return chunk.Buffer(b.size)
	}
	buf, ok := b.take()
	if !ok {
		buf = b.mem.Get(b.size)
	}
	return buf, func() { b.put(buf) }
}

func (b *buffers) take() (buf []byte, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := len(b.idle) - 1
	if last < 0 {
		return nil, false
	}
	buf, b.idle = b.idle[last], b.idle[:last]
	return buf, true
}

func (b *buffers) put(buf []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle = append(b.idle, buf)
}

// end ends the lending. All buffers must be back.
func (b *buffers) end() {
	for _, buf := range b.idle {
		b.mem.Put(buf)
	}
}

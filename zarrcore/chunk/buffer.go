package chunk

import "sync"

// buffers recycles what Buffer returns.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Buffer returns a recycled buffer of n bytes and the way to give it back. It counts in no budget.
func Buffer(n int64) (buf []byte, release func()) {
	b := buffers.Get().(*[]byte)
	if int64(cap(*b)) < n {
		*b = make([]byte, n)
	}
	return (*b)[:n], func() { buffers.Put(b) }
}

package fs

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/zarrfs/zarrfs/zarrcore/chunk"
)

// requestBuffers makes the buffers that requests are read into huge pages, once it meets them. go-fuse has a handful of them and uses
// them again and again; with small pages copying in a large file took 6 % longer.
type requestBuffers struct {
	mu   sync.Mutex
	seen [32]uintptr // where they are; the oldest is forgotten
	next int
}

// met tells of what a WRITE brought. Only the largest are worth it.
func (r *requestBuffers) met(p []byte) {
	if len(p) == maxRequest && r.isNew(uintptr(unsafe.Pointer(unsafe.SliceData(p)))) {
		chunk.MakeHuge(p)
	}
}

func (r *requestBuffers) isNew(at uintptr) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.seen[:], at) {
		return false
	}
	r.seen[r.next] = at
	r.next = (r.next + 1) % len(r.seen)
	return true
}

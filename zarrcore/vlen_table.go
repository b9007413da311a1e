package zarrcore

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/keyed"
	"github.com/zarrfs/zarrfs/zarrcore/lines"
)

// A vlenTable has the arrays of no fixed element size that are open, and their
// chunks.
type vlenTable struct {
	mem      *chunk.Memory
	chunks   *lines.Cache
	writers  keyed.Mutex  // by path: one writes an array at a time
	storing  keyed.Tree   // used while an array is written, stopped while one is moved or removed
	behind   atomic.Int64 // counts that go on in the background
	relaying keyed.Tree   // used while objects that may get another length are read, stopped while they get it

	away  keyed.Tree    // used by loads that find no object, stopped by moves and removals
	moves atomic.Uint64 // how often a rename or a removal has begun or ended

	mu        sync.Mutex
	followers map[*vlenState]struct{} // that were renamed while they were open
	arrays    map[string]*vlenState   // the current generation of each, by path
}

func newVlenTable(mem *chunk.Memory) *vlenTable {
	return &vlenTable{
		mem: mem, chunks: lines.NewCache(mem),
		arrays: map[string]*vlenState{}, followers: map[*vlenState]struct{}{},
	}
}

// limit is the most bytes that a chunk may take.
func (t *vlenTable) limit() int64 {
	return min(max(leastVlenChunk, t.mem.Budget()/vlenChunkShare), math.MaxUint32)
}

// current returns the array at path if it is open in the given version.
func (t *vlenTable) current(path, version string) *vlenState {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.arrays[path]
	if s == nil || s.a.version != version {
		return nil
	}
	s.opened = time.Now()
	return s
}

// adopt makes s the current generation at its path, unless another goroutine
// was faster, and returns the one that is.
func (t *vlenTable) adopt(s *vlenState) *vlenState {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.opened = time.Now()
	if old := t.arrays[s.a.path]; old != nil && old.a.version == s.a.version {
		return old
	}
	if old := t.arrays[s.a.path]; old != nil {
		old.retire()
	} else if len(t.arrays) >= maxArrays {
		t.forget()
	}
	t.arrays[s.a.path] = s
	return s
}

// stored notes that this process has stored objects of the array at path.
func (t *vlenTable) stored(path string) {
	t.mu.Lock()
	s := t.arrays[path]
	t.mu.Unlock()
	if s != nil {
		s.a.watch.Forget()
		s.a.watch.NewEpoch()
	}
}

// forget retires the array without readers that was opened least recently. The
// caller holds mu.
func (t *vlenTable) forget() {
	var oldest *vlenState
	for _, s := range t.arrays {
		if s.readers.Load() == 0 && (oldest == nil || s.opened.Before(oldest.opened)) {
			oldest = s
		}
	}
	if oldest != nil {
		oldest.retire()
		delete(t.arrays, oldest.a.path)
	}
}

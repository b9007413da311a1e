package vlenarray

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/band"
	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/durable"
	"github.com/zarrfs/zarrfs/zarrcore/keyed"
	"github.com/zarrfs/zarrfs/zarrcore/lines"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Options say where arrays are stored, and what they share with others.
type Options struct {
	Store    *store.Store
	Catalog  *catalog.Catalog // of the store
	Memory   *chunk.Memory
	Scratch  *band.Scratch
	Objects  *object.Shared
	Count    *object.Counters
	Durable  *durable.Dirs
	Fresh    store.Freshness // how old what is known of a remote store may be
	Workers  int             // encodes at once
	KeepFill bool            // store chunks that hold nothing but fill value, too
	ReadOnly bool            // refuse every change
	NextID   func() uint64
}

// A Table has the arrays of no fixed element size that are open, and their chunks. All methods may
// be called concurrently.
type Table struct {
	Options
	chunks   *lines.Cache
	writers  keyed.Mutex   // by path: one writes an array at a time
	storing  keyed.Tree    // used while an array is written, stopped while one is moved or removed
	behind   atomic.Int64  // counts that go on in the background
	relaying keyed.Tree    // used to read objects, stopped while some get another length or go
	cuts     atomic.Uint64 // how often rows were truncated

	away  keyed.Tree    // used by loads that find no object, stopped by moves and removals
	moves atomic.Uint64 // how often a rename or a removal has begun or ended

	mu        sync.Mutex
	followers map[*state]struct{} // that were renamed while they were open
	arrays    map[string]*state   // the current generation of each, by path
}

// NewTable returns a table without arrays.
func NewTable(o Options) *Table {
	return &Table{
		Options: o, chunks: lines.NewCache(o.Memory),
		arrays: map[string]*state{}, followers: map[*state]struct{}{},
	}
}

// maxArrays is how many arrays are kept open for programs that may come back to them.
const maxArrays = 1024

// limit is the most bytes that a chunk may take.
func (t *Table) limit() int64 {
	return min(max(leastChunk, t.Memory.Budget()/chunkShare), math.MaxUint32)
}

// current returns the array at path if it is open in the given version.
func (t *Table) current(path, version string) *state {
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
func (t *Table) adopt(s *state) *state {
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
func (t *Table) stored(path string) {
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
func (t *Table) forget() {
	var oldest *state
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

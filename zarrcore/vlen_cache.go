package zarrcore

import (
	"container/list"
	"context"
	"math"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// vlenShare is the part of the memory budget that decoded chunks of no fixed
// size are kept in.
const vlenShare = 4

// A vlenTable has the arrays of no fixed element size that are open, and keeps
// their most recently used chunks.
type vlenTable struct {
	mem      *chunk.Memory
	turns    turns      // of the writers of an array
	storing  standstill // used by who writes to an array, stopped where one is moved or removed
	relaying standstill // used by who reads objects that may get another length, stopped while they do

	mu      sync.Mutex
	arrays  map[string]*vlenState // the current generation of each, by path
	used    int64                 // bytes of the chunks
	entries map[vlenKey]*list.Element
	order   *list.List // of *vlenEntry, most recent in front
}

// A vlenKey names a chunk as it is in one epoch of an array.
type vlenKey struct {
	array uint64
	chunk int64
	epoch uint64
}

// A vlenEntry is a chunk, or the load of one.
type vlenEntry struct {
	key   vlenKey
	ready chan struct{} // closed when the rest is set
	e     *vlen.Elements
	err   error
	bytes int64 // counted in used
}

func newVlenTable(mem *chunk.Memory) *vlenTable {
	return &vlenTable{mem: mem, arrays: map[string]*vlenState{}, entries: map[vlenKey]*list.Element{}, order: list.New()}
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

// get returns the chunk of key, loaded by one goroutine if need be, for which
// the others wait. An error is not kept.
func (t *vlenTable) get(ctx context.Context, key vlenKey, load func() (*vlen.Elements, error)) (*vlen.Elements, error) {
	for {
		entry, mine := t.entry(key)
		if mine {
			entry.e, entry.err = load()
			t.loaded(entry)
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

// entry returns the entry of key; mine tells that the caller has to load it.
func (t *vlenTable) entry(key vlenKey) (entry *vlenEntry, mine bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if el := t.entries[key]; el != nil {
		t.order.MoveToFront(el)
		return el.Value.(*vlenEntry), false
	}
	entry = &vlenEntry{key: key, ready: make(chan struct{})}
	t.entries[key] = t.order.PushFront(entry)
	return entry, true
}

// has tells that the chunk of key is there or being loaded.
func (t *vlenTable) has(key vlenKey) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.entries[key] != nil
}

// loaded counts what an entry takes, and drops others for it.
func (t *vlenTable) loaded(entry *vlenEntry) {
	defer close(entry.ready)
	t.mu.Lock()
	if entry.err != nil {
		t.drop(t.entries[entry.key])
	} else {
		entry.bytes = entryBytes
		if entry.e != nil {
			entry.bytes += entry.e.Bytes()
		}
		t.used += entry.bytes
	}
	freed := int64(0)
	for el := t.order.Back(); el != nil && t.used > t.mem.Budget()/vlenShare; {
		last := el
		el = el.Prev()
		if old := last.Value.(*vlenEntry); old != entry && old.bytes > 0 {
			freed += old.bytes
			t.drop(last)
		}
	}
	t.mu.Unlock()
	t.mem.Unreserve(freed)
	t.mem.Reserve(entry.bytes)
}

// entryBytes is what an entry costs beside its elements.
const entryBytes = 256

// drop forgets an entry. The caller holds mu.
func (t *vlenTable) drop(el *list.Element) {
	entry := t.order.Remove(el).(*vlenEntry)
	delete(t.entries, entry.key)
	t.used -= entry.bytes
}

package vlenarray

import (
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file fetches ahead what is about to be decoded, where each object is a round trip.

const (
	// near is how many chunks from the last ones a reader in order may be.
	near = 64
	// leastAhead is how many chunks ahead of a reader in order are fetched at least. The more it
	// has read, the more they are.
	leastAhead = 16
)

// A passage is the way of readers in order through an array, in one epoch. mu is innermost, except
// the locks of the store.
type passage struct {
	mu     sync.Mutex
	epoch  uint64
	base   int64              // where they began
	next   int64              // chunks before this one were announced
	hinted map[int64]struct{} // objects
}

// announce fetches ahead the object of chunk n, which is about to be decoded. Those that follow it
// are fetched, too, if chunks near to it were decoded before.
func (s *epochSource) announce(n int64) {
	st := s.a.t.Store
	if !st.Traits().Remote {
		return
	}
	p := &s.ahead
	p.mu.Lock()
	defer p.mu.Unlock()
	end := n + 1 + max(leastAhead, n-p.base)
	if p.hinted == nil || p.epoch != s.epoch || n < p.base-near || n > p.next+near {
		p.epoch, p.base, p.next, p.hinted = s.epoch, n, n, map[int64]struct{}{}
		end = n + 1
	}
	p.base = min(p.base, n)
	s.hint(p, n, min(end, s.a.grid.Chunks()))
}

// hint gives hints of the objects of chunks n to end, as far as they are taken. Chunk n is being
// loaded. The caller holds mu.
func (s *epochSource) hint(p *passage, n, end int64) {
	var hints []store.Hint
	var chunks, objects []int64
	for k := max(n, p.next); k < end; k++ {
		object, key, _ := s.a.objects.Find(k)
		if _, known := p.hinted[object]; known || k != n && s.a.t.chunks.Has(s.key(k)) {
			continue
		}
		p.hinted[object] = struct{}{}
		h := store.Hint{Key: key, Want: store.Want{N: store.All}, Opens: s.chunksIn(object)}
		hints, chunks, objects = append(hints, h), append(chunks, k), append(objects, object)
	}
	p.next = max(p.next, end)
	taken := s.a.t.Store.Ahead().Fetch(hints)
	if taken == len(hints) {
		return
	}
	p.next = chunks[taken]
	for _, object := range objects[taken:] {
		delete(p.hinted, object)
	}
}

// chunksIn returns how many chunks of the array are in an object.
func (s *epochSource) chunksIn(object int64) (n int) {
	s.a.objects.EachChunk(object, func(chunk, _ int64) {
		if chunk < s.a.grid.Chunks() {
			n++
		}
	})
	return n
}

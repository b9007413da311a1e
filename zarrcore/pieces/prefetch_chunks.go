package pieces

import (
	"context"
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/parallel"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file fetches ahead what is about to be decoded, where each object is a round trip. What is
// fetched waits in memory: see package ahead. It decides about cost only.

const (
	// runLeast is how many decoded bytes ahead of a reader may be fetched at least. The more it has
	// read the more it may be: a reader that stops soon has not fetched much in vain.
	runLeast = 16 << 20
	// runHints is how many hints are given at once.
	runHints = 256
	// burst is how many chunks readers in order decode at once, about.
	burst = 64
	// indexesAtOnce is how many shard indexes are loaded at once ahead of a reader.
	indexesAtOnce = 16
)

// A run is the chunks that readers in order are about to decode. mu is innermost, except the locks
// of the store.
type run struct {
	mu sync.Mutex
	passage
}

// A passage is the way of a reader through an array, in one epoch.
type passage struct {
	base int64 // where the reader began
	at   int64 // the furthest chunk that is being decoded
	next int64 // chunks before this one were announced, or are decoded without
	// chunks from next on that are decoded without, or were announced
	alone   map[int64]struct{}
	loading map[int64]chan struct{} // shards whose indexes are being loaded, by object
	tried   map[int64]bool          // shards whose indexes were loaded in this epoch
	epoch   uint64
}

// announce fetches ahead what follows chunk n, which a reader in order is about to decode.
func (a *loader) announce(ctx context.Context, n int64) {
	if !a.remote {
		return
	}
	r := &a.ahead
	r.mu.Lock()
	epoch := a.draft.Epoch()
	most := r.next + max(burst, r.next-r.base)
	switch {
	case r.epoch == epoch && r.isOvertaken(n):
		r.beginBefore(n)
	case n < r.base || n > most || r.epoch != epoch:
		r.passage = passage{base: n, next: n, at: n, epoch: epoch, alone: map[int64]struct{}{},
			loading: map[int64]chan struct{}{}, tried: map[int64]bool{}}
	}
	r.at = max(r.at, n)
	a.advance(r)
	number, _, _ := a.gen.Objects.Find(n)
	if wait := r.loading[number]; wait != nil {
		r.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
		}
		r.mu.Lock()
	}
	if n >= r.next {
		r.alone[n] = struct{}{}
	}
	r.mu.Unlock()
}

// isOvertaken reports whether chunk n belongs before the chunk where the passage began. Goroutines
// that decode the first chunks at once do not come in order.
func (p *passage) isOvertaken(n int64) bool {
	return n < p.base && p.base-n <= burst && p.at-p.base <= burst
}

// beginBefore lets the passage begin with chunk n. What was announced is not announced again: it
// may be under way to a reader, and would be fetched twice.
func (p *passage) beginBefore(n int64) {
	for known := p.base; known < p.next; known++ {
		p.alone[known] = struct{}{}
	}
	p.base, p.next = n, n
}

// advance gives hints of the chunks that follow, as far as they are taken. The caller holds mu.
func (a *loader) advance(r *run) {
	opener, size := a.Opener(), max(1, a.gen.Grid.ChunkBytes())
	end := r.at + 1 + max(runLeast/size, 2*(r.at-r.base))
	end = min(end, a.gen.Grid.Chunks())
	var hints []store.Hint
	var chunks []int64
	for n := r.next; n < end && len(hints) < runHints; n++ {
		if _, alone := r.alone[n]; alone {
			continue
		}
		number, key, inner := a.gen.Objects.Find(n)
		h, ok, err := opener.Hint(number, key, object.Part{Inner: inner})
		switch {
		case err != nil: // nothing is stored
			continue
		case !ok && !r.tried[number]:
			a.loadAhead(r, opener, n, end)
			end = n
			continue
		case !ok:
			continue // its index tells nothing
		}
		hints, chunks = append(hints, h), append(chunks, n)
	}
	if taken := a.Store.Ahead().Fetch(hints); taken < len(hints) {
		end = chunks[taken]
	} else if len(hints) == runHints {
		end = chunks[len(chunks)-1] + 1
	}
	for n := r.next; n < end; n++ {
		delete(r.alone, n)
	}
	r.next = max(r.next, end)
}

// loadAhead loads the indexes of the shards of chunks n to end that are not known. The caller holds
// mu.
func (a *loader) loadAhead(r *run, opener object.Opener, n, end int64) {
	for ; n < end && len(r.loading) < indexesAtOnce; n++ {
		number, key, inner := a.gen.Objects.Find(n)
		if r.tried[number] || r.loading[number] != nil {
			continue
		}
		if _, ok, err := opener.Hint(number, key, object.Part{Inner: inner}); ok || err != nil {
			continue
		}
		done, loading, epoch := make(chan struct{}), r.loading, r.epoch
		loading[number] = done
		go func() {
			opener.LoadIndex(context.Background(), a.Store, number, key)
			r.mu.Lock()
			defer r.mu.Unlock()
			defer close(done)
			delete(loading, number)
			if r.epoch == epoch {
				r.tried[number] = true
				a.advance(r)
			}
		}()
	}
}

// fetchTogether fetches the chunks of shards that one request needs: their indexes first, each
// once, then neighbours together.
func (a *loader) fetchTogether(ctx context.Context, needs []*need) {
	if !a.remote || len(needs) < 2 || !a.gen.Chain.IsSharded() {
		return
	}
	opener := a.Opener()
	unknown := map[int64]string{}
	var numbers []int64
	hints := make([]store.Hint, 0, len(needs))
	each := func(visit func(number int64, key string, h store.Hint, ok bool)) {
		for _, nd := range needs {
			number, key, inner := a.gen.Objects.Find(nd.chunk)
			part := a.partOf(chunk.Need{Off: nd.off, N: nd.n, Size: a.gen.Grid.BytesOf(nd.chunk)})
			part.Inner = inner
			if h, ok, err := opener.Hint(number, key, part); err == nil {
				visit(number, key, h, ok)
			}
		}
	}
	each(func(number int64, key string, _ store.Hint, ok bool) {
		if _, known := unknown[number]; !ok && !known {
			unknown[number] = key
			numbers = append(numbers, number)
		}
	})
	parallel.Each(remoteLoadsAtOnce, len(numbers), func(i int) {
		opener.LoadIndex(ctx, a.Store, numbers[i], unknown[numbers[i]])
	})
	each(func(_ int64, _ string, h store.Hint, ok bool) {
		if ok {
			hints = append(hints, h)
		}
	})
	a.Store.Ahead().Fetch(hints)
}

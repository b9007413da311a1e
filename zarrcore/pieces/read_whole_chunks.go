package pieces

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/parallel"
)

// This file reads bytes of whole chunks, as they lie in memory.

// As many chunks as there are processors are loaded ahead of a reader, or more if they are small.
const (
	aheadShare = 16      // what they take of the budget at most: one part of so many
	aheadBytes = 4 << 20 // what small chunks take, decoded
	aheadMost  = 64      // chunks
)

// Stacked returns bytes [off, off+n) of all chunks one behind the other, in the order of their
// numbers; see layout.Grid.Stacked. They must lie in them.
//
// A library such as libhdf5 asks for one chunk after the other. One processor would decode them,
// and not even that one while the library works. So what follows a reader that comes in order is
// loaded meanwhile.
func (a *Array) Stacked(ctx context.Context, off, n int64) (*Pieces, error) {
	l := a.fewStacked(off, n)
	if l == nil || a.draft.IsBusy() {
		room := n + a.memoryOf(int64(a.batchNeeds()))
		return a.within(ctx, room, func() (*Pieces, error) {
			return a.gathered(ctx, off, n, a.gen.Grid.Stacked(off, n))
		})
	}
	p, err := a.within(ctx, a.room(off, n, l), func() (*Pieces, error) {
		if a.draft.IsBusy() {
			return a.gathered(ctx, off, n, a.gen.Grid.Stacked(off, n))
		}
		return a.slices(ctx, n, l)
	})
	if err == nil { // its own chunks come first
		following{a}.load(off, n)
	}
	return p, err
}

// fewStacked is few of bytes of all chunks one behind the other. It does not share its loop with
// few: an iterator that is passed on costs three pieces of memory for each request.
func (a *Array) fewStacked(off, n int64) *list {
	l := a.newList()
	for r := range a.gen.Grid.Stacked(off, n) {
		if !l.add(r) {
			return nil
		}
	}
	return l
}

// following are the chunks behind those of readers.
type following struct{ *Array }

// load begins to load the chunks that a request of bytes [off, off+n) announces, unless the
// requests have no memory to spare.
func (a following) load(off, n int64) {
	first, end := a.announced(off, n)
	if first < end {
		go a.loadMeanwhile(first, end, a.draft.Epoch())
	}
}

// announced returns the chunks to load behind those of a request of bytes [off, off+n), and takes
// memory of the requests for them. The chunks of a past generation are checked at each use, so that
// none is loaded before. Nor is any of a remote store, where each object is a round trip.
func (a following) announced(off, n int64) (first, end int64) {
	if a.remote || a.draft.IsPast() {
		return 0, 0
	}
	each := a.memoryOf(1)
	most := max(int64(runtime.GOMAXPROCS(0)), min(aheadMost, aheadBytes/each))
	most = min(most, a.Memory.Budget()/aheadShare/each)
	of := stacked{chunks: a.gen.Grid.Chunks(), size: max(1, a.gen.Grid.ChunkBytes())}
	return a.stack.follow(of, off, n, most, func(chunks int64) bool {
		return a.Requests.Usual().TryAcquire(a.memoryOf(chunks))
	})
}

// loadMeanwhile loads chunks first to end, and gives their memory back. If the store hangs, others
// have it before that. None is loaded for a generation that is past, nor after that epoch: objects
// of the array may have changed.
func (a following) loadMeanwhile(first, end int64, epoch uint64) {
	release := sync.OnceFunc(func() { a.Requests.Usual().Release(a.memoryOf(end - first)) })
	defer release()
	hung := time.AfterFunc(hangs, release)
	defer hung.Stop()
	parallel.Each(runtime.GOMAXPROCS(0), int(end-first), func(i int) {
		if a.draft.IsPast() || a.draft.Epoch() != epoch {
			return
		}
		id := chunk.ID{Array: a.gen.ID, Chunk: first + int64(i)}
		// A request that needs it finds the error.
		_ = a.Cache.Load(context.Background(), id, a.gen.Grid.BytesOf(id.Chunk), epoch, a)
		hung.Reset(hangs)
	})
}

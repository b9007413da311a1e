package pieces

import (
	"context"
	"runtime"

	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/parallel"
)

// This file reads bytes of whole chunks, as they lie in memory.

// At most GOMAXPROCS chunks are loaded ahead of a reader, or more if they are small. Their decoded
// bytes are at most a part of the budget.
const (
	aheadShare = 16      // the part: one of so many
	aheadBytes = 4 << 20 // of small chunks
)

// Stacked returns bytes [off, off+n) of all chunks one behind the other, in the order of their
// numbers; see layout.Grid.Stacked. They must lie in them.
//
// A library such as libhdf5 asks for one chunk after the other. One processor would decode them,
// and not even that one while the library works. So what follows a reader that comes in order is
// loaded meanwhile.
func (a *Array) Stacked(ctx context.Context, off, n int64) (*Pieces, error) {
	l, few := a.few(a.gen.Grid.Stacked(off, n))
	if !few || a.draft.IsBusy() {
		room := n + int64(a.batchNeeds())*(needBytes+a.gen.Grid.ChunkBytes())
		return a.within(ctx, room, func() (*Pieces, error) { return a.gatheredStack(ctx, off, n) })
	}
	a.loadFollowing(off, n)
	return a.within(ctx, a.room(off, n, l, true), func() (*Pieces, error) {
		if a.draft.IsBusy() {
			return a.gatheredStack(ctx, off, n)
		}
		return a.slices(ctx, n, l)
	})
}

// loadFollowing begins to load the chunks that a request of bytes [off, off+n) announces, unless
// the requests have no memory to spare.
func (a *Array) loadFollowing(off, n int64) {
	first, end := a.following(off, n)
	room := (end - first) * (a.gen.Grid.ChunkBytes() + needBytes)
	if first >= end || !a.Requests.TryAcquire(room) {
		return
	}
	go func() {
		defer a.Requests.Release(room)
		epoch := a.draft.Epoch()
		parallel.Each(runtime.GOMAXPROCS(0), int(end-first), func(i int) {
			id := chunk.ID{Array: a.gen.ID, Chunk: first + int64(i)}
			// A request that needs it finds the error.
			_ = a.Cache.Load(context.Background(), id, a.gen.Grid.BytesOf(id.Chunk), epoch, a)
		})
	}()
}

// following returns the chunks to load behind those of a request of bytes [off, off+n). Each object
// of a remote store is a round trip, so that nothing is loaded before it is asked for.
func (a *Array) following(off, n int64) (first, end int64) {
	if a.remote {
		return 0, 0
	}
	size := max(1, a.gen.Grid.ChunkBytes())
	most := max(int64(runtime.GOMAXPROCS(0)), aheadBytes/size)
	most = min(most, a.Memory.Budget()/aheadShare/size)
	first, end = a.stack.follow(off, n, size, most)
	return first, min(end, a.gen.Grid.Chunks())
}

// gatheredStack is Stacked in one buffer.
func (a *Array) gatheredStack(ctx context.Context, off, n int64) (*Pieces, error) {
	buf, release := chunk.Buffer(n)
	runs, read := a.gen.Grid.Stacked(off, n), a.readStored
	if a.draft.IsBusy() {
		read = a.readRunsOver
	}
	if err := read(ctx, buf, off, runs); err != nil {
		release()
		return nil, err
	}
	return &Pieces{Bufs: [][]byte{buf}, release: release}, nil
}

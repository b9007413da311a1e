package pieces

import (
	"context"
	"runtime"

	"github.com/zarrfs/zarrfs/zarrcore/chunk"
)

// This file reads bytes of whole chunks, as they lie in memory.

// aheadShare: the chunks that a request loads besides its own take at most this part of the budget.
const aheadShare = 16

// aheadMost is how many chunks these are at most: a request waits for them.
const aheadMost = 7

// Stacked returns bytes [off, off+n) of all chunks one behind the other, in the order of their
// numbers; see layout.Grid.Stacked. They must lie in them.
//
// A library such as libhdf5 asks for one chunk after the other, so that one processor would decode
// them. So a request of a reader that comes in order loads some chunks more, in parallel with its
// own.
func (a *Array) Stacked(ctx context.Context, off, n int64) (*Pieces, error) {
	runs, needs, few := a.few(a.gen.Grid.Stacked(off, n))
	if !few || a.draft.IsBusy() {
		room := n + int64(a.batchNeeds())*(needBytes+a.gen.Grid.ChunkBytes())
		return a.within(ctx, room, func() (*Pieces, error) { return a.gatheredStack(ctx, off, n) })
	}
	next := a.following(off, n, len(needs))
	room := a.room(off, n, needs, true)
	for _, number := range next {
		room += a.pinRoom(number, a.gen.Grid.BytesOf(number))
	}
	return a.within(ctx, room, func() (*Pieces, error) {
		if a.draft.IsBusy() {
			return a.gatheredStack(ctx, off, n)
		}
		return a.slices(ctx, n, runs, needs, next)
	})
}

// following returns the chunks that a request of bytes [off, off+n) loads besides its own: as many
// as there are other processors, or fewer where memory is short. Each object of a remote store is a
// round trip, so that nothing is loaded before it is asked for.
func (a *Array) following(off, n int64, needs int) (next []int64) {
	size := a.gen.Grid.ChunkBytes()
	most := min(runtime.GOMAXPROCS(0)-1, aheadMost, a.pinnable()-needs)
	most = min(most, int(a.Memory.Budget()/aheadShare/max(1, size)))
	if most <= 0 || a.remote {
		return nil
	}
	first, end := a.stack.follow(off, n, size, int64(most))
	for number := first; number < min(end, a.gen.Grid.Chunks()); number++ {
		next = append(next, number)
	}
	return next
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

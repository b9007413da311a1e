package pieces

import (
	"context"

	"github.com/zarrfs/zarrfs/zarrcore/chunk"
)

// This file reads bytes of whole chunks, as they lie in memory.

// Stacked returns bytes [off, off+n) of all chunks one behind the other, in the order of their
// numbers; see layout.Grid.Stacked. They must lie in them.
func (a *Array) Stacked(ctx context.Context, off, n int64) (*Pieces, error) {
	runs, needs, few := a.few(a.gen.Grid.Stacked(off, n))
	room := n + int64(a.batchNeeds())*(needBytes+a.gen.Grid.ChunkBytes())
	if few {
		room = a.room(off, n, needs, few)
	}
	return a.within(ctx, room, func() (*Pieces, error) {
		if few && !a.draft.IsBusy() {
			return a.slices(ctx, n, runs, needs)
		}
		return a.gatheredStack(ctx, off, n)
	})
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

package pieces

import (
	"context"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
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
	if err := a.Requests.Acquire(ctx, room); err != nil {
		return nil, &catalog.Error{Op: "read", Path: a.gen.Path, Err: err}
	}
	var p *Pieces
	var err error
	if few && !a.draft.IsBusy() {
		p, err = a.slices(ctx, n, runs, needs)
	} else {
		p, err = a.gatheredStack(ctx, off, n)
	}
	if err != nil {
		a.Requests.Release(room)
		return nil, err
	}
	release := p.release
	p.release = func() {
		release()
		a.Requests.Release(room)
	}
	return p, nil
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

package pieces

import (
	"context"
	"iter"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
)

// This file reads bytes of a selection, which are gathered from all over the array.

// Selected returns bytes [off, off+n) of a selection, which lie in it. It decodes only chunks that
// hold one of them.
func (a *Array) Selected(ctx context.Context, s *layout.Selection, off, n int64) (*Pieces, error) {
	room := n + a.selectedRoom(s, off, n)
	if err := a.Requests.Acquire(ctx, room); err != nil {
		return nil, &catalog.Error{Op: "read", Path: a.gen.Path, Err: err}
	}
	buf, release := chunk.Buffer(n)
	err := a.readSelected(ctx, buf, s, off)
	if err != nil {
		release()
		a.Requests.Release(room)
		return nil, err
	}
	return &Pieces{Bufs: [][]byte{buf}, release: func() {
		release()
		a.Requests.Release(room)
	}}, nil
}

func (a *Array) readSelected(ctx context.Context, buf []byte, s *layout.Selection,
	off int64) error {
	runs := a.selectedRuns(s, off, int64(len(buf)))
	if a.draft.IsBusy() {
		return a.readRunsOver(ctx, buf, off, runs)
	}
	return a.readStored(ctx, buf, off, runs)
}

// selectedRuns yields the runs of bytes [off, off+n) of a selection. Their Off is that in the
// selection.
func (a *Array) selectedRuns(s *layout.Selection, off, n int64) iter.Seq[layout.Run] {
	return func(yield func(layout.Run) bool) {
		for span := range s.Spans(off, n) {
			for r := range a.gen.Grid.Runs(span.At, span.Len) {
				r.Off += span.Off - span.At
				if !yield(r) {
					return
				}
			}
		}
	}
}

// selectedRoom returns about how many bytes of memory it takes to gather bytes [off, off+n) of a
// selection beside the buffer for them.
func (a *Array) selectedRoom(s *layout.Selection, off, n int64) int64 {
	room, last := int64(batchRuns*runBytes), int64(-1)
	needs, runs := a.batchNeeds(), batchRuns
	for r := range a.selectedRuns(s, off, n) {
		if runs--; runs < 0 {
			break
		}
		if r.Chunk == last {
			continue
		}
		if needs--; needs < 0 {
			break
		}
		last = r.Chunk
		room += needBytes + a.gen.Grid.BytesOf(r.Chunk)
	}
	return room
}

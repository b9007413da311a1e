package pieces

import (
	"context"
	"iter"

	"github.com/zarrfs/zarrfs/layout"
)

// This file reads bytes of a selection, which are gathered from all over the array.

// Selected returns bytes [off, off+n) of a selection, which lie in it. It decodes only chunks that
// hold one of them.
func (a *Array) Selected(ctx context.Context, s *layout.Selection, off, n int64) (*Pieces, error) {
	return a.within(ctx, n+a.selectedRoom(s, off, n), func() (*Pieces, error) {
		return a.gathered(ctx, off, n, a.selectedRuns(s, off, n))
	})
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

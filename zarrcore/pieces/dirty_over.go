package pieces

import (
	"cmp"
	"context"
	"iter"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/catalog"
)

// This file reads what is dirty over what is stored.

// gapGrain is how many bytes are looked at at once for those that are dirty: every
// other byte may be.
const gapGrain = 16 << 10

// readOver reads runs of an array of which some bytes are dirty, or cut, into buf: those that are
// dirty first, then what lies between from what is stored. In this order nothing is missed while a
// flush turns the one into the other. The first byte of buf is at off.
func (a *Array) readOver(ctx context.Context, buf []byte, off int64,
	runs iter.Seq[layout.Run]) error {
	var failed error
	err := a.readStored(ctx, buf, off, func(yield func(layout.Run) bool) {
		var gaps []layout.Run
		for r := range runs {
			for part := range r.Parts(gapGrain) {
				if gaps, failed = a.readDirty(buf[part.Off-off:][:part.Len], part,
					gaps[:0]); failed != nil {
					return
				}
				for _, gap := range gaps {
					if !yield(gap) {
						return
					}
				}
			}
		}
	})
	return cmp.Or(failed, err)
}

// readDirty copies what is dirty of the bytes of a run to dst, and appends the
// stretches that are not to gaps.
func (a *Array) readDirty(dst []byte, r layout.Run, gaps []layout.Run) ([]layout.Run, error) {
	err := a.dirty.Read(r.Chunk, r.ChunkOff, dst, func(lo, hi int64) {
		gaps = append(gaps, layout.Run{Chunk: r.Chunk, ChunkOff: lo, Off: r.Off + lo - r.ChunkOff,
			Len: hi - lo})
	})
	if err != nil {
		return nil, &catalog.Error{Op: "read", Path: a.gen.Path, Err: err}
	}
	return gaps, nil
}

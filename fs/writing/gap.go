package writing

import (
	"bytes"
	"context"

	"github.com/zarrfs/zarrfs/fs/coherence"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
)

// Programs that copy a sparse file write nothing for its holes: they write behind the end of the
// copy, or set its size. A hole means zero bytes, but an array that gets longer has its fill value
// there. If the fill value is not zero bytes, the holes must be written.

// zeros is what is written to a hole at once.
var zeros [1 << 20]byte

// copied returns the end of what a program has copied to a view's file. sparse reports whether the
// bytes behind this end must become zero where nothing is written to them.
func (w viewFile) copied(ctx context.Context) (end int64, sparse bool) {
	arr := w.Live()
	if arr == nil || len(bytes.Trim(arr.Meta().Fill, "\x00")) == 0 {
		return 0, false
	}
	end, known := w.Size(w.v)
	if view.IsHeaded(w.v) {
		end = w.npy.come.End()
		known = end > 0
	}
	return end, known && wire.Caller(ctx).Copier
}

// fillGap makes bytes [from, to) of a view's file zero.
func (w viewFile) fillGap(n coherence.File, from, to int64) error {
	for at := from; at < to; at += int64(len(zeros)) {
		p := zeros[:min(int64(len(zeros)), to-at)]
		if _, err := w.Put(w.table.Ctx, n, w.v, p, at, AtOffset); err != nil {
			return err
		}
	}
	return nil
}

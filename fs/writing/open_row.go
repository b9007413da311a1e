package writing

import (
	"context"
	"errors"
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore"
)

// openRow is an array's last row while it is not whole, with the handles that have written into it.
// Each of these is told that the row is not whole, because the others may never go on.
type openRow struct {
	// mu is held while the row is dropped, so that no write begins meanwhile.
	mu sync.Mutex
	by map[*Handle]rowShare
}

// rowShare is what one handle has to do with the open row.
type rowShare struct {
	writes  int   // under way, which may reach the row
	written bool  // into the row that begins at
	at      int64 // in bytes of the array
}

// writeBegins notes that h is about to write. Until writeEnds, others do not drop the open row.
func (w *Array) writeBegins(h *Handle) {
	w.row.mu.Lock()
	defer w.row.mu.Unlock()
	w.rowEnds()
	s := w.row.by[h]
	s.writes++
	w.row.by[h] = s
}

// writeEnds notes that h has written n bytes at off of its file.
func (w *Array) writeEnds(h *Handle, off int64, n int) {
	w.row.mu.Lock()
	defer w.row.mu.Unlock()
	s := w.row.by[h]
	s.writes--
	w.row.by[h] = s
	at, size := w.rowEnds()
	off -= w.extent(h.View).Head
	if at < size && off < size && off+int64(n) > at {
		s.written, s.at = true, at
		w.row.by[h] = s
	}
}

// rowEnds returns where the open row begins, and the array's size. If both are the same, no row is
// open, and nobody has written into the next one. The caller holds row.mu.
func (w *Array) rowEnds() (at, size int64) {
	if arr := w.Live(); arr != nil && len(arr.Meta().Shape) > 0 { // without axes it cannot grow
		size = arr.Size()
		at = size - size%max(1, rowBytes(arr))
	}
	if at < size {
		return at, size
	}
	for h, s := range w.row.by {
		w.row.by[h] = rowShare{writes: s.writes}
	}
	return at, size
}

// closed forgets the handle h.
func (r *openRow) closed(h *Handle) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.by, h)
}

// writtenBy reports whether h has written into the row that begins at, and whether another handle
// has, or may be doing so. The caller holds mu.
func (r *openRow) writtenBy(h *Handle, at int64) (mine, others bool) {
	for by, s := range r.by {
		written := s.written && s.at == at
		if by == h {
			mine = written
		} else {
			others = others || written || s.writes > 0
		}
	}
	return mine, others
}

// endFlush ends a flush that has left the last row open, which err tells. If durable is set, the
// row is dropped, unless another handle may go on with it.
func (w *Array) endFlush(
	ctx context.Context, arr *zarrcore.Array, by *Handle, durable bool, err error,
) error {
	w.row.mu.Lock()
	defer w.row.mu.Unlock()
	at, size := w.rowEnds()
	mine, others := w.row.writtenBy(by, at)
	switch {
	case at == size: // it became whole meanwhile
		err = arr.Save(ctx, durable)
	case durable && !others:
		err = arr.Flush(ctx, true)
	}
	if mine {
		return err
	}
	return ExceptOpenRow(arr, err)
}

// ExceptOpenRow returns err, for a program that has not written into the open row. It returns nil
// if err says only that the row is not whole, and all before it is stored.
func ExceptOpenRow(arr *zarrcore.Array, err error) error {
	if errors.Is(err, zarrcore.ErrFraction) && !arr.WaitsForRow() {
		return nil
	}
	return err
}

// Store stores what was written to the array at path. If durable is set, it survives a power cut. A
// row that a program is still writing is left to that program.
func Store(ctx context.Context, h *zarrcore.Hierarchy, path string, durable bool) error {
	arr, err := h.OpenArray(ctx, path)
	if err != nil {
		return err
	}
	return ExceptOpenRow(arr, arr.Save(ctx, durable))
}

// isInRow reports whether h has written into the open row.
func (w *Array) isInRow(h *Handle) bool {
	w.row.mu.Lock()
	defer w.row.mu.Unlock()
	at, _ := w.rowEnds()
	mine, _ := w.row.writtenBy(h, at)
	return mine
}

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
	of *Array

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

// begins notes that h is about to write. Until it ends, others do not drop the open row.
func (r *openRow) begins(h *Handle) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bounds()
	s := r.by[h]
	s.writes++
	r.by[h] = s
}

// ends notes that h has written n bytes at off of its file.
func (r *openRow) ends(h *Handle, off int64, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.by[h]
	s.writes--
	r.by[h] = s
	at, size := r.bounds()
	off -= h.shown().extent().Head
	if at < size && off < size && off+int64(n) > at {
		s.written, s.at = true, at
		r.by[h] = s
	}
}

// bounds returns where the open row begins, and the array's size. If both are the same, no row is
// open, and nobody has written into the next one. The caller holds mu.
func (r *openRow) bounds() (at, size int64) {
	if arr := r.of.Live(); arr != nil && len(arr.Meta().Shape) > 0 { // without axes it cannot grow
		size = arr.Size()
		at = size - size%max(1, rowBytes(arr))
	}
	if at < size {
		return at, size
	}
	for h, s := range r.by {
		r.by[h] = rowShare{writes: s.writes}
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

// flush stores what was written to the array. A row that is not whole stays as long as another
// handle may go on with it. So may a duplicate of the descriptor, unless durable is set.
func (r *openRow) flush(
	ctx context.Context, arr *zarrcore.Array, by *Handle, durable bool,
) error {
	err := arr.Save(ctx, durable)
	if !errors.Is(err, zarrcore.ErrFraction) {
		return err
	}
	return r.endFlush(ctx, arr, by, durable, err)
}

// endFlush ends a flush that has left the row open, as err says. If durable is set, the row is
// dropped, unless another handle may go on with it.
func (r *openRow) endFlush(
	ctx context.Context, arr *zarrcore.Array, by *Handle, durable bool, err error,
) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, size := r.bounds()
	mine, others := r.writtenBy(by, at)
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

// has reports whether h has written into the open row.
func (r *openRow) has(h *Handle) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, _ := r.bounds()
	mine, _ := r.writtenBy(h, at)
	return mine
}

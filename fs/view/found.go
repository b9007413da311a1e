package view

import "github.com/zarrfs/zarrfs/zarrcore"

// Found is what a read has found: slices of memory that stays pinned until it is done with.
type Found struct {
	Slices [][]byte
	N      int              // bytes in all slices
	pinned *zarrcore.Pieces // nil: nothing to release
}

// Bytes gathers the slices in buf.
func (r *Found) Bytes(buf []byte) []byte {
	buf = buf[:0]
	for _, s := range r.Slices {
		buf = append(buf, s...)
	}
	return buf
}

// Done unpins the memory.
func (r *Found) Done() {
	if r.pinned != nil {
		r.pinned.Release()
		r.pinned = nil
	}
}

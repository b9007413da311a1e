package fs

import "github.com/zarrfs/zarrfs/zarrcore"

// found is what a read has found: slices of memory that stays pinned until it is done with.
type found struct {
	slices [][]byte
	n      int              // bytes in all slices
	pinned *zarrcore.Pieces // nil: nothing to release
}

// bytes gathers the slices in buf.
func (r *found) bytes(buf []byte) []byte {
	buf = buf[:0]
	for _, s := range r.slices {
		buf = append(buf, s...)
	}
	return buf
}

// done unpins the memory.
func (r *found) done() {
	if r.pinned != nil {
		r.pinned.Release()
		r.pinned = nil
	}
}

package view

import "github.com/zarrfs/zarrfs/zarrcore"

// Found is what a read has found: slices of memory that stays pinned until it is done with.
type Found struct {
	Slices [][]byte
	N      int              // bytes in all slices
	pinned *zarrcore.Pieces // nil: nothing to release
	others []*Found         // of which the slices are, too
}

// add appends what another read has found, which is done with when r is.
func (r *Found) add(more *Found) {
	r.Slices = append(r.Slices, more.Slices...)
	r.N += more.N
	r.others = append(r.others, more)
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
	for _, other := range r.others {
		other.Done()
	}
	r.others = nil
}

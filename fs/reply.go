package fs

import (
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/zarrcore"
)

// maxPieces is the most slices that go to the kernel in one writev. It takes 1024 (IOV_MAX). But if
// each slice is below a few KiB, one copy costs less than their bookkeeping.
const maxPieces = 512

// reply is the answer to a READ: slices of memory that stays pinned until the kernel has copied it.
// It implements fuse.ReadResult and, with Slices, go-fuse's way to writev.
type reply struct {
	slices [][]byte
	n      int
	pinned *zarrcore.Pieces // nil: nothing to release
}

// Slices returns the bytes to send.
func (r *reply) Slices() ([][]byte, fuse.Status) { return r.slices, fuse.OK }

// Size returns how many bytes Slices hold.
func (r *reply) Size() int { return r.n }

// Bytes gathers the slices in buf.
func (r *reply) Bytes(buf []byte) ([]byte, fuse.Status) {
	buf = buf[:0]
	for _, s := range r.slices {
		buf = append(buf, s...)
	}
	return buf, fuse.OK
}

// Done unpins the memory. go-fuse calls it once the kernel has the bytes, also when that failed.
func (r *reply) Done() {
	if r.pinned != nil {
		r.pinned.Release()
		r.pinned = nil
	}
}

// result returns what go-fuse gets: the reply itself, or a gathered copy in dest if there are too
// many slices. An empty reply is released here, because go-fuse never calls Done on it.
func (r *reply) result(dest []byte) fuse.ReadResult {
	if r.n > 0 && len(r.slices) <= maxPieces {
		return r
	}
	defer r.Done()
	b, _ := r.Bytes(dest[:0])
	return fuse.ReadResultData(b)
}

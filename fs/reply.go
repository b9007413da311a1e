package fs

import (
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/view"
)

// maxPieces is the most slices that go to the kernel in one writev. It takes 1024 (IOV_MAX). But if
// each slice is below a few KiB, one copy costs less than their bookkeeping.
const maxPieces = 512

// reply is the answer to a READ: what was found stays pinned until the kernel has copied it. It
// implements fuse.ReadResult and, with Slices, go-fuse's way to writev.
type reply struct{ of *view.Found }

// Slices returns the bytes to send.
func (r reply) Slices() ([][]byte, fuse.Status) { return r.of.Slices, fuse.OK }

// Size returns how many bytes Slices hold.
func (r reply) Size() int { return r.of.N }

// Bytes gathers the slices in buf.
func (r reply) Bytes(buf []byte) ([]byte, fuse.Status) { return r.of.Bytes(buf), fuse.OK }

// Done unpins the memory. go-fuse calls it once the kernel has the bytes, also when that failed.
func (r reply) Done() { r.of.Done() }

// answerOf returns what go-fuse gets: a reply, or a gathered copy in dest if there are too many
// slices. If nothing was found it is released here, because go-fuse never calls Done on it.
func answerOf(r *view.Found, dest []byte) fuse.ReadResult {
	if r.N > 0 && len(r.Slices) <= maxPieces {
		return reply{r}
	}
	defer r.Done()
	return fuse.ReadResultData(r.Bytes(dest[:0]))
}

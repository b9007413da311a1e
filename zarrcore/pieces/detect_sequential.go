package pieces

import (
	"slices"
	"sync"
)

// stackApart is by how many bytes requests of one reader may be out of order.
const stackApart = 2 << 20

// A stack is where readers of chunks one behind the other are. mu is innermost, except the lock of
// a semaphore.
type stack struct {
	mu      sync.Mutex
	readers [4]stackReader // the last one that has read is first
}

// A stackReader has read from byte began up to byte at, most of it.
type stackReader struct {
	began, at int64
	read      int64    // bytes
	recent    [8]int64 // where the last reads ended: what is read again does not count twice
	loaded    int64    // chunks of its way before this one were returned by follow
}

// stacked are the chunks of an array: how many there are, and of how many bytes each.
type stacked struct{ chunks, size int64 }

// follow notes a read of bytes [off, off+n) of those chunks. It returns which ones behind these
// should be loaded, too, without those returned before. They are at most that many, and at most
// half as many as the reader has passed in order. A reader that leaves out a part gets none. Nor
// are there any if take says that there is no room for so many.
func (s *stack) follow(
	of stacked, off, n, most int64, take func(chunks int64) bool,
) (first, end int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.readerAt(off)
	r.note(off, n, 2*(most+1)*of.size)
	end = (off+n-1)/of.size + 1
	first = max(end, r.loaded)
	if r.isInOrder() {
		end = min(end+min(most, (r.at-r.began)/of.size/2), of.chunks)
	}
	if end <= first || !take(end-first) {
		return first, first
	}
	r.loaded = end
	return first, end
}

// note notes a read. What counts of a reader are the last bytes of its way, that many.
func (r *stackReader) note(off, n, last int64) {
	r.at = max(r.at, off+n)
	if !slices.Contains(r.recent[:], off+n) {
		r.read = min(r.read+n, r.at-r.began)
		copy(r.recent[1:], r.recent[:])
		r.recent[0] = off + n
	}
	switch {
	case r.at-r.began <= last:
	case r.isInOrder():
		r.read -= r.at - last - r.began
		r.began = r.at - last
	default:
		r.began, r.read = off, n
	}
}

// isInOrder reports whether the reader has read nearly all of its way.
func (r *stackReader) isInOrder() bool { return r.read >= (r.at-r.began)/10*9 }

// readerAt returns the reader whose request may begin at byte off, or a new one. It is the first of
// the readers then.
func (s *stack) readerAt(off int64) *stackReader {
	i := 0
	for i < len(s.readers)-1 && !s.readers[i].mayAsk(off) {
		i++
	}
	r := s.readers[i]
	if !r.mayAsk(off) {
		r = stackReader{began: off, at: off}
	}
	copy(s.readers[1:i+1], s.readers[:i])
	s.readers[0] = r
	return &s.readers[0]
}

// mayAsk reports whether a request at byte off may be the next one of the reader.
func (r stackReader) mayAsk(off int64) bool {
	return r.read > 0 && r.at-stackApart <= off && off <= r.at+stackApart
}

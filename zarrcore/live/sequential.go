package live

// Sequential reading, in bytes.
const (
	// A reader that has read this much in order is taken for sequential.
	streamAfter = 128 << 10
	// streamAfter, where the sequence did not begin at the array's start: random reads can be
	// large.
	jumpedAfter = 1 << 20
	// A band is worth the wait for it once this part of it has been read in order.
	waitShare = 4096
)

// joinsSequence records a request and reports whether it belongs to a sequence
// that is worth a band: requests in file order, or a large one at the start.
func (r *Reader) joinsSequence(off, n int64) bool {
	if r.cursor == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == 0 || !r.a.of.Bands.Follows(off, r.next) {
		r.start, r.next, r.run = off, off, 0
	}
	r.run += n
	r.start = min(r.start, off) // the first two may have come in the wrong order
	r.next = max(r.next, off+n)
	enough := int64(streamAfter)
	if r.start > 0 {
		enough = jumpedAfter + 1 // more than a single request of the kernel
	}
	return min(r.run, r.next-r.start) >= max(enough, r.a.bands.BandBytes()/waitShare)
}

package band

import (
	"context"
	"errors"
	"time"
)

// gate is how many bytes must have been read in sequence before bands larger
// than that are prepared ahead of demand.
const gate = 4 << 20

// A Cursor is the position of one sequential reader. Its methods may be called
// concurrently.
type Cursor struct {
	set *Set

	// Guarded by set.mu.
	keep  int64 // bands below this one are no longer needed by this reader
	pos   int64 // end of the furthest read
	start int64 // where the sequence began
	reads int   // that are under way
	used  time.Time
}

// A Lease keeps the bytes of a read in memory.
type Lease struct {
	Bufs  [][]byte
	set   *Set
	bands []*band
}

// Cursor returns a cursor that stands at byte 0 and has not read anything. It
// keeps bands that others have passed for as long as it may need them: until
// it goes idle.
func (s *Set) Cursor() *Cursor {
	c := &Cursor{set: s, used: time.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.join(c)
	return c
}

// join makes c count among the set's readers.
func (s *Set) join(c *Cursor) {
	s.cursors[c] = struct{}{}
	if s.sweeper == nil {
		s.sweeper = time.AfterFunc(idleAfter, s.sweep)
	}
}

// Close takes the cursor out of the set.
func (c *Cursor) Close() {
	s := c.set
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave(c)
}

func (s *Set) leave(c *Cursor) {
	delete(s.cursors, c)
	s.release()
	if len(s.cursors) == 0 {
		s.freeSpare()
	}
}

// Read returns bytes [off, off+n), which must lie in the array, as slices of
// bands. An error of any chunk in a band that is touched is returned; the
// caller may then read the chunks one by one.
func (c *Cursor) Read(ctx context.Context, off, n int64) (*Lease, error) {
	s := c.set
	s.mu.Lock()
	if s.dropOutdated(s.of(off), s.of(off+n-1)) {
		s.mu.Unlock()
		return nil, errOutdated
	}
	c.advance(off, n)
	c.reads++
	defer c.end()
	l := &Lease{set: s}
	for idx := s.of(off); idx <= s.of(off+n-1); idx++ {
		l.bands = append(l.bands, s.lease(idx))
	}
	s.release()
	c.prefetch(off + n)
	s.kick()
	s.mu.Unlock()
	for _, b := range l.bands {
		if err := b.wait(ctx); err != nil {
			l.Release()
			return nil, err
		}
		l.Bufs = append(l.Bufs, b.bytesAt(off, off+n))
	}
	return l, nil
}

// end notes that a read has ended. The reader takes its pause from here on.
func (c *Cursor) end() {
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	c.reads--
	c.used = time.Now()
}

// retryAfter is how long a band that could not be decoded is left alone: its
// reader gets by chunk by chunk, and must not wait for the same failure again
// with each read.
const retryAfter = 10 * time.Second

// errOutdated says that a band is still being decoded for somebody who asked
// before the objects changed.
var errOutdated = errors.New("band is outdated")

// dropOutdated drops the bands first to last that were decoded before the objects changed, or
// failed some time ago. It reports whether one of them must not be dropped yet.
func (s *Set) dropOutdated(first, last int64) bool {
	for idx := first; idx <= last; idx++ {
		b := s.bands[idx]
		if b == nil || !b.stale && (b.err == nil || time.Since(b.failed) < retryAfter) {
			continue
		}
		if b.left > 0 && b.err == nil {
			return true
		}
		s.drop(b)
	}
	return false
}

// Release ends the use of the lease's bytes.
func (l *Lease) Release() {
	l.set.mu.Lock()
	defer l.set.mu.Unlock()
	for _, b := range l.bands {
		l.set.unlease(b)
	}
	l.bands = nil
}

// wait returns when all chunks of the band are decoded, or one has failed.
func (b *band) wait(ctx context.Context) error {
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// advance moves the cursor to a read of [off, off+n).
func (c *Cursor) advance(off, n int64) {
	s := c.set
	if _, in := s.cursors[c]; !in {
		s.join(c)
	}
	if !s.pool.Follows(off, c.pos) {
		c.start, c.pos = off, off
	}
	c.used = time.Now()
	c.pos = max(c.pos, off+n)
	c.keep = s.of(max(min(c.start, c.pos-1), c.pos-s.pool.apart))
}

// prefetch starts the bands ahead of byte end.
func (c *Cursor) prefetch(end int64) {
	s := c.set
	if s.size > gate && c.pos-c.start < gate {
		return
	}
	here := s.of(end - 1)
	for idx := here + 1; idx <= min(here+s.ahead, s.count-1); idx++ {
		if s.bands[idx] == nil && s.hasRoom() {
			s.lease(idx).leases--
		}
	}
}

// hasRoom reports whether one band more is within the budget. Of large bands there are no more than
// the readers use now or next, and these are reused in turn.
func (s *Set) hasRoom() bool {
	if s.size >= large && int64(len(s.bands)) > s.ahead*int64(max(1, len(s.cursors))) {
		return false
	}
	if s.scratch {
		return s.pool.Scratch.fits(int64(len(s.bands)+1), s.size)
	}
	return s.size <= s.pool.Memory.Budget()/int64(len(s.bands)+1)
}

// release drops the bands that no reader needs any more. If there are more than the budget allows,
// it drops those furthest ahead of the reader they are kept for.
func (s *Set) release() {
	for _, b := range s.bands {
		if b.leases == 0 && s.distance(b) < 0 {
			s.drop(b)
		}
	}
	for !s.hasRoom() {
		var far *band
		for _, b := range s.bands {
			if b.leases == 0 && s.distance(b) > s.ahead &&
				(far == nil || s.distance(b) > s.distance(far)) {
				far = b
			}
		}
		if far == nil {
			return
		}
		s.drop(far)
	}
}

// distance returns how many bands b lies ahead of the nearest reader behind
// it; negative if all have passed it.
func (s *Set) distance(b *band) int64 {
	d := int64(-1)
	for c := range s.cursors {
		if n := b.idx - c.keep; n >= 0 && (d < 0 || n < d) {
			d = n
		}
	}
	return d
}

// sweep runs while there are readers: those that pause no longer keep bands.
func (s *Set) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.cursors {
		if c.reads == 0 && time.Since(c.used) >= idleAfter {
			delete(s.cursors, c)
		}
	}
	s.release()
	if len(s.cursors) == 0 {
		s.freeSpare()
		s.sweeper = nil
		return
	}
	s.sweeper.Reset(idleAfter)
}

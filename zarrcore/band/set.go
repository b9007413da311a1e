package band

import (
	"context"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/layout"
)

// idleAfter is how long a reader may pause before it no longer keeps bands in
// memory.
const idleAfter = 2 * time.Second

// A Set is the bands of one array and the readers that go through them.
type Set struct {
	plan
	pool *Pool
	dec  Decoder
	fill []byte // one element

	mu      sync.Mutex
	bands   map[int64]*band
	cursors map[*Cursor]struct{}
	spare   []region // of bands that nobody needs any more
	working int      // goroutines in work
	sweeper *time.Timer
}

// A band is one stretch of the flat array. Fields are guarded by Set.mu,
// except that the workers write, and holders of a lease read, the bytes of mem.
type band struct {
	idx         int64
	off, end    int64 // bytes of the flat array
	first, last int64 // chunks first <= n < last
	next        int64 // the first chunk that no worker has taken
	left        int64 // chunks not decoded yet
	leases      int   // readers that use or await the bytes, and workers inside
	mem         region
	err         error
	failed      time.Time     // when err was set
	stale       bool          // decoded before the objects changed
	dead        bool          // out of Set.bands: freed with its last lease
	done        chan struct{} // closed when left is 0 or err is set
}

// NewSet returns the set of bands of an array whose missing chunks show fill,
// one element; nil where bands do not serve the array.
func NewSet(g *layout.Grid, fill []byte, dec Decoder, p *Pool) *Set {
	pl, ok := newPlan(g, p)
	if !ok || pl.exceeds && dec.IsPlain() {
		return nil
	}
	return &Set{plan: pl, pool: p, dec: dec, fill: fill, bands: map[int64]*band{},
		cursors: map[*Cursor]struct{}{}}
}

// IsScratch reports whether the set's bands live in scratch files.
func (s *Set) IsScratch() bool { return s.scratch }

// BandBytes returns the bytes of a full band.
func (s *Set) BandBytes() int64 { return s.size }

// Close frees all bands that are not in use; the others go with their leases.
// A reader that goes on gets new ones.
func (s *Set) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.cursors)
	s.forget()
	s.freeSpare()
}

// Invalidate makes the set forget what is decoded: the objects have changed.
// Reads under way still see the old bytes.
func (s *Set) Invalidate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
}

func (s *Set) forget() {
	for _, b := range s.bands {
		if b.leases == 0 {
			s.drop(b)
		} else {
			b.stale = true
		}
	}
}

// lease returns band idx with one lease more, and starts its decoding if it is
// new.
func (s *Set) lease(idx int64) *band {
	b := s.bands[idx]
	if b == nil {
		b = &band{idx: idx, done: make(chan struct{})}
		b.off, b.end, b.first, b.last = s.stretch(idx)
		b.next, b.left = b.first, b.last-b.first
		s.bands[idx] = b
	}
	b.leases++
	return b
}

// unlease gives a lease back, and frees the band if that was the last one and
// no reader is to come. The memory of a band that failed goes in any case.
func (s *Set) unlease(b *band) {
	b.leases--
	switch {
	case b.leases > 0:
	case b.dead:
		s.recycle(b)
	case b.stale, s.distance(b) < 0:
		s.drop(b)
	case b.err != nil:
		s.recycle(b)
	}
}

// drop takes b out of the set.
func (s *Set) drop(b *band) {
	delete(s.bands, b.idx)
	b.dead = true
	if b.leases == 0 {
		s.recycle(b)
	}
}

func (s *Set) recycle(b *band) {
	if b.mem.buf == nil {
		return
	}
	s.spare = append(s.spare, b.mem)
	b.mem = region{}
	if len(s.cursors) == 0 {
		s.freeSpare()
	}
}

func (s *Set) freeSpare() {
	for _, r := range s.spare {
		s.pool.freeRegion(r)
	}
	s.spare = nil
}

// kick starts workers while there are chunks that nobody has taken.
func (s *Set) kick() {
	todo := int64(0)
	for _, b := range s.bands {
		if b.err == nil {
			todo += b.last - b.next
		}
	}
	for ; s.working < s.atOnce() && todo > 0; todo-- { // those at work may be busy for long
		s.working++
		go s.work()
	}
}

// work decodes chunks until none is left to take.
func (s *Set) work() {
	for {
		b, first, last := s.take()
		if b == nil {
			return
		}
		s.pool.Do(func() { s.decode(b, first, last) })
	}
}

// take claims a batch of chunks of the first band that has any: one chunk, or
// about 128 KiB of small ones, which would otherwise cost more to hand out than to
// decode. It leases the band.
func (s *Set) take() (b *band, first, last int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.bands {
		if c.err == nil && c.next < c.last && (b == nil || c.isBefore(b)) {
			b = c
		}
	}
	if b == nil {
		s.working--
		return nil, 0, 0
	}
	first = b.next
	b.next = min(b.last, first+max(1, (128<<10)/s.grid.ChunkBytes()))
	b.leases++
	return b, first, b.next
}

// isBefore reports that c is to be decoded before b: what somebody waits for,
// then in file order.
func (c *band) isBefore(b *band) bool {
	if (c.leases > 0) != (b.leases > 0) {
		return c.leases > 0
	}
	return c.idx < b.idx
}

// decode decodes chunks [first, last) of b and scatters them.
func (s *Set) decode(b *band, first, last int64) {
	var err error
	for n := first; n < last && err == nil; n++ {
		err = s.decodeChunk(b, n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.left -= last - first; err != nil && b.err == nil {
		b.err, b.failed = err, time.Now()
		close(b.done)
	} else if b.left == 0 && b.err == nil {
		close(b.done)
	}
	s.unlease(b)
}

func (s *Set) decodeChunk(b *band, n int64) error {
	buf, err := s.memory(b)
	if err != nil {
		return err
	}
	box := s.grid.Box(n)
	size := s.grid.BytesOf(n)
	at := box.Off - b.off
	whole := box.RunLen == size // the chunk is one run, uncut: decode in place
	var dst []byte
	if whole {
		dst = buf[at : at+size : at+size]
	} else {
		var release func()
		if dst, release, err = s.pool.lend(size); err != nil {
			return err
		}
		defer release()
	}
	fill, err := s.dec.DecodeChunk(context.Background(), n, dst)
	if err != nil {
		return err
	}
	if fill {
		box.Fill(buf, b.off, s.fill)
		return nil
	}
	if !whole {
		box.Scatter(buf, b.off, dst)
	}
	s.pool.chunks.Add(1)
	s.pool.bytes.Add(box.Bytes())
	return nil
}

// memory returns the bytes of b, which it allocates for the first chunk.
func (s *Set) memory(b *band) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.mem.buf != nil {
		return b.mem.buf, nil
	}
	if n := len(s.spare); n > 0 {
		b.mem, s.spare = s.spare[n-1], s.spare[:n-1]
		return b.mem.buf, nil
	}
	var err error
	b.mem, err = s.pool.newRegion(s.size, s.scratch)
	return b.mem.buf, err
}

// bytesAt returns bytes [off, end) of the flat array as far as b holds them.
func (b *band) bytesAt(off, end int64) []byte {
	lo, hi := max(off, b.off), min(end, b.end)
	return b.mem.buf[lo-b.off : hi-b.off : hi-b.off]
}

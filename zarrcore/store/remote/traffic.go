package remote

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// counters are what store.Traffic is made of.
type counters struct {
	requests, retries, failed, bytes, inFlight atomic.Int64
	trip                                       shortest
	flow                                       flow
}

// Traffic returns the counters as they are now.
func (c *counters) Traffic() *store.Traffic {
	return &store.Traffic{
		Requests: c.requests.Load(), Retries: c.retries.Load(), Failed: c.failed.Load(),
		Bytes: c.bytes.Load(), InFlight: c.inFlight.Load(),
		RoundTrip: float64(c.trip.value()) / float64(time.Millisecond),
		Carries:   c.flow.carries(c.trip.value()),
	}
}

// flow is how quickly the second halves of bodies come. The first half may come in bursts, with a
// round trip between them, where the connection is new or has rested. The second one shows what the
// link has for it beside others.
type flow struct {
	mu    sync.Mutex
	rates [flowSamples]float64 // bytes in a second of the last bodies, a ring
	n     int                  // bodies in all
}

const (
	flowSamples = 8
	leastFlow   = 32 << 10               // bytes that say how quickly they come
	leastFlown  = 100 * time.Microsecond // in less time nothing comes over a network
)

// note notes that the last n bytes of a body came in a time.
func (f *flow) note(n int64, took time.Duration) {
	if n < leastFlow {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rates[f.n%flowSamples] = float64(n) / max(took, leastFlown).Seconds()
	f.n++
}

// carries returns how many bytes of a body come within a time; 0 if that is not known. It goes by
// the second quickest of the last bodies. The quickest one may have waited in memory of the kernel,
// and others may have waited for a processor.
func (f *flow) carries(d time.Duration) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n < 2 {
		return 0
	}
	rates := f.rates
	slices.Sort(rates[:])
	return int64(rates[flowSamples-2] * d.Seconds())
}

// tripWindow is for how long a short round trip counts.
const tripWindow = 30 * time.Second

// shortest is the least of the durations of the last one to two windows.
type shortest struct {
	mu        sync.Mutex
	now, last time.Duration // of this window and the one before; 0: none
	began     time.Time
}

// add takes a duration into account.
func (s *shortest) add(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.began) > tripWindow {
		s.last, s.now, s.began = s.now, 0, time.Now()
	}
	if s.now == 0 || d < s.now {
		s.now = d
	}
}

// value returns the shortest duration.
func (s *shortest) value() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != 0 && (s.now == 0 || s.last < s.now) {
		return s.last
	}
	return s.now
}

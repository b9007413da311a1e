package remote

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// counters are what store.Traffic is made of.
type counters struct {
	requests, retries, failed, bytes, inFlight atomic.Int64
	trip                                       shortest
}

// Traffic returns the counters as they are now.
func (c *counters) Traffic() *store.Traffic {
	return &store.Traffic{
		Requests: c.requests.Load(), Retries: c.retries.Load(), Failed: c.failed.Load(),
		Bytes: c.bytes.Load(), InFlight: c.inFlight.Load(),
		RoundTrip: float64(c.trip.value()) / float64(time.Millisecond),
	}
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

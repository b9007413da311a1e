package remote

import (
	"sync"
	"sync/atomic"
	"time"
)

// Stats count what a store has cost so far.
type Stats struct {
	Requests  int64         `json:"requests"`
	Retries   int64         `json:"retries"` // requests that took the place of failed ones
	Failed    int64         `json:"failed"`  // what could not be had in the end
	Bytes     int64         `json:"bytes"`   // of bodies received
	InFlight  int64         `json:"in_flight"`
	RoundTrip time.Duration `json:"round_trip_ns"` // the shortest of the last while; 0: unknown
}

// counters are what Stats is made of.
type counters struct {
	requests, retries, failed, bytes, inFlight atomic.Int64
	trip                                       shortest
}

// stats returns the counters as they are now.
func (c *counters) stats() Stats {
	return Stats{
		Requests: c.requests.Load(), Retries: c.retries.Load(), Failed: c.failed.Load(),
		Bytes: c.bytes.Load(), InFlight: c.inFlight.Load(), RoundTrip: c.trip.value(),
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

package ahead

import "time"

// A link is what was measured of the way to the server. Its values count for one or two windows.
type link struct {
	delay, before time.Duration // of the quickest answer in this window, and in the one before
	rate, earlier float64       // bytes in a second, the most in this window and in the one before
	window        time.Time     // when this one began

	since time.Time // when the bytes below began to come
	bytes int64
}

const (
	// windowFor is how long a measurement counts at least.
	windowFor = 10 * time.Second
	// leastRated is how long a rate is measured at least.
	leastRated = 50 * time.Millisecond
)

// idle notes that so many requests are under way. A rate is that of a busy link.
func (l *link) idle(flying int, now time.Time) {
	if flying == 1 {
		l.since, l.bytes = now, 0
	}
}

// note notes an answer of n bytes.
func (l *link) note(began, ended time.Time, n int64) {
	if ended.Sub(l.window) > windowFor {
		l.before, l.delay, l.earlier, l.rate, l.window = l.delay, 0, l.rate, 0, ended
	}
	if took := ended.Sub(began); l.delay == 0 || took < l.delay {
		l.delay = took
	}
	l.bytes += n
	if took := ended.Sub(l.since); took >= max(leastRated, l.delay) {
		l.rate = max(l.rate, float64(l.bytes)/took.Seconds())
		l.since, l.bytes = ended, 0
	}
}

// product is how many bytes the link carries in a round trip.
func (l *link) product() int64 {
	delay := l.delay
	if l.before > 0 {
		delay = min(delay, l.before)
	}
	return int64(max(l.rate, l.earlier) * delay.Seconds())
}

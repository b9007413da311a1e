package store

import (
	"math"
	"time"
)

// Freshness says how old what is known of a remote store may be before it is asked for again. The
// zero Freshness is the default.
type Freshness struct {
	When FreshKind
	TTL  time.Duration // 0: DefaultTTL; negative: nothing is known for any time
}

// FreshKind says which requests ask again.
type FreshKind uint8

// The kinds of freshness.
const (
	FreshOpen  FreshKind = iota // an open asks for the array's documents; all else is known for TTL
	FreshTTL                    // all is known for TTL
	FreshNever                  // what is known once stays known
)

const (
	// DefaultTTL is how long what was found in a remote store is known.
	DefaultTTL = time.Minute
	// mostMissed is how long it is known at most that there is no object of a key: a new one is
	// looked for soon.
	mostMissed = 5 * time.Second
	// forever is longer than any program runs.
	forever = time.Duration(math.MaxInt64)
)

// Found returns how old a listing, an object or a document may be.
func (f Freshness) Found() time.Duration {
	switch {
	case f.When == FreshNever:
		return forever
	case f.TTL == 0:
		return DefaultTTL
	}
	return max(0, f.TTL)
}

// Opened returns how old a document may be when its array is opened.
func (f Freshness) Opened() time.Duration {
	if f.When == FreshOpen {
		return 0
	}
	return f.Found()
}

// Missed returns how long it is known that there is no object of a key.
func (f Freshness) Missed() time.Duration {
	if f.When == FreshNever {
		return forever
	}
	return min(f.Found(), mostMissed)
}

// Of returns the freshness that a store needs: what never changes is not asked for again.
func (f Freshness) Of(t Traits) Freshness {
	if t.Immutable {
		f.When = FreshNever
	}
	return f
}

package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// freshFlags say how old what is known of a remote store may be.
type freshFlags struct {
	when string
	ttl  time.Duration
}

// freshKinds are the values of --fresh.
var freshKinds = map[string]store.FreshKind{
	"open": store.FreshOpen, "ttl": store.FreshTTL, "never": store.FreshNever,
}

func addFreshFlags(flags *pflag.FlagSet) *freshFlags {
	f := new(freshFlags)
	flags.StringVar(&f.when, "fresh", "open", "when to ask a remote store for changes: when an "+
		"array is opened, for its documents (open); after --meta-ttl (ttl); or never")
	flags.DurationVar(&f.ttl, "meta-ttl", store.DefaultTTL,
		"how long metadata of a remote store is used before the store is asked again, such as 10s "+
			"or 5m; 0: ask each time")
	return f
}

// freshness returns what the flags say.
func (f *freshFlags) freshness() (store.Freshness, error) {
	kind, ok := freshKinds[f.when]
	switch {
	case !ok:
		return store.Freshness{}, usageError{
			fmt.Errorf("--fresh %s: expected open, ttl or never", f.when)}
	case f.ttl < 0:
		return store.Freshness{}, usageError{
			fmt.Errorf("--meta-ttl %v: expected a time, such as 10s, or 0", f.ttl)}
	case f.ttl == 0:
		return store.Freshness{When: kind, TTL: -1}, nil
	}
	return store.Freshness{When: kind, TTL: f.ttl}, nil
}

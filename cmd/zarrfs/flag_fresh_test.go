package main

import (
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// TestFreshFlags: what --fresh and --meta-ttl mean, also as mount options.
func TestFreshFlags(t *testing.T) {
	for args, want := range map[string]store.Freshness{
		"":                     {TTL: time.Minute},
		"fresh=ttl":            {When: store.FreshTTL, TTL: time.Minute},
		"fresh=never":          {When: store.FreshNever, TTL: time.Minute},
		"meta_ttl=5m":          {TTL: 5 * time.Minute},
		"fresh=ttl,meta-ttl=0": {When: store.FreshTTL, TTL: -1},
	} {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		f := addFreshFlags(flags)
		if err := applyOptions(flags, []string{args}); err != nil {
			t.Fatal(err)
		}
		if got, err := f.freshness(); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", args, got, err, want)
		}
	}
	for _, f := range []*freshFlags{{when: "always"}, {when: "open", ttl: -time.Second}} {
		if got, err := f.freshness(); err == nil {
			t.Errorf("%+v is %+v, want an error", f, got)
		}
	}
}

package pagecache

import (
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

func TestKeepListing(t *testing.T) {
	const keep = fuse.FOPEN_CACHE_DIR | fuse.FOPEN_KEEP_CACHE
	start := time.Unix(1e9, 0)
	old := Stamp{"1", start.Add(-time.Hour)}
	l := &Listing{}
	for i, tc := range []struct {
		s     Stamp
		after time.Duration
		whole bool // a listing came to its end before this open
		want  uint32
	}{
		{old, 0, false, keep},                                          // nothing is kept yet: fill
		{old, time.Second, true, keep},                                 // use it
		{Stamp{"2", start.Add(-time.Hour)}, 2 * time.Second, false, 0}, // changed: drop
		{Stamp{"2", start.Add(-time.Hour)}, 3 * time.Second, false, keep},
		{Stamp{"2", start.Add(-time.Hour)}, 4 * time.Second, false, 0}, // never read to its end
		{old, 5 * time.Second, false, keep},
		{old, 5*time.Second + 2*keepFor, true, 0},                           // too old
		{Stamp{"3", start.Add(6 * time.Minute)}, 6 * time.Minute, false, 0}, // changed just now
		// the store does not know when
		{Stamp{"4", time.Time{}}, 7 * time.Minute, false, 0},
	} {
		if tc.whole {
			l.Ended(10, 0, true)
		}
		if got := l.Opened(tc.s, start.Add(tc.after)); got != tc.want {
			t.Errorf("open %d: flags %#x, want %#x", i, got, tc.want)
		}
	}
}

// TestDetailedListing: where programs ask for the attributes of what they list, the kernel gets
// these with the listing. That is cheaper than a look at each name of a kept listing.
func TestDetailedListing(t *testing.T) {
	const keep = fuse.FOPEN_CACHE_DIR | fuse.FOPEN_KEEP_CACHE
	now := time.Unix(1e9, 0)
	old := Stamp{"1", now.Add(-time.Hour)}
	l := &Listing{}
	check := func(step string, want uint32) {
		t.Helper()
		if got := l.Opened(old, now); got != want {
			t.Errorf("%s: flags %#x, want %#x", step, got, want)
		}
	}
	check("at first", keep)
	l.Ended(1000, 1000, true)
	check("after ls -l", 0)
	l.Ended(1000, 1000, true)
	check("after another", 0)
	l.Ended(1000, Briefly, true)
	check("after ls", keep)
	l.Ended(1000, Briefly, true)
	check("after another ls", keep)
	l.looked.Add(900)
	check("after ls -l of the kept listing", 0)
}

package storetest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// A driver behind a link keeps the contract of reading, with all abilities, with none, and without
// listings.
func TestLinkConformance(t *testing.T) {
	for name, o := range map[string]storetest.LinkOptions{
		"Able": {}, "Plain": {Plain: true}, "NoList": {NoList: true},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T, objects map[string][]byte) store.Driver {
				_, d := storetest.Behind(filled(t, objects), o)
				return d
			})
		})
	}
}

// A link counts each request once, and each takes its delay: what comes with an object takes none.
func TestLinkCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link, d := storetest.Behind(filled(t, map[string][]byte{"a": make([]byte, 1000),
			"d/b": nil}),
			storetest.LinkOptions{Delay: 50 * time.Millisecond})
		st, began := store.New(d, ""), time.Now()
		o, err := st.OpenFor(t.Context(), "a", store.Want{Off: 100, N: 100})
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 50)
		o.ReadAt(p, 120) // in memory
		o.ReadAt(p, 500)
		store.ReadRanges(t.Context(), o, []store.Span{{Off: 0, P: p[:10]}, {Off: 300, P: p[10:20]},
			{Off: 310, P: p[20:]}})
		st.Stat(t.Context(), "none")
		info := o.Info()
		st.GetIf(t.Context(), "a", info.Version, 5000)
		st.List(t.Context(), "", func(store.Entry) error { return nil })
		want := storetest.Counts{
			Requests: 7, Gets: 5, Unchanged: 1, Missing: 1, Stats: 1, Pages: 1, Bytes: 200,
			Flying: 2,
		}
		if got := link.Take(); got != want {
			t.Errorf("counted %+v, want %+v", got, want)
		}
		if trips := time.Since(began) / (50 * time.Millisecond); trips != 6 {
			t.Errorf("%d round trips, want 6", trips)
		}
	})
}

package zarrcore_test

import (
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// TestRequestsOfLines: strings are read in order as quickly as the link brings them, many objects
// at once, each once. To count them is the same. What a first read brings is what it needs.
func TestRequestsOfLines(t *testing.T) {
	for name, w := range map[string]words{
		"chunks": {shape: []int64{200, 100}, chunk: []int64{1, 100}},
		"shards": {shape: []int64{200, 100}, chunk: []int64{10, 100}, inner: []int64{1, 100}},
	} {
		t.Run(name, func(t *testing.T) {
			d := memstore.New()
			put(t, d, "zarr.json", []byte(`{"zarr_format": 3, "node_type": "group"}`))
			w.write(t, d, "a", rand.New(rand.NewPCG(5, 5)))
			needed, want := storedBytes(t, d), w.lines(t)
			afar(t, d, storetest.LinkOptions{Rate: linkRate}, zarrcore.Options{}, func(f *far) {
				objects := int(200 / w.chunk[0])
				open := func() *zarrcore.VlenArray {
					v, err := f.h.OpenVlen(f.Context(), "a")
					if err != nil {
						f.Fatal(err)
					}
					f.link.Take()
					f.began = time.Now()
					return v
				}
				v := open()
				got := make([]byte, len(want))
				for n := 0; n < len(got); {
					k, err := v.Lines().ReadAt(f.Context(), got[n:min(n+4096, len(got))], int64(n))
					if n += k; err != nil && err != io.EOF {
						f.Fatal(err)
					}
				}
				if string(got) != string(want) {
					f.Error("wrong lines")
				}
				took, c := time.Since(f.began), f.link.Take()
				if trips := float64(took) / float64(trip); trips > 12 || c.Requests != objects {
					f.Errorf("%d requests in %.1f round trips for %d objects, want one each "+
						"in 12: %+v", c.Requests, trips, objects, c)
				}
				if share := float64(c.Bytes) / float64(needed); share > 1.02 {
					f.Errorf("%.3f of the bytes that are needed came: %+v", share, c)
				}
			})
		})
	}
}

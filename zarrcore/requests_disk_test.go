package zarrcore_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/diskcache"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// TestRequestsWithDiskCache: an earlier mount has read an array. A scan of it takes no data, only
// answers that nothing has changed. With FreshNever it takes no request.
func TestRequestsWithDiskCache(t *testing.T) {
	for name, fx := range farArrays {
		t.Run(name, func(t *testing.T) {
			d, dir := memstore.New(), t.TempDir()
			put(t, d, "zarr.json", []byte(`{"zarr_format": 3, "node_type": "group"}`))
			fx.path = "a"
			fx.write(t, d, rand.New(rand.NewPCG(7, 7)))
			cold := scanWithDiskCache(t, d, dir, store.FreshOpen, fx.data)
			if cold.Bytes < int64(len(fx.data))/8 {
				t.Errorf("cold: %+v", cold)
			}
			warm := scanWithDiskCache(t, d, dir, store.FreshOpen, fx.data)
			if warm.Bytes > 0 || warm.Gets != warm.Unchanged+warm.Missing ||
				warm.Requests > cold.Requests {
				t.Errorf("warm: %+v, cold: %+v", warm, cold)
			}
			if never := scanWithDiskCache(t, d, dir, store.FreshNever,
				fx.data); never.Requests > 0 {
				t.Errorf("never: %+v", never)
			}
		})
	}
}

// scanWithDiskCache opens and reads the array a in order, and returns what was asked for.
func scanWithDiskCache(
	t *testing.T, d store.Driver, dir string, kind store.FreshKind, want []byte,
) (c storetest.Counts) {
	synctest.Test(t, func(t *testing.T) {
		link, behind := storetest.Behind(d, storetest.LinkOptions{Delay: trip})
		fresh := store.Freshness{When: kind}
		cache, err := diskcache.Open(context.Background(), diskcache.Options{
			Dir: dir, Size: 64 << 20, Identity: "far", Fresh: fresh,
		}, func(context.Context) (store.Driver, error) { return behind, nil })
		if err != nil {
			t.Fatal(err)
		}
		defer cache.Close()
		opt := zarrcore.Options{Fresh: fresh, ScratchDir: t.TempDir()}
		h, err := zarrcore.Open(context.Background(), store.New(cache, "far"), &opt)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		f := &far{T: t, h: h, link: link}
		f.scan(openArray(t, h, "a"), want, 128<<10)
		c = link.Take()
	})
	return c
}

package zarrcore_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// linkRate is that of a link of 500 Mbit/s, in bytes a second.
const linkRate = 500e6 / 8

// storedBytes is how many bytes the objects of an array have.
func storedBytes(t *testing.T, d *memstore.Driver) (n int64) {
	err := store.New(d, "").Walk(t.Context(), "a", func(key string, info store.Info) error {
		if store.Base(key) != "zarr.json" {
			n += info.Size
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestRequestsOfScan: a program that reads an array in order gets it as fast as the link carries
// it. Many requests are under way, and hardly a byte comes in vain.
func TestRequestsOfScan(t *testing.T) {
	for _, tt := range []struct {
		name  string
		array fixture
		most  time.Duration // 0: what the link takes, a tenth more, and 10 round trips
	}{
		{"objects of a megabyte", fixture{shape: []int64{32, 1 << 20}, chunk: []int64{1, 1 << 20},
			compressor: "zstd"}, 0},
		{"blosc", fixture{shape: []int64{32, 1 << 20}, chunk: []int64{1, 1 << 20},
			compressor: "blosc"}, 0},
		{"4,096 objects of 7 KB", fixture{shape: []int64{4096, 7168}, chunk: []int64{1, 7168}},
			3500 * time.Millisecond},
		{"columns of small objects", fixture{shape: []int64{1024, 32768}, chunk: []int64{64, 512}},
			0},
		{"shards", fixture{shape: []int64{32, 1 << 20}, chunk: []int64{8, 1 << 20},
			inner: []int64{1, 1 << 18}, compressor: "zstd"}, 0},
		{"shards of small chunks", fixture{shape: []int64{1024, 32768}, chunk: []int64{128, 4096},
			inner: []int64{16, 1024}}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, fx := memstore.New(), tt.array
			fx.path, fx.format, fx.separator = "a", 3, "/"
			put(t, d, "zarr.json", []byte(`{"zarr_format": 3, "node_type": "group"}`))
			fx.write(t, d, rand.New(rand.NewPCG(7, 7)))
			needed := storedBytes(t, d)
			o := storetest.LinkOptions{Rate: linkRate}
			afar(t, d, o, zarrcore.Options{CacheSize: 256 << 20}, func(f *far) {
				a := openArray(f.T, f.h, "a")
				f.link.Take()
				f.began = time.Now()
				f.scan(a, fx.data, 128<<10)
				took, c := time.Since(f.began), f.link.Take()
				least := time.Duration(float64(needed) / linkRate * float64(time.Second))
				most := tt.most
				if most == 0 {
					most = least*11/10 + 10*trip
				}
				if took > most {
					f.Errorf("%v, want at most %v; the link takes %v: %+v", took, most, least, c)
				}
				if share := float64(c.Bytes) / float64(needed); share > 1.02 {
					f.Errorf("%.3f of the bytes that are needed came: %+v", share, c)
				}
			})
		})
	}
}

// scan reads an array in order and compares it.
func (f *far) scan(a *zarrcore.Array, want []byte, step int64) {
	f.Helper()
	r := a.NewReader()
	defer r.Close()
	for off := int64(0); off < a.Size(); off += step {
		n := min(step, a.Size()-off)
		p, err := r.Read(f.Context(), off, n)
		if err != nil {
			f.Fatal(err)
		}
		if !bytes.Equal(bytes.Join(p.Bufs, nil), want[off:off+n]) {
			f.Fatalf("wrong bytes at %d", off)
		}
		p.Release()
	}
}

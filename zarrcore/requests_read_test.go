package zarrcore_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// This file counts the requests of reads; see requests_test.go.

// The arrays of these tests: 4 MiB, in 16 objects.
var farArrays = map[string]fixture{
	"plain": {format: 3, shape: []int64{4096, 1024}, chunk: []int64{256, 1024}, separator: "/"},
	"zstd": {format: 3, shape: []int64{4096, 1024}, chunk: []int64{256, 1024}, separator: "/",
		compressor: "zstd"},
	"v2": {format: 2, shape: []int64{4096, 1024}, chunk: []int64{256, 1024}, separator: ".",
		compressor: "gzip"},
	"shards": {format: 3, shape: []int64{4096, 1024}, chunk: []int64{256, 1024}, inner: []int64{16,
		1024},
		separator: "/", compressor: "zstd"},
	"index at start": {format: 3, shape: []int64{4096, 1024}, chunk: []int64{256, 1024},
		inner:     []int64{16, 1024},
		separator: "/", indexAtStart: true},
}

// afarArray opens an array of farArrays behind a network. missing is the share of it that is not
// stored.
func afarArray(
	t *testing.T, name string, o storetest.LinkOptions, missing float64,
	run func(f *far, a *zarrcore.Array, want []byte, d *memstore.Driver),
) {
	d, fx := memstore.New(), farArrays[name]
	put(t, d, "zarr.json", []byte(`{"zarr_format": 3, "node_type": "group"}`))
	fx.path, fx.missing = "a", missing
	fx.write(t, d, rand.New(rand.NewPCG(7, 7)))
	afar(t, d, o, zarrcore.Options{}, func(f *far) {
		a := openArray(f.T, f.h, "a")
		f.link.Take()
		f.began = time.Now()
		run(f, a, fx.data, d)
	})
}

// TestRequestsOfFirstRead: after an open a read of 4 KiB takes one request, and two at the first
// touch of a shard. What is plain brings no more than is needed. A read again takes none.
func TestRequestsOfFirstRead(t *testing.T) {
	for name := range farArrays {
		t.Run(name, func(t *testing.T) {
			afarArray(t, name, storetest.LinkOptions{}, 0, func(f *far, a *zarrcore.Array,
				want []byte, _ *memstore.Driver) {
				read := func(what string, off int64, requests int) storetest.Counts {
					if got := readAt(f.T, a, off, 4096); !bytes.Equal(got, want[off:off+4096]) {
						f.Errorf("%s: wrong bytes", what)
					}
					return f.wants(what, requests, requests)
				}
				first := 1
				if farArrays[name].inner != nil {
					first = 2
				}
				c := read("first read", 1<<20, first)
				if name == "plain" && c.Bytes > 8192 {
					f.Errorf("first read: %d bytes came, 4096 are needed", c.Bytes)
				}
				read("read again", 1<<20, 0)
				read("read elsewhere in the object", 1<<20+200<<10, map[bool]int{true: 0,
					false: 1}[name == "zstd" || name == "v2"])
				read("read of another object", 2<<20, first)
			})
		})
	}
}

// TestRequestsAtRandom: reads at random fetch nothing but what they touch.
func TestRequestsAtRandom(t *testing.T) {
	for name, per := range map[string]int{"plain": 1, "zstd": 1, "shards": 2} {
		t.Run(name, func(t *testing.T) {
			afarArray(t, name, storetest.LinkOptions{}, 0, func(f *far, a *zarrcore.Array,
				want []byte, _ *memstore.Driver) {
				r := a.NewReader()
				defer r.Close()
				for i, object := range rand.New(rand.NewPCG(1, 2)).Perm(16) {
					off := int64(object)<<18 + 8192
					p, err := r.Read(f.Context(), off, 4096)
					if err != nil || !bytes.Equal(bytes.Join(p.Bufs, nil), want[off:off+4096]) {
						f.Fatalf("read at %d: %v, or wrong bytes", off, err)
					}
					p.Release()
					f.wants(fmt.Sprintf("read %d", i), per, per)
				}
			})
		})
	}
}

// TestRequestsAtOnce: the chunks of one read are fetched in one round trip, and those of shards in
// two.
func TestRequestsAtOnce(t *testing.T) {
	for name, trips := range map[string]int{"plain": 1, "zstd": 1, "shards": 2} {
		t.Run(name, func(t *testing.T) {
			afarArray(t, name, storetest.LinkOptions{}, 0, func(f *far, a *zarrcore.Array,
				want []byte, _ *memstore.Driver) {
				if got := readAt(f.T, a, 100, 1<<20); !bytes.Equal(got, want[100:100+1<<20]) {
					f.Error("wrong bytes")
				}
				if took := time.Since(f.began); took > time.Duration(trips)*trip {
					f.Errorf("%v, want %d round trips", took, trips)
				}
			})
		})
	}
}

// TestRequestsForMissingChunks: what is not stored takes one request for each object, and none when
// it is read again. What a shard lacks takes none but that for its index.
func TestRequestsForMissingChunks(t *testing.T) {
	for _, tt := range []struct {
		name    string
		missing float64
	}{{"zstd", 1.1}, {"shards", 1.1}, {"shards", 0.5}} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			afarArray(t, tt.name, storetest.LinkOptions{}, tt.missing, func(f *far,
				a *zarrcore.Array, want []byte, d *memstore.Driver) {
				requests := 16
				for chunk := range 256 {
					if first := want[chunk<<14:][:100]; !bytes.Equal(first, bytes.Repeat([]byte{42},
						100)) && tt.missing < 1 {
						requests++
					}
				}
				for again := range 2 {
					for object := range int64(16) {
						for inner := range int64(16) {
							off := object<<18 + inner<<14
							if got := readAt(f.T, a, off, 4096); !bytes.Equal(got,
								want[off:off+4096]) {
								f.Error("wrong bytes")
							}
						}
					}
					if c := f.link.Take(); c.Requests > requests*(1-again) {
						f.Errorf("%+v, want %d requests", c, requests*(1-again))
					}
				}
			})
		})
	}
}

// TestShardReplaced: a shard that another program has replaced is read as it is now, though its
// index was known.
func TestShardReplaced(t *testing.T) {
	afarArray(t, "shards", storetest.LinkOptions{}, 0, func(f *far, a *zarrcore.Array, want []byte,
		d *memstore.Driver) {
		readAt(f.T, a, 0, 4096)
		fx := farArrays["shards"]
		fx.path = "a"
		fx.write(f.T, d, rand.New(rand.NewPCG(8, 8)))
		off := int64(16 << 10)
		if got := readAt(f.T, a, off, 4096); !bytes.Equal(got, fx.data[off:off+4096]) {
			f.Error("a chunk of a shard that was replaced is not the new one")
		}
	})
}

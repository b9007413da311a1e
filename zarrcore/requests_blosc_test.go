package zarrcore_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// This file counts the requests for parts of blosc buffers; see requests_test.go.

// bloscFixture is an array of eight objects. Each is a blosc buffer of 16 blocks of 128 KiB, in
// order or as threads leave them.
func bloscFixture(compressor string) fixture {
	return fixture{path: "a", format: 2, shape: []int64{16, 1 << 20}, chunk: []int64{2, 1 << 20},
		separator: ".", compressor: compressor}
}

// TestRequestsOfBlocks: a block of a blosc buffer takes two requests in the first object that is
// read in part: for its head, and for the block. In another object it takes one, for all up to
// where the block probably ends. That is done where it takes no longer than a round trip. In an
// object whose blocks are known, any other block is one request for nothing else.
func TestRequestsOfBlocks(t *testing.T) {
	const chunk, block = 2 << 20, 128 << 10
	for _, compressor := range []string{"blosc", "threads"} {
		for _, link := range []struct {
			rate    int64
			another int // requests for a block of an object that was not read yet
		}{{1 << 40, 1}, {1 << 20, 2}, {0, 2}} {
			t.Run(fmt.Sprintf("%s, %d bytes a second", compressor, link.rate), func(t *testing.T) {
				d, fx := memstore.New(), bloscFixture(compressor)
				put(t, d, ".zgroup", []byte(`{"zarr_format": 2}`))
				fx.write(t, d, rand.New(rand.NewPCG(7, 7)))
				o := storetest.LinkOptions{Rate: link.rate}
				afar(t, d, o, zarrcore.Options{}, func(f *far) {
					a := openArray(f.T, f.h, "a")
					read := func(object, at int64, requests int) storetest.Counts {
						f.Helper()
						f.link.Take()
						off := object*chunk + at*block + 4096
						got := readAt(f.T, a, off, 4096)
						if !bytes.Equal(got, fx.data[off:off+4096]) {
							f.Errorf("object %d, block %d: wrong bytes", object, at)
						}
						c := f.link.Take()
						if c.Requests != requests {
							f.Errorf("object %d, block %d: %d requests, want %d", object, at,
								c.Requests, requests)
						}
						return c
					}
					read(0, 7, 2)
					for object := range int64(7) {
						read(object+1, 2*object+1, link.another)
					}
					for _, at := range []int64{2, 14} {
						if c := read(3, at, 1); c.Bytes > block {
							f.Errorf("block %d: %d bytes came, which is more than a block", at,
								c.Bytes)
						}
					}
				})
			})
		}
	}
}

// TestBlocksReplaced: an object that another program has replaced is read as it is now, though it
// was known where its blocks were.
func TestBlocksReplaced(t *testing.T) {
	d, fx := memstore.New(), bloscFixture("blosc")
	put(t, d, ".zgroup", []byte(`{"zarr_format": 2}`))
	fx.write(t, d, rand.New(rand.NewPCG(7, 7)))
	afar(t, d, storetest.LinkOptions{Rate: 1 << 40}, zarrcore.Options{}, func(f *far) {
		a := openArray(f.T, f.h, "a")
		readAt(f.T, a, 0, 4096)
		fx.compressor = "threads"
		fx.write(f.T, d, rand.New(rand.NewPCG(8, 8)))
		for _, off := range []int64{1 << 20, 3 << 20, 4<<20 - 4096} {
			if got := readAt(f.T, a, off, 4096); !bytes.Equal(got, fx.data[off:off+4096]) {
				f.Errorf("bytes at %d are not the new ones", off)
			}
		}
	})
}

package zarrcore_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
)

// TestRandomWritesEncodeOnce: a program that writes here and there, more than may be dirty in
// memory, has each chunk encoded once.
func TestRandomWritesEncodeOnce(t *testing.T) {
	const chunks, size, block = 4096, 16 << 10, 4 << 10
	d := group(t)
	f := &fixture{element: elements[0], format: 3, shape: []int64{chunks, size},
		chunk: []int64{1, size}, separator: "/", compressor: "zstd"}
	put(t, d, "a/zarr.json", []byte(f.documents()["zarr.json"]))
	h := open(t, d, &zarrcore.Options{DirtySize: 1 << 20, ScratchDir: t.TempDir()})
	a := openArray(t, h, "a")
	rng, data := rand.New(rand.NewPCG(1, 2)), make([]byte, block)
	for range 3 { // of 4 blocks, so that no chunk is complete
		at := rng.Int64N(3)
		for _, c := range rng.Perm(chunks) {
			if _, err := a.WriteAt(context.Background(), data, int64(c)*size+at*block); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := a.Flush(context.Background(), false); err != nil {
		t.Fatal(err)
	}
	if n := h.Status().Write.ChunksEncoded; n != chunks {
		t.Errorf("%d chunks were encoded %d times", chunks, n)
	}
}

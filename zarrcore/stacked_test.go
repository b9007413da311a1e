package zarrcore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// TestStackedDecodesOnce: a reader of chunks one behind the other has each decoded once. Reads here
// and there decode their own chunks only. A corrupt object is an error of the read that needs it.
func TestStackedDecodesOnce(t *testing.T) {
	const chunks, size = 60, 1 << 10
	d := stackOf(t, chunks, size)
	put(t, d, "a/c/59", []byte("short"))
	var inOrder, apart []int64
	for n := range int64(chunks - 1) { // up to the one that is corrupt
		inOrder = append(inOrder, n)
	}
	for n := int64(0); n < chunks; n += 7 {
		apart = append(apart, n)
	}
	for name, read := range map[string][]int64{"in order": inOrder, "apart": apart} {
		h := open(t, d, nil)
		a := openArray(t, h, "a")
		for _, n := range read {
			p, err := a.ReadStacked(t.Context(), n*size, size)
			if err != nil {
				t.Fatalf("%s: chunk %d: %v", name, n, err)
			}
			p.Release()
		}
		want := int64(len(read))
		if n := h.Status().ChunksDecoded; n != want && (name != "in order" || n != want+1) {
			t.Errorf("%s: %d chunks were decoded of %d", name, n, len(read))
		}
		if _, err := a.ReadStacked(t.Context(), 59*size, size); err == nil {
			t.Errorf("%s: a chunk that is corrupt has no error", name)
		}
	}
}

// TestStackedLoadsAhead: what follows a reader in order is decoded before it is asked for.
func TestStackedLoadsAhead(t *testing.T) {
	const chunks, size = 60, 1 << 10
	h := open(t, stackOf(t, chunks, size), nil)
	a := openArray(t, h, "a")
	for n := range int64(20) {
		p, err := a.ReadStacked(t.Context(), n*size, size)
		must(t, err)
		p.Release()
	}
	for end := time.Now().Add(time.Minute); h.Status().ChunksDecoded < 22; {
		if time.Now().After(end) {
			t.Fatalf("%d chunks were decoded after 20 in order", h.Status().ChunksDecoded)
		}
		time.Sleep(time.Millisecond)
	}
}

// stackOf returns a store with array a, of so many chunks of size bytes.
func stackOf(t *testing.T, chunks, size int) *memstore.Driver {
	t.Helper()
	d := group(t)
	put(t, d, "a/zarr.json", fmt.Appendf(nil, `{"zarr_format": 3, "node_type": "array",
		"shape": [%d], "data_type": "uint8", "chunk_key_encoding": {"name": "default"},
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [%d]}},
		"fill_value": 0, "codecs": [{"name": "bytes"}]}`, chunks*size, size))
	for n := range chunks {
		put(t, d, fmt.Sprint("a/c/", n), make([]byte, size))
	}
	return d
}

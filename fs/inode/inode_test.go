package inode

import (
	"strings"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/known"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore/hierarchytest"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// none is a mount from which no view was removed.
type none struct{}

func (none) Has(string, view.View) bool { return false }

// TestBlocksOfOneFile: the bytes of an array are counted to one of its files, so that du counts
// them once. The others have one block each: tar -S takes a file without blocks for one of zeros.
func TestBlocksOfOneFile(t *testing.T) {
	const doc = `{"zarr_format": 3, "node_type": "array", "shape": [1000, 6], "data_type": "int16",
 "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1000, 6]}},
 "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
 "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}`
	const bytes = 1000 * 6 * 2
	ctx := t.Context()
	h, s := hierarchytest.Open(t, memstore.New(), map[string]string{
		"zarr.json":   hierarchytest.Group,
		"a/zarr.json": doc, "a/c/0/0": strings.Repeat("\x00", bytes)})
	var states known.States
	cache := stat.NewCache(ctx, h, s, new(errno.Log), states.Stat())
	f := New(Mount{H: h, Store: s, Rights: rights.New(ctx, rights.Options{}, s), Stat: cache,
		Names: resolve.New(ctx, h, resolve.Options{Name: "test"}, cache, none{})})
	n, err := h.Node(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	counted := 0
	for _, v := range view.Keeping() {
		if !view.Shows(v, view.Described(n.Meta)) || v == view.Document {
			continue
		}
		a := fuse.Attr{Size: bytes}
		if !f.Stored(ctx, n, v, stat.Wait, &a) {
			t.Errorf(".%s: what is stored is not known", v.Name())
		}
		switch {
		case a.Blocks >= blocks(bytes): // the document takes a few bytes, too
			counted++
		case a.Blocks != 1:
			t.Errorf(".%s has %d blocks", v.Name(), a.Blocks)
		}
	}
	if counted != 1 {
		t.Errorf("the bytes are counted %d times", counted)
	}
}

package creation

import (
	"context"
	"errors"
	iofs "io/fs"
	"testing"

	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

const (
	groupDoc = `{"zarr_format": 3, "node_type": "group"}`
	arrayDoc = `{"zarr_format": 3, "node_type": "array", "shape": [4, 6], "data_type": "int16",
 "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
 "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
 "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}`
)

// tooShort is a mount whose waiting files have other lengths than their arrays.
type tooShort struct{}

var errTooShort = errors.New("too short")

func (tooShort) Waiting(context.Context, string) error { return errTooShort }

// TestDocumentBesideOtherBytes makes an array whose bytes came before it, and do not fit it.
// Nothing of the array stays.
func TestDocumentBesideOtherBytes(t *testing.T) {
	ctx := t.Context()
	h := hierarchy(t)
	all := New(Mount{Ctx: ctx, H: h, Files: tooShort{}})
	err := all.ByDocument(ctx, "a", []byte(arrayDoc), program.Process{})
	if !errors.Is(err, errTooShort) {
		t.Errorf("%v, expected %v", err, errTooShort)
	}
	if _, err := h.Node(ctx, "a"); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("the array: %v, expected %v", err, iofs.ErrNotExist)
	}
}

// hierarchy returns one without arrays.
func hierarchy(t *testing.T) *zarrcore.Hierarchy {
	t.Helper()
	s := store.New(memstore.New(), "test")
	if err := s.Put(t.Context(), "zarr.json", []byte(groupDoc)); err != nil {
		t.Fatal(err)
	}
	h, err := zarrcore.Open(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

package creation

import (
	"context"
	"errors"
	iofs "io/fs"
	"testing"

	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/hierarchytest"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
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
	err := all.ByDocument(ctx, "a", []byte(hierarchytest.Array), program.Process{})
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
	root := map[string]string{"zarr.json": hierarchytest.Group}
	h, _ := hierarchytest.Open(t, memstore.New(), root)
	return h
}

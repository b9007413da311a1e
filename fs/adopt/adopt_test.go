package adopt

import (
	"errors"
	"fmt"
	"testing"

	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/hierarchytest"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// arrayDoc is the document of an array of 4 by 6 int16 in chunks on a grid of that name.
const arrayDoc = `{"zarr_format": 3, "node_type": "array", "shape": [4, 6], "data_type": "int16",
 "chunk_grid": {"name": "%s", "configuration": {"chunk_shape": [3, 3]}},
 "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
 "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}`

// TestLateBytesBesideOpenRow stores bytes that came before their array. Another program has written
// a part of the row behind the last one. In a bounded grid the end of the array then is not stored,
// and that is an error.
func TestLateBytesBesideOpenRow(t *testing.T) {
	ctx := t.Context()
	for grid, bounded := range map[string]bool{"regular": false, "zarrs.regular_bounded": true} {
		f := filesToAdopt(t)
		if err := f.H.CreateFromDocument(ctx, "a", fmt.Appendf(nil, arrayDoc, grid)); err != nil {
			t.Fatal(err)
		}
		arr, err := f.H.OpenArray(ctx, "a")
		if err != nil || arr.WaitsForRow() != bounded {
			t.Fatalf("bounded %v: %v", bounded, err)
		}
		x, err := f.Transients.Make(pathstate.At(""), "x.raw")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = x.Bytes.WriteAt(make([]byte, 52), 0); err != nil {
			t.Fatal(err)
		}
		if _, err = arr.WriteAt(ctx, []byte{1, 2, 3, 4}, 48); err != nil {
			t.Fatal(err)
		}
		err = f.Fill(ctx, arr, x, 0, x.Size())
		if bounded != errors.Is(err, zarrcore.ErrFraction) || !bounded && err != nil {
			t.Errorf("bounded %v: %v", bounded, err)
		}
	}
}

// state is a state for tests.
type state struct{ transient.Named }

func (s *state) Join(o *state) { s.Named.Join(o.Named) }

// filesToAdopt returns the files of a mount of a store without arrays.
func filesToAdopt(t *testing.T) *Files {
	t.Helper()
	root := map[string]string{"zarr.json": hierarchytest.Group}
	h, _ := hierarchytest.Open(t, memstore.New(), root)
	var table pathstate.Table[state, *state]
	named := pathstate.PartsOf(&table, func(s *state) *transient.Named { return &s.Named })
	o := transient.Options{Scratch: t.TempDir(), Ended: func(identity.Key) {}}
	all := transient.New(t.Context(), o, transient.States{Files: named})
	return New(Mount{Ctx: t.Context(), H: h, Transients: all})
}

package netcdf

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/hierarchytest"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// TestGroupThatCannotBeListed: if the listing of a group ends with an error, there is no file: it
// would lack arrays, and nobody would know.
func TestGroupThatCannotBeListed(t *testing.T) {
	var left atomic.Int64 // entries before the error
	failure := errors.New("the disk is gone")
	in := storetest.InjectorFunc(func(op storetest.Op) storetest.Fault {
		if op.Kind == storetest.OpEntry && op.Key == "g" && left.Add(-1) < 0 {
			return storetest.Fault{Err: failure}
		}
		return storetest.Fault{}
	})
	objects := map[string]string{"zarr.json": hierarchytest.Group,
		"g/zarr.json": hierarchytest.Group}
	for _, name := range []string{"a", "b", "c", "d"} {
		objects["g/"+name+"/zarr.json"] = hierarchytest.Array
	}
	left.Store(1 << 30)
	h, _ := hierarchytest.Open(t, storetest.Faulty(memstore.New(), in), objects)
	for _, path := range []string{"", "g"} {
		for entries := range int64(4) {
			left.Store(entries)
			_, err := Describe(t.Context(), h, path, HDF5, Contiguous)
			if !errors.Is(err, failure) {
				t.Errorf("%q, an error after %d entries: %v", path, entries, err)
			}
			left.Store(entries)
			if _, err := Mark(t.Context(), h, path); !errors.Is(err, failure) {
				t.Errorf("mark of %q, an error after %d entries: %v", path, entries, err)
			}
		}
		left.Store(1 << 30)
		d, err := Describe(t.Context(), h, path, HDF5, Contiguous)
		if err != nil || len(d.Sources) != 4 || len(d.Left) > 0 {
			t.Errorf("%q: %v, %+v", path, err, d)
		}
	}
}

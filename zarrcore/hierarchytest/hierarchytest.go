// Package hierarchytest opens small hierarchies for the tests of those that use them.
package hierarchytest

import (
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

const (
	// Group is the document of a group.
	Group = `{"zarr_format": 3, "node_type": "group"}`
	// Array is the document of an array of 4 by 6 int16, in chunks of 2 by 3.
	Array = `{"zarr_format": 3, "node_type": "array", "shape": [4, 6], "data_type": "int16",
 "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
 "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
 "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}`
)

// Open puts objects, by key, into the store of a driver, and opens it. It is closed when the test
// ends.
func Open(
	t testing.TB, d store.Driver, objects map[string]string,
) (*zarrcore.Hierarchy, *store.Store) {
	t.Helper()
	s := store.New(d, "test")
	for key, data := range objects {
		if err := s.Put(t.Context(), key, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	h, err := zarrcore.Open(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h, s
}

package view

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/hierarchytest"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// TestKnownByItsGroup: what is known of an array's axes comes from its own group, whatever the
// names of groups are, and not from another one.
func TestKnownByItsGroup(t *testing.T) {
	const array = `{"zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "uint8",
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
		"chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}`
	group := func(axis string) string {
		return `{"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"multiscales": [{
			"axes": [{"name": "` + axis + `"}], "datasets": [{"path": "0"}]}]}}}`
	}
	objects := map[string]string{}
	for dir, axis := range map[string]string{"": "root", "g/": "plain", ".g/": "dot",
		"g/.h/": "deep",
		"g/h/":  "other", "..g/": "dots"} {
		for key, document := range map[string]string{"zarr.json": group(axis),
			"0/zarr.json": array} {
			objects[dir+key] = document
		}
	}
	h, _ := hierarchytest.Open(t, memstore.New(), objects)
	for path, want := range map[string]string{"0": "root", "g/0": "plain", ".g/0": "dot",
		"g/.h/0": "deep", "g/h/0": "other", "..g/0": "dots"} {
		a, err := h.OpenArray(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := described(t.Context(), a); err != nil || v.volume.Axes[0].Name != want {
			t.Errorf("%s: %+v, %v, expected %s", path, v.volume.Axes, err, want)
		}
	}
}

// TestDescriptionInterrupted: a request that ends while coordinates are read describes nothing, and
// leaves nothing to others.
func TestDescriptionInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	armed := false
	reads := storetest.InjectorFunc(func(op storetest.Op) (f storetest.Fault) {
		if armed && strings.HasPrefix(op.Key, "x/") && ctx.Err() == nil {
			interrupt()
			f.Err = ctx.Err()
		}
		return f
	})
	array := func(attributes string) string {
		return `{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint8",
			"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
			"chunk_key_encoding": {"name": "default"}, "fill_value": 0,
			"codecs": [{"name": "bytes"}], "dimension_names": ["x"],
			"attributes": ` + attributes + `}`
	}
	h, _ := hierarchytest.Open(t, storetest.Faulty(memstore.New(), reads), map[string]string{
		"zarr.json":   `{"zarr_format": 3, "node_type": "group"}`,
		"a/zarr.json": array("{}"), "x/zarr.json": array(`{"units": "m"}`),
	})
	a, err := h.OpenArray(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	armed = true
	if v, err := described(ctx, a); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: found %+v, %v", v.volume.Axes, err)
	}
	if v, err := described(t.Context(), a); err != nil || v.volume.Axes[0].Unit != "m" {
		t.Errorf("after that: found %+v, %v", v.volume.Axes, err)
	}
}

package zarrcore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/migrate"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// Attributes of the conventions in OGC 21-050r1, section 4. Their spellings are odd but legal, and
// must stay as they are.
const (
	// 4.1 names of dimensions; 4.2 NetCDF and CF; 4.4.1 CF's grid mapping
	cfAttributes = `{"_ARRAY_DIMENSIONS": ["time", "lat"],
 "units":"K", "scale_factor" : 1.50e-2, "_FillValue": NaN, "missing_value": -Infinity,
	"flag_values": [ 1,2 ,3], "long_name": "temp\u00e9rature \ud83c\udf21", "grid_mapping": "crs",
	"coordinates": "lat lon", "big": 12345678901234567890123}`

	// 4.4.2 GDAL
	gdalAttributes = `{"_CRS":{"url":"http://www.opengis.net/def/crs/EPSG/0/4326",` +
		`"projjson":{"type":"GeographicCRS","id":{"authority":"EPSG","code":4326}}}}`

	// 4.5 multiscales
	scaleAttributes = `{"multiscales": [{"version": "0.1", "datasets": [{"path": "0", ` +
		`"coordinateTransformations": [{"type": "scale", "scale": [1.0, 0.50]}]}]}]}`

	// 4.3 NCZarr keeps members of its own in the documents, and documents of its own beside them
	nczarrArray = `{"zarr_format": 2, "shape": [2, 2], "chunks": [1, 2], "dtype": "|u1",
		"fill_value": 0, "order": "C", "compressor": null, "filters": null,
  "_nczarr_array": {"dimrefs": ["/time", "/lat"], "storage": "chunked"}}`
)

func conventional(t *testing.T) (*memstore.Driver, *store.Store) {
	d := memstore.New()
	for key, doc := range map[string]string{
		".zgroup": `{"zarr_format": 2}`, ".zattrs": scaleAttributes,
		".nczgroup":    `{"dims": {"time": 2}}`,
		"temp/.zarray": nczarrArray, "temp/.zattrs": cfAttributes,
		"temp/.nczarray": `{"dimrefs": ["time"]}`, "temp/.nczattr": `{"types": {}}`,
		"temp/0.0": "ab",
		"crs/.zarray": strings.ReplaceAll(
			strings.ReplaceAll(nczarrArray, "[2, 2]", "[]"), "[1, 2]", "[]"),
		"crs/.zattrs": gdalAttributes,
	} {
		put(t, d, key, []byte(doc))
	}
	return d, store.New(d, "test")
}

// checkConventions holds that attributes have the values of doc, and also its spelling if spelled
// is set.
func checkConventions(
	t *testing.T, when string, attributes pyjson.Value, doc string, spelled bool,
) {
	t.Helper()
	want, err := pyjson.Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range want.Entries() {
		got := attributes.Get(name)
		if !pyjson.Equal(got, v) || spelled && string(got.Raw()) != string(v.Raw()) {
			t.Errorf("%s: %s is %s, want %s", when, name, got.Raw(), v.Raw())
		}
	}
}

// TestConventions holds that the conventions for geospatial data are kept intact: as read, when an
// attribute or the shape is changed, and by a migration. Documents that are not Zarr's are left
// alone.
func TestConventions(t *testing.T) {
	d, st := conventional(t)
	h := open(t, d, nil)
	documents := map[string]string{"": scaleAttributes, "temp": cfAttributes, "crs": gdalAttributes}
	check := func(when string, spelled bool) {
		t.Helper()
		for path, doc := range documents {
			n, err := h.Node(t.Context(), path)
			if err != nil || n.Err != nil {
				t.Fatalf("%s: %q: %v", when, path, err)
			}
			checkConventions(t, when, n.Attributes, doc, spelled)
			if path == "temp" && strings.Join(n.Meta.DimensionNames, " ") != "time lat" {
				t.Errorf("%s: axes %q", when, n.Meta.DimensionNames)
			}
		}
		for key, want := range map[string]string{
			".nczgroup":      `{"dims": {"time": 2}}`,
			"temp/.nczarray": `{"dimrefs": ["time"]}`,
			"temp/.nczattr":  `{"types": {}}`,
		} {
			if got := stored(t, st, key); got != want {
				t.Errorf("%s: %s is %s", when, key, got)
			}
		}
	}
	check("as read", true)

	a := openArray(t, h, "temp")
	if err := a.SetSize(t.Context(), 6); err != nil {
		t.Fatal(err)
	}
	if err := h.Flush(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	check("with another shape", true)
	got, want := stored(t, st, "temp/.zarray"), strings.Replace(nczarrArray, "[2, 2]", "[3, 2]", 1)
	if got != want {
		t.Errorf("with another shape: .zarray is %s\nwant %s", got, want)
	}
	if got := stored(t, st, "temp/.zattrs"); got != cfAttributes {
		t.Errorf("with another shape: .zattrs is %s", got)
	}

	if err := h.SetAttribute(t.Context(), "temp", "units", []byte(`"K"`)); err != nil {
		t.Fatal(err)
	}
	if err := h.SetAttribute(t.Context(), "temp", "station", []byte(`7`)); err != nil {
		t.Fatal(err)
	}
	check("with an attribute more", true)

	p, err := migrate.Make(t.Context(), h, st, "", 3)
	if err == nil {
		err = p.Apply(t.Context(), st)
	}
	if err != nil {
		t.Fatal(err)
	}
	check("migrated", false)
	if got := fmt.Sprintf("%q", readAt(t, openArray(t, h, "temp"), 0, 6)); got !=
		`"ab\x00\x00\x00\x00"` {
		t.Errorf("migrated: %s", got)
	}
}

func stored(t *testing.T, st *store.Store, key string) string {
	t.Helper()
	doc, _, err := st.ReadAll(t.Context(), key, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

package axes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/layout/volume"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// document parses the JSON of a test.
func document(t *testing.T, text string) pyjson.Value {
	t.Helper()
	v, err := pyjson.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// told returns what is known of axes as one line.
func told(axes []volume.Axis) string {
	var all []string
	for _, a := range axes {
		s := fmt.Sprintf("%s:%s", a.Name, [...]string{"?", "space", "time", "channel"}[a.Kind])
		if a.HasStep {
			s += fmt.Sprintf(" step %g", a.Step)
		}
		if a.HasStart {
			s += fmt.Sprintf(" at %g", a.Start)
		}
		if a.Unit != "" {
			s += " in " + a.Unit
		}
		if a.Labels != nil {
			s += fmt.Sprint(" ", a.Labels)
		}
		all = append(all, s)
	}
	return strings.Join(all, "; ")
}

const (
	levels = `"multiscales": [{"axes": [{"name": "c", "type": "channel"},
		{"name": "y", "type": "space", "unit": "micrometer"}, {"name": "x", "type": "space"}],
		"datasets": [{"path": "0",
			"coordinateTransformations": [{"type": "scale", "scale": [1, 0.5, 0.25]}]},
			{"path": "1", "coordinateTransformations": [{"type": "scale", "scale": [1, 1.0, 0.5]},
				{"type": "translation", "translation": [0, 0.25, 0.125]}]}],
		"coordinateTransformations": [{"type": "scale", "scale": [9, 2, 2]}]}],
		"omero": {"channels": [{"label": "DAPI"}, {"label": "GFP"}]}`
	old = `{"multiscales": [{"axes": ["y", "x", "t"], "datasets": [{"path": "0"}]}]}`
)

func TestAxes(t *testing.T) {
	for _, tc := range []struct {
		name, array string
		dims        []string
		shape       []int64
		group       string
		want        string
	}{
		{"nothing is known", "a", nil, []int64{4, 5}, `{}`, ":?; :?"},
		{"usual names", "a", []string{"t", "band", "Y", "q"}, []int64{2, 3, 4, 5}, `{}`,
			"t:time; band:channel; Y:space; q:?"},
		{"OME-Zarr 0.4", "0", nil, []int64{2, 4, 5}, "{" + levels + "}",
			"c:channel [DAPI GFP]; y:space step 1 at 0 in micrometer; x:space step 0.5 at 0"},
		{"a level below, 0.5", "1", []string{"a", "b", "c"}, []int64{2, 4, 5}, `{"ome": {` +
			levels + "}}",
			"c:channel [DAPI GFP]; y:space step 2 at 0.5 in micrometer; x:space step 1 at 0.25"},
		{"channels without all labels", "0", nil, []int64{3, 4, 5}, "{" + levels + "}",
			"c:channel; y:space step 1 at 0 in micrometer; x:space step 0.5 at 0"},
		{"another array of the group", "labels", nil, []int64{4, 5}, "{" + levels + "}", ":?; :?"},
		{"another rank", "0", nil, []int64{4, 5}, "{" + levels + "}", ":?; :?"},
		{"version 0.3", "0", nil, []int64{4, 5, 6}, old, "y:space; x:space; t:time"},
		{"nonsense", "0", nil, []int64{4},
			`{"multiscales": 7, "ome": [], "omero": {"channels": 1}}`, ":?"},
		{"coordinates", "a", []string{"time", "lat", "lon", "level"}, []int64{3, 3, 3, 3}, `{}`,
			"time:time step 6 at 0 in hours since 2026-01-01; " +
				"lat:space step -5 at 60 in degrees_north; lon:space in degrees_east; level:?"},
		{"a coordinate variable itself", "lat", []string{"lat"}, []int64{3}, `{}`, "lat:?"},
	} {
		k := Known{Path: tc.array, Group: document(t, tc.group), Array: &meta.Array{Shape: tc.shape,
			DimensionNames: tc.dims,
			Type:           dtype.Type{Kind: dtype.Uint, Size: 2, Order: dtype.Little}}}
		k.Coordinate = func(name string, length int64) (Coordinate, bool) {
			c, ok := coordinates(t)[name]
			return c, ok
		}
		v, ok := Of(k)
		if got := told(v.Axes); !ok || got != tc.want {
			t.Errorf("%s:\n%s\nexpected:\n%s", tc.name, got, tc.want)
		}
	}
}

// coordinates are the coordinate variables of the tests.
func coordinates(t *testing.T) map[string]Coordinate {
	return map[string]Coordinate{
		"time": {document(t, `{"units": "hours since 2026-01-01"}`), []float64{0, 6, 12}},
		"lat": {document(t, `{"units": "degrees_north", "standard_name": "latitude"}`),
			[]float64{60, 55, 50}},
		"lon": {document(t, `{"units": "degrees_east", "axis": "X"}`), []float64{1, 2, 4}},
	}
}

func TestValues(t *testing.T) {
	for attributes, want := range map[string]string{
		`{}`: `"" "" false 0 0`,
		`{"units": "K", "standard_name": "air_temperature",
			"long_name": "air temperature"}`: `"air temperature" "K" false 0 0`,
		`{"scale_factor": 0.5}`:               `"" "" true 0.5 0`,
		`{"add_offset": 273.15}`:              `"" "" true 1 273.15`,
		`{"scale_factor": "NaN", "units": 7}`: `"" "" false 0 0`,
	} {
		v, ok := Of(Known{Array: &meta.Array{Attributes: document(t, attributes),
			Type: dtype.Type{Kind: dtype.Float, Size: 4, Order: dtype.Big}}})
		got := fmt.Sprintf("%q %q %t %g %g", v.Name, v.Unit, v.IsPacked, v.Slope, v.Offset)
		if !ok || got != want || v.Type != (volume.Type{Class: volume.Float, Size: 4, Big: true}) {
			t.Errorf("%s: %s, expected %s", attributes, got, want)
		}
	}
	if _, ok := Of(Known{Array: &meta.Array{Type: dtype.Type{Kind: dtype.Unicode, Size: 8}}}); ok {
		t.Error("strings are shown as numbers")
	}
}

// TestBlank: CF says which integer is stored where there is no value. A fill value of the document
// does not say so.
func TestBlank(t *testing.T) {
	for attributes, want := range map[string]string{
		`{}`: "0 false", `{"_FillValue": -9}`: "-9 true", `{"_FillValue": -9999.0}`: "-9999 true",
		`{"missing_value": 0}`:                    "0 true",
		`{"_FillValue": 3, "missing_value": 4}`:   "3 true",
		`{"_FillValue": -9223372036854775808}`:    "-9223372036854775808 true",
		`{"_FillValue": 18446744073709551615}`:    "0 false",
		`{"_FillValue": 0.5}`:                     "0 false",
		`{"_FillValue": "NaN"}`:                   "0 false",
		`{"_FillValue": NaN}`:                     "0 false",
		`{"missing_value": [1, 2]}`:               "0 false",
		`{"_FillValue": 1e300, "fill_value": 17}`: "0 false",
	} {
		v, _ := Of(Known{Array: &meta.Array{Attributes: document(t, attributes),
			Fill: []byte{7, 0}, FillDefined: true,
			Type: dtype.Type{Kind: dtype.Int, Size: 2, Order: dtype.Big}}})
		if got := fmt.Sprint(v.Blank, v.HasBlank); got != want {
			t.Errorf("%s: %s, expected %s", attributes, got, want)
		}
	}
}

func TestRegular(t *testing.T) {
	thirds := []float64{0, float64(float32(1.0 / 3)), float64(float32(2.0 / 3)), 1}
	for _, tc := range []struct {
		values []float64
		step   float64
		is     bool
	}{
		{nil, 0, false}, {[]float64{1}, 0, false}, {[]float64{1, 1}, 0, false},
		{[]float64{3, 1}, -2, true},
		{thirds, 1.0 / 3, true}, {[]float64{0, 1, 2.1}, 0, false},
		{slices.Repeat([]float64{0}, 9), 0, false},
	} {
		if step, is := regular(tc.values); is != tc.is || is && step != tc.step {
			t.Errorf("%v: %g, %t", tc.values, step, is)
		}
	}
}

// TestPlaces: where an array lies on Earth is said by CF, by GDAL, or by GeoZarr, and otherwise is
// not known.
func TestPlaces(t *testing.T) {
	const utm = `"PROJCRS[\"x\",BASEGEOGCRS[\"y\",ID[\"EPSG\",4326]],ID[\"EPSG\",32632]]"`
	const old = `"GEOGCS[\"x\",AUTHORITY[\"EPSG\",\"6326\"],AUTHORITY[\"EPSG\",\"4258\"]]"`
	const local = `"PROJCS[\"x\",GEOGCS[\"y\",AUTHORITY[\"EPSG\",\"4326\"]],UNIT[\"m\",1]]"`
	const nowhere = "{false [0 0 0] [0 0 0] 0 false}"
	const at = `{"spatial:transform": [10, 0, 100, 0, -10, 200], `
	const north = "{true [105 10 0] [195 0 -10] "
	for attributes, want := range map[string]string{
		`{}`:                                  nowhere,
		`{"grid_mapping": "m"}`:               north + "32632 false}",
		`{"grid_mapping": "none"}`:            nowhere,
		at + `"proj:code": "EPSG:3857"}`:      north + "3857 false}",
		at + `"proj:code": "EPSG:4326"}`:      north + "4326 true}",
		at + `"proj:code": "EPSG:4979"}`:      north + "0 false}",
		at + `"crs_wkt": ` + old + `}`:        north + "4258 true}",
		at + `"crs_wkt": ` + local + `}`:      north + "0 false}",
		`{"spatial:transform": [1, 2, 3, 4]}`: nowhere,
		`{"GeoTransform": "100 10 0 200 0"}`:  nowhere,
		`{"GeoTransform": "1 2 0 3 0 x"}`:     nowhere,
		`{"GeoTransform": "nan 2 0 3 0 4"}`:   nowhere,
		at + `"proj:projjson": {"type": "GeographicCRS",
			"id": {"authority": "EPSG", "code": 4937}}}`: north + "4937 true}",
		`{"spatial:transform": [1, 2, 3, 4, 5, 6],
			"spatial:registration": "node"}`: "{true [3 1 2] [6 4 5] 0 false}",
		`{"_CRS": {"url": "http://www.opengis.net/def/crs/EPSG/0/32632"}}`: nowhere,
		at + `"spatial:shape": [4, 5]}`:                                    north + "0 false}",
		at + `"spatial:shape": [8, 10]}`:                                   nowhere,
		at + `"spatial:dimensions": ["v", "u"]}`:                           north + "0 false}",
		at + `"spatial:dimensions": ["u", "v"]}`:                           nowhere,
		at + `"spatial:transform_type": "affine"}`:                         north + "0 false}",
		at + `"spatial:transform_type": "rpc"}`:                            nowhere,
	} {
		k := Known{Array: &meta.Array{Shape: []int64{4, 5}, Attributes: document(t, attributes),
			DimensionNames: []string{"v", "u"}, Type: dtype.Type{Kind: dtype.Uint, Size: 1}}}
		k.Mapping = func(name string) pyjson.Value {
			if name != "m" {
				return pyjson.Value{}
			}
			return document(t, `{"GeoTransform": "100 10 0 200 0 -10", "crs_wkt": `+utm+`}`)
		}
		v, _ := Of(k)
		if got := fmt.Sprint(v.Place); got != want {
			t.Errorf("%s: %s, expected %s", attributes, got, want)
		}
	}
	k := Known{Array: &meta.Array{Shape: []int64{3, 3}, DimensionNames: []string{"lat", "lat"},
		Attributes: document(t, `{"_CRS": {"url": "https://www.opengis.net/def/crs/EPSG/0/4326"}}`),
		Type:       dtype.Type{Kind: dtype.Uint, Size: 1}}}
	k.Coordinate = func(name string, _ int64) (Coordinate, bool) {
		return coordinates(t)[name],
			true
	}
	if v, _ := Of(k); fmt.Sprint(v.Place) != "{true [60 -5 0] [60 0 -5] 4326 true}" {
		t.Errorf("by coordinate variables: %v", v.Place)
	}
}

// TestPlacesOfLevels: a group says where each of its levels lies. A level is an array of the group,
// or a group of arrays.
func TestPlacesOfLevels(t *testing.T) {
	const levels = `"proj:code": "EPSG:32633", "multiscales": {"layout": [
		{"asset": "r10m", "spatial:transform": [10, 0, 500, 0, -10, 900], "spatial:shape": [8, 10]},
		{"asset": "r20m", "spatial:transform": [20, 0, 500, 0, -20, 900], "spatial:shape": [4, 5]},
		{"asset": "deep/b1", "spatial:transform": [5, 0, 0, 0, -5, 0]}, {"asset": "bare"}]}`
	const whole = `"spatial:transform": [1, 0, 0, 0, -1, 0]`
	for _, tc := range []struct{ path, above, group, want string }{
		{"g/r20m", `{}`, `{` + levels + `}`, "{true [510 20 0] [890 0 -20] 32633 false}"},
		{"g/r10m", `{}`, `{` + levels + `}`, "{false [0 0 0] [0 0 0] 0 false}"}, // another shape
		{"r20m/b1", `{` + levels + `}`, `{}`, "{true [510 20 0] [890 0 -20] 32633 false}"},
		{"deep/b1", `{` + levels + `}`, `{}`, "{true [2.5 5 0] [-2.5 0 -5] 32633 false}"},
		{"r20m/b1", `{` + levels + `}`, `{` + whole + `}`,
			"{true [0.5 1 0] [-0.5 0 -1] 32633 false}"},
		{"g/bare", `{}`, `{` + whole + `, ` + levels + `}`, "{false [0 0 0] [0 0 0] 0 false}"},
		{"g/bare", `{}`, `{"spatial:shape": [4, 5], ` + whole + `, ` + levels + `}`,
			"{true [0.5 1 0] [-0.5 0 -1] 32633 false}"},
		{"g/r20m", `{}`, `{"spatial:registration": "node", ` + levels + `}`,
			"{true [500 20 0] [900 0 -20] 32633 false}"},
		{"g/r20m", `{}`, `{"spatial:transform_type": "rpc", ` + levels + `}`,
			"{false [0 0 0] [0 0 0] 0 false}"},
		{"g/other", `{` + levels + `}`, `{}`, "{false [0 0 0] [0 0 0] 0 false}"},
	} {
		v, _ := Of(Known{Path: tc.path, Above: document(t, tc.above),
			Group: document(t, tc.group), Array: &meta.Array{Shape: []int64{4, 5},
				Type: dtype.Type{Kind: dtype.Uint, Size: 1}}})
		if got := fmt.Sprint(v.Place); got != tc.want {
			t.Errorf("%s below %s, %s: %s, expected %s", tc.path, tc.above, tc.group, got, tc.want)
		}
	}
}

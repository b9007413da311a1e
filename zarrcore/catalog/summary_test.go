package catalog

import "testing"

// TestSummaryV3: a look at a document finds what parsing it would, although other members have the
// names that it looks for.
func TestSummaryV3(t *testing.T) {
	const rest = `, "shape": [2],
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
		"chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]`
	const vlenRest = `, "shape": [2],
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
		"chunk_key_encoding": {"name": "default"}, "fill_value": "",
		"codecs": [{"name": "vlen-utf8"}]`
	for _, tc := range []struct {
		name, doc string
		want      summary
	}{
		{"array", `{"zarr_format": 3, "node_type": "array", "data_type": "uint8"` + rest + `}`,
			summary{kind: ArrayNode}},
		{"no blanks", `{"zarr_format":3,"node_type":"array","data_type":"uint8"` + rest + `}`,
			summary{kind: ArrayNode}},
		{"many blanks", `{"zarr_format": 3, "node_type"` + "\n\t : \r\n" +
			`"array", "data_type"  :  "uint8"` + rest + `}`, summary{kind: ArrayNode}},
		{"group", `{"zarr_format": 3, "node_type": "group"}`, summary{kind: GroupNode}},
		{"strings", `{"zarr_format": 3, "node_type": "array", "data_type": "string"` + vlenRest +
			`}`, summary{ArrayNode, Elements{Vlen: true}}},
		{"a type in an object",
			`{"zarr_format": 3, "node_type": "array", "data_type": {"name": "string"}` + vlenRest +
				`}`, summary{ArrayNode, Elements{Vlen: true}}},
		{"another in an object",
			`{"zarr_format": 3, "node_type": "array", "data_type": {"name": "numpy.datetime64", ` +
				`"configuration": {"unit": "s", "scale_factor": 1}}` + rest + `}`,
			summary{kind: ArrayNode}},
		{"group with attributes that look like an array",
			`{"attributes": {"node_type": "array", "data_type": "uint8"}, "zarr_format": 3, ` +
				`"node_type": "group"}`,
			summary{kind: GroupNode}},
		{"array with attributes that look like a group",
			`{"attributes": {"node_type": "group"}, "zarr_format": 3, "node_type": "array", ` +
				`"data_type": "uint8"` + rest + `}`,
			summary{kind: ArrayNode}},
		{"array with an attribute data_type",
			`{"attributes": {"data_type": "uint8"}, "zarr_format": 3, "node_type": "array", ` +
				`"data_type": "string"` + vlenRest + `}`,
			summary{ArrayNode, Elements{Vlen: true}}},
		{"a value that is a key's name",
			`{"attributes": {"x": "node_type"}, "zarr_format": 3, "node_type": "group"}`,
			summary{kind: GroupNode}},
		{"a key with an escape", `{"zarr_format": 3, "node\u005ftype": "group"}`,
			summary{kind: GroupNode}},
		{"a value with an escape", `{"zarr_format": 3, "node_type": "gr\u006fup"}`,
			summary{kind: GroupNode}},
		{"no JSON", `hello`, summary{kind: ArrayNode}},
		{"nothing", ``, summary{kind: ArrayNode}},
		{"cut", `{"zarr_format": 3, "node_type": "gro`, summary{kind: ArrayNode}},
	} {
		if got := summaryV3([]byte(tc.doc)); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

// TestElementsV2: a look at a .zarray tells lists and any values of JSON from strings.
func TestElementsV2(t *testing.T) {
	for filter, want := range map[string]Elements{
		`{"id": "vlen-utf8"}`:                  {Vlen: true},
		`{"id": "vlen-bytes"}`:                 {Vlen: true},
		`{"id": "vlen-array", "dtype": "<i4"}`: {Vlen: true, Any: true},
		`{"id": "json2", "encoding": "utf-8"}`: {Vlen: true, Any: true},
		`{"id": "pickle", "protocol": 5}`:      {Vlen: true}, // cannot be read at all
	} {
		doc :=
			`{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "|O", "fill_value": null, ` +
				`"order": "C", "compressor": null, "filters": [` + filter + `]}`
		if got := elementsV2([]byte(doc)); got != want {
			t.Errorf("%s: %+v, want %+v", filter, got, want)
		}
	}
}

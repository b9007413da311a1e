package meta

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// summary says in one line what the tests below want to know of an array.
func summary(a *Array) string {
	var names []string
	for _, c := range a.Codecs {
		names = append(names, c.Name+string(c.Config.Standard()))
	}
	cut := ""
	if a.Cuts != nil {
		cut = fmt.Sprintf(" cut %v", a.Cuts)
	}
	if a.Bounded != nil {
		cut = fmt.Sprintf(" bounded %v", a.Bounded)
	}
	return fmt.Sprintf("%v/%v%s %s fill %x %v; %s; %s %q", a.Shape, a.Chunk, cut, a.Type.Descr(),
		a.Fill, a.FillDefined,
		strings.Join(names, " "), a.Keys.Key(make([]int64, len(a.Shape))), a.DimensionNames)
}

// TestAcceptedV3 is about documents that look odd and are right, or that some writer has always
// written so.
func TestAcceptedV3(t *testing.T) {
	const little = `bytes{"endian":"little"}`
	for _, c := range []struct {
		changes []string
		want    string
	}{
		{nil, `[7 5]/[4 5] '<i4' fill 00000000 true; ` + little + `; c/0/0 []`},
		{[]string{`data_type: {"name": "int32"}`, `codecs: ["bytes", "crc32c"]`},
			`[7 5]/[4 5] '<i4' fill 00000000 true; bytes crc32c; c/0/0 []`},
		{[]string{`codecs: [{"name": "endian", "configuration": {"endian": "big"}}]`,
			`fill_value: 1`},
			`[7 5]/[4 5] '>i4' fill 00000001 true; endian{"endian":"big"}; c/0/0 []`},
		{[]string{`codecs: [{"name": "bytes", "configuration": null}]`},
			`[7 5]/[4 5] '<i4' fill 00000000 true; bytes; c/0/0 []`},
		// package codec judges it
		{[]string{`codecs: ["vlen-utf8"]`},
			`[7 5]/[4 5] '<i4' fill 00000000 true; vlen-utf8; c/0/0 []`},
		{[]string{`codecs: []`}, `[7 5]/[4 5] '<i4' fill 00000000 true; ; c/0/0 []`},
		{[]string{
			`codecs: [{"name": "sharding_indexed", "configuration": {"codecs": [{"name": ` +
				`"bytes", "configuration": {"endian": "big"}}],` +
				`"index_codecs": ["bytes"]}}]`, `data_type: "uint16"`, `fill_value: 258`},
			`[7 5]/[4 5] '>u2' fill 0102 true; ` +
				`sharding_indexed{"codecs":[{"name":"bytes","configuration":{"endian":"big"}}],` +
				`"index_codecs":["bytes"]}; c/0/0 []`},
		{[]string{
			`data_type: {"name": "struct", "configuration": {"fields": ` +
				`[{"name": "a", "data_type": "int16"},` +
				`{"name": "b", "data_type": "uint8"}]}}`, `fill_value: {"a": 1, "b": 2}`,
			`codecs: ["bytes"]`},
			`[7 5]/[4 5] [('a', '<i2'), ('b', '|u1')] fill 010002 true; bytes; c/0/0 []`},
		{[]string{`storage_transformers: []`, `attributes: null`, `dimension_names: null`,
			`consolidated_metadata: null`},
			`[7 5]/[4 5] '<i4' fill 00000000 true; ` + little + `; c/0/0 []`},
		{[]string{`ext: {"must_understand": false, "any": 1}`,
			`attributes: {"_ARRAY_DIMENSIONS": ["a", "b"]}`},
			`[7 5]/[4 5] '<i4' fill 00000000 true; ` + little + `; c/0/0 []`},
		{[]string{`dimension_names: ["", null]`}, `[7 5]/[4 5] '<i4' fill 00000000 true; ` +
			little + `; c/0/0 ["" ""]`},
		{[]string{`shape: [0, 5]`,
			`chunk_grid: {"name": "regular", "configuration": {"chunk_shape": [0, 5]}}`},
			`[0 5]/[0 5] '<i4' fill 00000000 true; ` + little + `; c/0/0 []`},
		{[]string{`shape: [0, 9223372036854775807]`,
			`chunk_grid: {"name": "regular", "configuration": {"chunk_shape": [1, 1]}}`},
			`[0 9223372036854775807]/[1 1] '<i4' fill 00000000 true; ` + little + `; c/0/0 []`},
		{[]string{`shape: []`,
			`chunk_grid: {"name": "regular", "configuration": {"chunk_shape": []}}`,
			`dimension_names: []`},
			`[]/[] '<i4' fill 00000000 true; ` + little + `; c []`},
		{[]string{`shape: [7.0, 5e0]`, `zarr_format: 3.0`},
			`[7 5]/[4 5] '<i4' fill 00000000 true; ` + little + `; c/0/0 []`},
		{[]string{`chunk_key_encoding: "default"`}, `[7 5]/[4 5] '<i4' fill 00000000 true; ` +
			little + `; c/0/0 []`},
		{[]string{`chunk_key_encoding: {"name": "default", "configuration": {"separator": "."}}`},
			`[7 5]/[4 5] '<i4' fill 00000000 true; ` + little + `; c.0.0 []`},
		{[]string{`chunk_key_encoding: "v2"`}, `[7 5]/[4 5] '<i4' fill 00000000 true; ` + little +
			`; 0.0 []`},
		{[]string{`chunk_key_encoding: {"name": "v2", "configuration": {"separator": "/"}}`},
			`[7 5]/[4 5] '<i4' fill 00000000 true; ` + little + `; 0/0 []`},
		{[]string{
			`chunk_key_encoding: {"name": "zarrs.default_suffix", "configuration": {"separator": ` +
				`".", "suffix": ".tiff"}}`},
			`[7 5]/[4 5] '<i4' fill 00000000 true; ` + little + `; c.0.0.tiff []`},
		{[]string{`chunk_key_encoding: {"name": "suffix", "configuration": {"suffix": ".tiff"}}`},
			`[7 5]/[4 5] '<i4' fill 00000000 true; ` + little + `; c/0/0.tiff []`},
		{[]string{
			`chunk_key_encoding: {"name": "suffix", "configuration": {"suffix": ".zip", ` +
				`"base_encoding": "v2"}}`},
			`[7 5]/[4 5] '<i4' fill 00000000 true; ` + little + `; 0.0.zip []`},
		{[]string{
			`chunk_key_encoding: {"name": "suffix", "configuration": {"suffix": ".z", ` +
				`"base-encoding": {"name": "default"}}}`},
			`[7 5]/[4 5] '<i4' fill 00000000 true; ` + little + `; c/0/0.z []`},
		{[]string{rectilinearGrid(`[[4, 1, [1, 2]], 3], "kind": "inline"`)},
			`[7 5]/[4 3] cut [[{4 1} {1 3}] [{3 9223372036854775807}]] '<i4' fill 00000000 true; ` +
				little + `; c/0/0 []`},
		// what lies behind the end counts for nothing
		{[]string{rectilinearGrid(`[[[4, 9], 50], [5, 5]], "kind": "inline"`)},
			`[7 5]/[4 5] cut [[{4 9} {50 1}] [{5 2}]] '<i4' fill 00000000 true; ` + little +
				`; c/0/0 []`},
		// zarr-python 3.2.0 and 3.2.1
		{[]string{`chunk_grid: {"name": "regular", "configuration": {"chunk_shape": [[4, 3], 5]}}`},
			`[7 5]/[4 5] cut [[{4 1} {3 1}] [{5 9223372036854775807}]] '<i4' fill 00000000 true; ` +
				little + `; c/0/0 []`},
		{[]string{
			`chunk_grid: {"name": "rectangular", "configuration": {"chunk_shape": [[4, 3], 5]}}`},
			`[7 5]/[4 5] cut [[{4 1} {3 1}] [{5 9223372036854775807}]] '<i4' fill 00000000 true; ` +
				little + `; c/0/0 []`},
		{[]string{
			`chunk_grid: {"name": "zarrs.regular_bounded", "configuration": {"chunk_shape": ` +
				`[3, 9]}}`},
			`[7 5]/[3 5] bounded [3 9] '<i4' fill 00000000 true; ` + little + `; c/0/0 []`},
		{[]string{`shape: [0, 5]`,
			`chunk_grid: {"name": "zarrs.regular_bounded", "configuration": {"chunk_shape": ` +
				`[0, 5]}}`},
			`[0 5]/[0 5] bounded [0 5] '<i4' fill 00000000 true; ` + little + `; c/0/0 []`},
		{[]string{`shape: []`, rectilinearGrid(`[], "kind": "inline"`)},
			`[]/[] cut [] '<i4' fill 00000000 true; ` + little + `; c []`},
	} {
		a, _, err := ParseV3(document(goodV3, c.changes...))
		if err != nil {
			t.Errorf("%s: %v", c.changes, err)
		} else if got := summary(a); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.changes, got, c.want)
		}
	}
}

func TestAcceptedGroupV3(t *testing.T) {
	for _, changes := range [][]string{
		nil,
		{`consolidated_metadata: null`},
		{`consolidated_metadata: {"kind": "inline", "must_understand": false, "metadata": {}}`},
		{`consolidated_metadata: {"kind": "inline", "metadata": {}}`},
		{`consolidated_metadata: {"kind": "other", "must_understand": false}`},
		{`ext: {"must_understand": false}`, `storage_transformers: []`, `attributes: {}`},
	} {
		if a, g, err := ParseV3(document(goodGroupV3, changes...)); err != nil || a != nil ||
			g == nil {
			t.Errorf("%s: array %v, group %v, %v", changes, a, g, err)
		}
	}
}

func TestAcceptedV2(t *testing.T) {
	for _, c := range []struct {
		changes []string
		attrs   string
		want    string
		known   bool // the separator
	}{
		{nil, ``, `[7 5]/[4 5] '<i4' fill 00000000 true; bytes; 0.0 []`, false},
		{[]string{`filters: []`, `compressor:`, `dimension_separator: null`}, ``,
			`[7 5]/[4 5] '<i4' fill 00000000 true; bytes; 0.0 []`, false},
		{[]string{`filters:`, `fill_value:`, `_nczarr_array: {}`, `attributes: 3`}, `{}`,
			`[7 5]/[4 5] '<i4' fill 00000000 false; bytes; 0.0 []`, false},
		{[]string{`fill_value: null`, `dimension_separator: "/"`}, ``,
			`[7 5]/[4 5] '<i4' fill 00000000 false; bytes; 0/0 []`, true},
		{[]string{`dtype: "<u1"`, `fill_value: 7`, `dimension_separator: "."`}, ``,
			`[7 5]/[4 5] '|u1' fill 07 true; bytes; 0.0 []`, true},
		{[]string{`dtype: ">f4"`, `fill_value: NaN`}, ``,
			`[7 5]/[4 5] '>f4' fill 7fc00000 true; bytes; 0.0 []`, false},
		{[]string{`dtype: "|S3"`, `fill_value: 0`}, ``,
			`[7 5]/[4 5] '|S3' fill 000000 true; bytes; 0.0 []`, false},
		{[]string{`dtype: ">U1"`, `fill_value: "0"`}, ``,
			`[7 5]/[4 5] '>U1' fill 00000030 true; bytes; 0.0 []`, false},
		{[]string{`dtype: [["a", "<i2"], ["b", "|u1", [2]]]`, `fill_value: 0`}, ``,
			`[7 5]/[4 5] [('a', '<i2'), ('b', '|u1', (2,))] fill 00000000 true; bytes; 0.0 []`,
			false},
		{[]string{`order: "F"`, `filters: [{"id": "delta", "dtype": "<i4"}]`,
			`compressor: {"level": 1, "id": "zlib"}`}, ``,
			`[7 5]/[4 5] '<i4' fill 00000000 true; transpose{"order":[1,0]} ` +
				`numcodecs.delta{"dtype":"<i4"} bytes numcodecs.zlib{"level":1}; 0.0 []`, false},
		{nil, `{"_ARRAY_DIMENSIONS": ["y", "x"]}`,
			`[7 5]/[4 5] '<i4' fill 00000000 true; bytes; 0.0 ["y" "x"]`, false},
		{nil, `{"_ARRAY_DIMENSIONS": ["y"]}`, `[7 5]/[4 5] '<i4' fill 00000000 true; bytes; 0.0 []`,
			false},
		{nil, `{"_ARRAY_DIMENSIONS": ["y", null]}`,
			`[7 5]/[4 5] '<i4' fill 00000000 true; bytes; 0.0 []`, false},
		{nil, `null`, `[7 5]/[4 5] '<i4' fill 00000000 true; bytes; 0.0 []`, false},
		{[]string{`shape: [0]`, `chunks: [0]`}, ``, `[0]/[0] '<i4' fill 00000000 true; bytes; 0 []`,
			false},
		{[]string{`shape: []`, `chunks: []`}, ``, `[]/[] '<i4' fill 00000000 true; bytes; 0 []`,
			false},
	} {
		var attrs []byte
		if c.attrs != "" {
			attrs = []byte(c.attrs)
		}
		a, err := ParseV2Array(document(goodV2, c.changes...), attrs)
		if err != nil {
			t.Errorf("%s: %v", c.changes, err)
		} else if got := summary(a); got != c.want || a.SeparatorKnown != c.known {
			t.Errorf("%s:\n%s, separator known %v\nwant\n%s", c.changes, got, a.SeparatorKnown,
				c.want)
		}
	}
}

func TestAcceptedV1(t *testing.T) {
	for _, c := range []struct{ compression, opts, want string }{
		{`"zlib"`, `1`, ` numcodecs.zlib{"level":1}`},
		{`"blosc"`, `"lz4"`, ` numcodecs.blosc{"cname":"lz4"}`},
		{`"lzma"`, `2`, ` numcodecs.lzma{"format":2}`},
		{`"lzma"`, `{"format": 3}`, ` numcodecs.lzma{"format":3}`},
		{`"bz2"`, `null`, ` numcodecs.bz2{}`},
		{`"quux"`, `9`, ` numcodecs.quux{}`},
		{`"none"`, ``, ``},
		{`null`, `5`, ``},
	} {
		a, err := ParseV1(document(goodV1, `compression: `+c.compression,
			`compression_opts: `+c.opts), nil)
		if err != nil {
			t.Errorf("%s %s: %v", c.compression, c.opts, err)
		} else if got, want := summary(a), `[7 5]/[4 5] '<i4' fill 00000000 true; bytes`+c.want+
			`; 0.0 []`; got != want {
			t.Errorf("%s %s:\n%s\nwant\n%s", c.compression, c.opts, got, want)
		}
	}
}

// TestShownDocuments holds that documents for people are strict JSON with every member in its
// place.
func TestShownDocuments(t *testing.T) {
	zarray := "\xef\xbb\xbf{\"fill_value\": NaN, \"zarr_format\": 2, \"attributes\": 1, " +
		"\"shape\": [2], \"x\": \"\xff\"}"
	a, _ := ParseV2Array([]byte(zarray), []byte(`{"b": {"n": 1.50, "i": -Infinity}, "a": [ ]}`))
	const want = `{
  "fill_value": "NaN",
  "zarr_format": 2,
  "shape": [
    2
  ],
  "x": "` + "\uFFFD" + `",
  "attributes": {
    "b": {
      "n": 1.50,
      "i": "-Infinity"
    },
    "a": []
  },
  "zarrfs_non_finite": {
    "pointers": [
      "/attributes/b/i"
    ],
    "must_understand": false
  }
}
`
	if string(a.Document) != want {
		t.Errorf("version 2 shows as\n%s\nwant\n%s", a.Document, want)
	}
	v3 := document(goodV3, `attributes: {"x": NaN}`)
	if a, _, err := ParseV3(v3); err != nil || !json.Valid(a.Document) ||
		!strings.Contains(string(a.Document), `"x": "NaN"`) {
		t.Errorf("version 3 with NaN: %v, shows as\n%s", err, a.Document)
	}
	v3 = append([]byte(" \n"), document(goodV3)...)
	if a, _, err := ParseV3(v3); err != nil || string(a.Document) != string(v3) {
		t.Errorf("version 3: %v, shows as\n%s", err, a.Document)
	}
}

// TestUnderstoodBesideError holds that one bad member does not hide the others.
func TestUnderstoodBesideError(t *testing.T) {
	a, _, err := ParseV3(document(goodV3, `data_type: "int24"`, `dimension_names: ["y", "x"]`,
		`attributes: {"units": "m"}`))
	if err == nil || a.Type.Kind != (dtype.Type{}).Kind || a.Type.Size != 0 {
		t.Errorf("unknown type: %v, %v", a.Type, err)
	}
	got := fmt.Sprintf("%v %v %v %d %s", a.Shape, a.Chunk, a.DimensionNames, len(a.Codecs),
		a.Attributes.Get("units").Text())
	if want := "[7 5] [4 5] [y x] 1 m"; got != want {
		t.Errorf("understood %s, want %s", got, want)
	}
}

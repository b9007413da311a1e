package meta

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// storedV3 and storedV2 are arrays as some writer might have stored them: laid out oddly, with
// members we do not know.
const (
	storedV3 = `{"zarr_format": 3, "node_type":"array",
  "shape": [4, 6], "data_type": "float32",
  "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
  "chunk_key_encoding": {"name": "default"},
  "fill_value": NaN, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
  "attributes": {"a":NaN, "b": [ 1,2 ], "\u00e9": 1.50},
  "ours": {"must_understand": false}
}
`
	storedV2 = `{
    "chunks": [
        2,
        3
    ],
    "compressor": null,
    "dtype": "<f4",
    "fill_value": NaN,
    "filters": null,
    "order": "C",
    "shape": [
        4,
        6
    ],
    "zarr_format": 2
}`
	storedAttrs = `{"a":NaN,"b":[1,2]}`
)

// TestPosted writes documents over the shown ones.
func TestPosted(t *testing.T) {
	for _, c := range []struct {
		name, posted string
		format       int
		want         string // the change, or the error
	}{
		{"v3, nothing", `{}`, 3, ``},
		{"v3, what is shown", "shown", 3, ``},
		{"v2, what is shown", "shown", 2, ``},
		{"v3, spelled differently", `{"fill_value": "NaN", "shape": [4.0, 6e0],
			"ours": {"must_understand": false},
			"attributes": {"é": 1.5, "b": [1, 2], "a": "NaN"}, "node_type": "\u0061rray"}`, 3, ``},
		{"v2, spelled differently",
			`{"fill_value": "NaN", "attributes": {"b": [1, 2e0], "a": "NaN"}}`, 2, ``},
		{"v3, shape", `{"shape": [5, 0]}`, 3, "shape [5 0]\nzarr.json\n" + strings.Replace(storedV3,
			`[4, 6]`, `[5, 0]`, 1)},
		{"v2, shape", `{"shape": [5, 0]}`, 2, "shape [5 0]\n.zarray\n" + strings.Replace(storedV2,
			"4,\n        6", "5,\n        0", 1)},
		{"v3, attributes", `{"attributes": {"b": [1, 2], "c": {}, "a": "NaN"}}`, 3,
			"zarr.json\n" + strings.Replace(storedV3, `{"a":NaN, "b": [ 1,2 ], "\u00e9": 1.50}`,
				`{"b": [1, 2], "c": {}, "a": NaN}`, 1)},
		{"v2, attributes", `{"attributes": {"b": [1, 2], "c": {}, "a": "NaN"}}`, 2,
			".zattrs\n{\n  \"b\": [\n    1,\n    2\n  ],\n  \"c\": {},\n  \"a\": NaN\n}"},
		{"v3, no attributes", `{"attributes": {}}`, 3,
			"zarr.json\n" + strings.Replace(storedV3, `{"a":NaN, "b": [ 1,2 ], "\u00e9": 1.50}`,
				`{}`, 1)},
		{"v3, names", `{"dimension_names": ["x", null]}`, 3,
			"zarr.json\n" + strings.Replace(storedV3, "false}\n",
				"false},\n  \"dimension_names\": [\n    \"x\",\n    null\n  ]\n", 1)},

		{"v3, immutable", `{"attributes": {}, "data_type": "float64"}`, 3,
			`data_type: expected "float32", which cannot be changed, found "float64"`},
		{"v3, negative zero", `{"fill_value": -0.0}`, 3,
			`fill_value: expected NaN, which cannot be changed, found -0.0`},
		{"v3, unknown", `{"more": 1}`, 3,
			`more: expected nothing, which cannot be changed, found 1`},
		{"v2, codecs", `{"compressor": {"id": "zstd"}}`, 2,
			`compressor: expected null, which cannot be changed, found {"id": "zstd"}`},
		{"v2, of v3", `{"zarr_format": 3}`, 2,
			`zarr_format: expected 2, which cannot be changed, found 3`},
		{"v3, rank", `{"shape": [4]}`, 3, `shape: expected 2 lengths, found [4]`},
		{"v3, length", `{"shape": [4, -1]}`, 3,
			`shape[1]: expected an integer from 0 to 9223372036854775807, found -1`},
		{"v3, names of another rank", `{"dimension_names": ["x"]}`, 3,
			`dimension_names: expected an array of 2 strings or nulls, ` +
				`one for each axis of shape, found [ "x" ]`},
		{"v3, attributes of another kind", `{"attributes": [1]}`, 3,
			`attributes: expected an object, found [1]`},
		{"v3, no object", `[]`, 3, `expected an object, found []`},
		{"v3, no JSON", `{`, 3,
			`line 1, column 2 (byte 1): expected a key in double quotes, ` +
				`found the end of the document`},
	} {
		t.Run(c.name, func(t *testing.T) {
			stored, a := storedArray(t, c.format)
			if c.posted == "shown" {
				c.posted = string(a.Document)
			}
			change, err := Posted(a, stored, []byte(c.posted))
			if err != nil && !errors.Is(err, ErrInvalid) {
				t.Errorf("%v is not an ErrInvalid", err)
			}
			compareLines(t, printChange(change, err), c.want)
		})
	}
}

// storedArray returns the documents of an array in a format, and what they say.
func storedArray(t *testing.T, format int) (stored map[string][]byte, a *Array) {
	t.Helper()
	stored = map[string][]byte{NameV3: []byte(storedV3)}
	if format == 2 {
		stored = map[string][]byte{NameArray: []byte(storedV2), NameAttrs: []byte(storedAttrs)}
	}
	a, err := ParseArray(format, stored)
	if err != nil {
		t.Fatal(err)
	}
	return stored, a
}

func printChange(c Change, err error) string {
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	if c.Shape != nil {
		fmt.Fprintf(&out, "shape %v\n", c.Shape)
	}
	for _, d := range c.Documents {
		fmt.Fprintf(&out, "%s\n%s", d.Name, d.Data)
	}
	return out.String()
}

// TestPostedForeign writes documents of the other format over arrays: attributes and names of axes
// are taken over, and what cannot mean the same is refused by its name.
func TestPostedForeign(t *testing.T) {
	attrs := `"attributes": {"b": [1, 2], "c": "new"}, `
	shownV2, shownV3 := strings.Replace(storedV2, "{", "{"+attrs, 1),
		strings.Replace(storedV3, `"attributes": {"a":NaN, "b": [ 1,2 ], "\u00e9": 1.50},`, attrs,
			1)
	for _, c := range []struct {
		name, posted string
		format       int // of the array
		want         string
	}{
		{"of v2", shownV2, 3,
			"zarr.json\n" + strings.Replace(storedV3, `{"a":NaN, "b": [ 1,2 ], "\u00e9": 1.50}`,
				`{"b": [1, 2], "c": "new"}`, 1)},
		{"of v3", shownV3, 2, ".zattrs\n{\n  \"b\": [\n    1,\n    2\n  ],\n  \"c\": \"new\"\n}"},
		{"of v2, without attributes", storedV2, 3, ``},
		{"of v2, stored in another way",
			strings.NewReplacer(`"compressor": null`, `"compressor": {"id": "who knows"}`,
				"2,\n        3", "4, 1", `"C"`, `"F"`).Replace(storedV2), 3, ``},
		{"of v2, no fill value", strings.Replace(storedV2, "NaN", "null", 1), 3, ``},
		{"of v2, axes",
			strings.Replace(storedV2, "{", `{"attributes": {"_ARRAY_DIMENSIONS": ["y", "x"]}, `, 1),
			3,
			"zarr.json\n" + strings.NewReplacer(`{"a":NaN, "b": [ 1,2 ], "\u00e9": 1.50}`,
				`{"_ARRAY_DIMENSIONS": ["y", "x"]}`,
				"false}\n", "false},\n  \"dimension_names\": [\n    \"y\",\n    "+
					"\"x\"\n  ]\n").Replace(storedV3)},
		{"of v3, axes",
			strings.Replace(shownV3, attrs,
				`"attributes": {"c": 1}, "dimension_names": ["y", "x"], `, 1), 2,
			".zattrs\n{\n  \"c\": 1,\n  \"_ARRAY_DIMENSIONS\": [\n    \"y\",\n    \"x\"\n  ]\n}"},
		{"of v3, axes of which one has no name",
			strings.Replace(storedV3, `"ours"`, `"dimension_names": ["y", null], "ours"`, 1), 2,
			".zattrs\n{\n  \"a\": NaN,\n  \"b\": [\n    1,\n    2\n  ],\n  \"\\u00e9\": 1.50\n}"},

		{"of v2, another shape", strings.Replace(shownV2, "4,\n        6", "6, 4", 1), 3,
			`shape: expected [4 6], as the node of format 3 has it, ` +
				`found [6 4] in a document of format 2`},
		{"of v3, another type", strings.NewReplacer("float32", "int32", `"fill_value": NaN`,
			`"fill_value": 0`).Replace(storedV3), 2,
			`data type: expected '<f4', as the node of format 2 has it, ` +
				`found '<i4' in a document of format 3`},
		{"of v2, another byte order", strings.Replace(storedV2, "<f4", ">f4", 1), 3,
			`data type: expected '<f4', as the node of format 3 has it, ` +
				`found '>f4' in a document of format 2`},
		{"of v2, another fill value", strings.Replace(storedV2, "NaN", "0.5", 1), 3,
			`fill_value: expected "NaN", as the node of format 3 has it, ` +
				`found 0.5 in a document of format 2`},
		{"of v3, a group", `{"zarr_format": 3, "node_type": "group"}`, 2,
			`node_type: expected "array", as the node of format 2 has it, ` +
				`found "group" in a document of format 3`},
		{"of v2, broken", strings.Replace(storedV2, `"shape"`, `"shave"`, 1), 3,
			`chunks: expected nothing, which cannot be changed, found [ 2, 3 ]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			stored, a := storedArray(t, c.format)
			change, err := Posted(a, stored, []byte(c.posted))
			if err != nil && !errors.Is(err, ErrInvalid) {
				t.Errorf("%v is not an ErrInvalid", err)
			}
			compareLines(t, printChange(change, err), c.want)
			if err != nil {
				return
			}
			for _, d := range change.Documents {
				stored[d.Name] = d.Data
			}
			if a, err = ParseArray(c.format, stored); err != nil {
				t.Fatal(err)
			}
			if change, err = Posted(a, stored, []byte(c.posted)); err != nil ||
				printChange(change, nil) != "" {
				t.Errorf("written once more: %v, it changes\n%s", err, printChange(change, nil))
			}
		})
	}
}

// TestPostedGroup writes documents over those of groups.
func TestPostedGroup(t *testing.T) {
	const v3 = `{"attributes":{"a":1},` +
		`"zarr_format":3,"node_type":"group","consolidated_metadata":null}`
	g3 := map[string][]byte{NameV3: []byte(v3)}
	g2 := map[string][]byte{NameGroup: []byte(`{"zarr_format":2}`)}
	for _, c := range []struct {
		stored       map[string][]byte
		posted, want string
	}{
		{g3, v3, ``},
		{g3, `{"attributes": {"b": "x y"}}`,
			"zarr.json\n" + strings.Replace(v3, `{"a":1}`, `{"b":"x y"}`, 1)},
		{g3, `{"shape": [1]}`, `shape: expected nothing, which cannot be changed, found [1]`},
		{g3, `{"node_type": "array"}`,
			`node_type: expected "group", which cannot be changed, found "array"`},
		{g2, `{"zarr_format": 2}`, ``},
		{g2, `{"zarr_format": 2, "attributes": {}}`, ``},
		{g2, `{"attributes": {"b": "x"}}`, ".zattrs\n{\n  \"b\": \"x\"\n}"},
		{g2, v3, ".zattrs\n{\n  \"a\": 1\n}"},
		{g3, `{"zarr_format": 2, "attributes": {"b": "x"}}`,
			"zarr.json\n" + strings.Replace(v3, `{"a":1}`, `{"b":"x"}`, 1)},
		{g3, `{"zarr_format": 2}`, ``},
		{g3, storedV2, `node_type: expected "group", as the node of format 3 has it, ` +
			`found "array" in a document of format 2`},
	} {
		g := &Group{Format: 2}
		if c.stored[NameV3] != nil {
			g.Format = 3
		}
		change, err := PostedGroup(g, c.stored, []byte(c.posted))
		if got := printChange(change, err); got != c.want {
			t.Errorf("%s\ngives\n%s\nwant\n%s", c.posted, got, c.want)
		}
	}
	_, err := Posted(&Array{Format: 1}, nil, []byte("{}"))
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("format 1: %v", err)
	}
}

// TestFromPosted makes arrays and groups of the documents that are shown of others.
func TestFromPosted(t *testing.T) {
	const group = `{"zarr_format":3,"node_type":"group","attributes":{"a":1}`
	for _, c := range []struct {
		name, posted string
		format       int
		want         string
	}{
		{"array v3", storedV3, 3, "array\nzarr.json\n" + storedV3},
		{"array v2", strings.Replace(
			storedV2, `"zarr_format"`, "\"attributes\": {\"a\": [1]},\n    \"zarr_format\"", 1), 2,
			"array\n.zarray\n" + storedV2 + "\n.zattrs\n{\n  \"a\": [\n    1\n  ]\n}"},
		{"array v2 without attributes", storedV2, 2,
			"array\n.zarray\n" + storedV2 + "\n.zattrs\n{}"},
		{"group v3", group + `,"consolidated_metadata":{"kind":"inline","metadata":{}}}`, 3,
			"zarr.json\n" + group + "}"},
		{"group v2", `{"zarr_format":2,"attributes":{}}`, 2,
			".zgroup\n{\"zarr_format\":2}\n.zattrs\n{}"},
		{"array v2 with names", "{\n    \"dimension_names\": [\"y\", \"x\"]," + storedV2[1:], 2,
			"array\n.zarray\n" + storedV2 +
				"\n.zattrs\n{\n  \"_ARRAY_DIMENSIONS\": [\n    \"y\",\n    \"x\"\n  ]\n}"},
		{"array v2 with two names for each axis", `{"dimension_names": ["y", "x"], "attributes": ` +
			`{"_ARRAY_DIMENSIONS": ["b", "a"]},` + storedV2[1:], 2,
			`dimension_names: expected ["b", "a"], as the attribute _ARRAY_DIMENSIONS has it, ` +
				`found ["y", "x"]`},
		{"v2 where v3 is wanted", storedV2, 3,
			`zarr_format: expected 3, the format of the group that it is for, found 2`},
		{"v3 where v2 is wanted", storedV3, 2,
			`zarr_format: expected 2, the format of the group that it is for, found 3`},
		{"no format", `{"shape":[1]}`, 3, `zarr_format: expected 3, found nothing`},
		{"no chunks", strings.Replace(storedV2, `"chunks"`, `"chonks"`, 1), 2,
			`chunks: expected an array of lengths, found nothing`},
		{"attributes", `{"zarr_format":2,"attributes":1}`, 2,
			`attributes: expected an object, found 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			documents, a, err := FromPosted([]byte(c.posted), c.format)
			var out []string
			if a != nil && err == nil {
				out = append(out, "array")
			}
			for _, d := range documents {
				out = append(out, d.Name, string(d.Data))
			}
			got := strings.Join(out, "\n")
			if err != nil {
				got = err.Error()
			}
			compareLines(t, got, c.want)
		})
	}
}

// TestPostedAxesV2 writes documents over an array of format 2, whose names of axes are an
// attribute, and are shown as a member too.
func TestPostedAxesV2(t *testing.T) {
	const (
		yx     = `{"units": "K",  "_ARRAY_DIMENSIONS":["y","x"], "last": 1.50}`
		ba     = `{"units": "K",  "_ARRAY_DIMENSIONS":["b", "a"], "last": 1.50}`
		none   = `{"units": "K", "last": 1.50}`
		laidBa = "{\n  \"units\": \"K\",\n  \"_ARRAY_DIMENSIONS\": " +
			"[\n    \"b\",\n    \"a\"\n  ],\n  \"last\": 1.50\n}"
	)
	for _, c := range []struct {
		name, attrs, posted string
		want                string // the attributes, or the error; "" if they stay byte for byte
	}{
		{"what is shown", yx, "shown", ``},
		{"neither", yx, `{}`, ``},
		{"the same names", yx, `{"dimension_names": ["y", "x"]}`, ``},
		{"other names", yx, `{"dimension_names": ["b", "a"]}`, ba},
		{"other names beside the attributes as they are", yx,
			`{"dimension_names": ["b", "a"], "attributes": ` + yx + `}`, ba},
		{"another attribute beside the names as they are", yx,
			`{"dimension_names": ["y","x"], "attributes": ` + ba + `}`, laidBa},
		{"both alike", yx, `{"dimension_names": ["b", "a"], "attributes": ` + ba + `}`, laidBa},
		{"other names and another attribute", yx, `{"dimension_names": ["b", "a"], "attributes": ` +
			`{"_ARRAY_DIMENSIONS": ["y", "x"], "more": 1}}`,
			"{\n  \"_ARRAY_DIMENSIONS\": [\n    \"b\",\n    \"a\"\n  ],\n  \"more\": 1\n}"},
		{"the attribute taken away", yx, `{"dimension_names": ["y","x"], "attributes": {}}`, `{}`},
		{"the names taken away", yx, `{"dimension_names": null}`, none},
		{"names where there are none", none, `{"dimension_names": ["b", "a"]}`,
			`{"units": "K", "last": 1.50, "_ARRAY_DIMENSIONS": ["b", "a"]}`},
		{"names without a .zattrs", ``, `{"dimension_names": ["b", "a"], "attributes": {}}`,
			"{\n  \"_ARRAY_DIMENSIONS\": [\n    \"b\",\n    \"a\"\n  ]\n}"},
		{"no names without a .zattrs", ``, `{"dimension_names": null}`, ``},
		{"names in the place of a text that is not a list", `{"_ARRAY_DIMENSIONS": "yx"}`,
			`{"dimension_names": ["b", "a"]}`, `{"_ARRAY_DIMENSIONS": ["b", "a"]}`},

		{"both, and they disagree", yx,
			`{"dimension_names": ["b", "a"], "attributes": {"_ARRAY_DIMENSIONS": ["c", "d"]}}`,
			`dimension_names: expected ["c", "d"], as the attribute _ARRAY_DIMENSIONS has it, ` +
				`found ["b", "a"]`},
		{"names, but the attribute taken away", yx,
			`{"dimension_names": ["b", "a"], "attributes": {}}`,
			`dimension_names: expected nothing, as the attribute _ARRAY_DIMENSIONS has it, ` +
				`found ["b", "a"]`},
		{"names taken away, but another attribute", yx,
			`{"dimension_names": null, "attributes": ` + ba + `}`,
			`dimension_names: expected ["b", "a"], as the attribute _ARRAY_DIMENSIONS has it, ` +
				`found nothing`},
		{"names of another rank", yx, `{"dimension_names": ["b"]}`,
			`dimension_names: expected an array of 2 strings, one for each axis of shape, ` +
				`in format 2, found ["b"]`},
		{"a name that is null", yx, `{"dimension_names": ["b", null]}`,
			`dimension_names: expected an array of 2 strings, one for each axis of shape, ` +
				`in format 2, found ["b", null]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			stored := map[string][]byte{NameArray: []byte(storedV2)}
			if c.attrs != "" {
				stored[NameAttrs] = []byte(c.attrs)
			}
			a, err := ParseArray(2, stored)
			if err != nil {
				t.Fatal(err)
			}
			if c.posted == "shown" {
				c.posted = string(a.Document)
			}
			change, err := Posted(a, stored, []byte(c.posted))
			if c.want != "" && err == nil {
				c.want = NameAttrs + "\n" + c.want
			}
			compareLines(t, printChange(change, err), c.want)
		})
	}
}

// TestAxesShown holds where the document that is shown has the names of the axes. An array created
// from it is stored as its source.
func TestAxesShown(t *testing.T) {
	attrs := "{\n  \"_ARRAY_DIMENSIONS\": [\n    \"y\",\n    \"x\"\n  ]\n}"
	for _, c := range []struct {
		name   string
		format int
		stored map[string][]byte
		names  string // the member that is shown; "" for none
	}{
		{"v2", 2, map[string][]byte{NameArray: []byte(storedV2), NameAttrs: []byte(attrs)},
			`["y","x"]`},
		{"v2, no names", 2, map[string][]byte{NameArray: []byte(storedV2),
			NameAttrs: []byte(strings.Replace(attrs, `"x"`, `1`, 1))}, ``},
		{"v3", 3, map[string][]byte{NameV3: []byte(strings.Replace(storedV3, `"ours"`,
			`"dimension_names": ["y", null], "ours"`, 1))}, `["y",null]`},
		{"v3, an attribute alone", 3, map[string][]byte{NameV3: []byte(strings.Replace(storedV3,
			`"b"`, `"_ARRAY_DIMENSIONS": ["y", "x"], "b"`, 1))}, ``},
	} {
		a, err := ParseArray(c.format, c.stored)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		shown, err := pyjson.Parse(a.Document)
		if err != nil {
			t.Fatal(err)
		}
		got := string(shown.Get("dimension_names").Standard())
		if strings.ReplaceAll(got, " ", "") != c.names {
			t.Errorf("%s: shows the names %s, want %s", c.name, got, c.names)
		}
		if (a.DimensionNames != nil) != (c.names != "") {
			t.Errorf("%s: has the names %q", c.name, a.DimensionNames)
		}
		made, _, err := FromPosted(a.Document, c.format)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for _, d := range made {
			was, _ := pyjson.Parse(c.stored[d.Name])
			if now, _ := pyjson.Parse(d.Data); !pyjson.Equal(now, was) {
				t.Errorf("%s: %s becomes\n%s", c.name, d.Name, d.Data)
			}
		}
	}
}

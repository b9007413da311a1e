package meta

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// The documents of the tables below are these, with some members changed.
var (
	goodV3 = map[string]string{
		"zarr_format": "3", "node_type": `"array"`, "shape": "[7, 5]", "data_type": `"int32"`,
		"fill_value":         "0",
		"chunk_grid":         `{"name": "regular", "configuration": {"chunk_shape": [4, 5]}}`,
		"chunk_key_encoding": `{"name": "default"}`,
		"codecs":             `[{"name": "bytes", "configuration": {"endian": "little"}}]`,
	}
	goodGroupV3 = map[string]string{"zarr_format": "3", "node_type": `"group"`}
	goodV2      = map[string]string{
		"zarr_format": "2", "shape": "[7, 5]", "chunks": "[4, 5]", "dtype": `"<i4"`,
		"fill_value": "0", "order": `"C"`,
		"filters": "null", "compressor": "null",
	}
	goodV1 = map[string]string{
		"zarr_format": "1", "shape": "[7, 5]", "chunks": "[4, 5]", "dtype": `"<i4"`,
		"fill_value": "0", "order": `"C"`,
		"compression": `"zlib"`, "compression_opts": "1",
	}
)

// document writes a document's members in the order of their keys, after changes of the form `key:
// value`, or `key:` to drop it.
func document(good map[string]string, changes ...string) []byte {
	members := maps.Clone(good)
	for _, change := range changes {
		key, value, _ := strings.Cut(change, ":")
		members[key] = strings.TrimSpace(value)
		if members[key] == "" {
			delete(members, key)
		}
	}
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(members)) {
		lines = append(lines, fmt.Sprintf("%q: %s", key, members[key]))
	}
	return []byte("{" + strings.Join(lines, ", ") + "}")
}

// refusal is a change of a good document and the error about it, after a ! if the error is
// errors.ErrUnsupported.
type refusal struct{ change, want string }

func (r refusal) check(t *testing.T, err error) {
	t.Helper()
	kind, other := ErrInvalid, errors.ErrUnsupported
	want, isUnsupported := strings.CutPrefix(r.want, "!")
	if isUnsupported {
		kind, other = other, kind
	}
	switch {
	case err == nil:
		t.Errorf("%s: no error\nwant %s", r.change, r.want)
	case err.Error() != want:
		t.Errorf("%s:\n%v\nwant\n%s", r.change, err, want)
	case !errors.Is(err, kind) || errors.Is(err, other):
		t.Errorf("%s: %v is of the wrong kind", r.change, err)
	}
}

func nest(open, inner, end string, times int) string {
	return strings.Repeat(open, times) + inner + strings.Repeat(end, times)
}

// rectilinearGrid is the change of a document that gives it such a grid, with the rest of the
// configuration behind chunk_shapes.
func rectilinearGrid(configuration string) string {
	return `chunk_grid: {"name": "rectilinear", "configuration": {"chunk_shapes": ` +
		configuration + `}}`
}

func TestRefusedV3(t *testing.T) {
	for _, r := range []refusal{
		// sizes
		{`shape:`, `shape: expected an array of lengths, found nothing`},
		{`shape: 7`, `shape: expected an array of lengths, found 7`},
		{`shape: [7, -5]`, `shape[1]: expected an integer from 0 to 9223372036854775807, found -5`},
		{`shape: [7, 5.5]`,
			`shape[1]: expected an integer from 0 to 9223372036854775807, found 5.5`},
		{`shape: [7, "5"]`,
			`shape[1]: expected an integer from 0 to 9223372036854775807, found "5"`},
		{`shape: [7, true]`,
			`shape[1]: expected an integer from 0 to 9223372036854775807, found true`},
		{`shape: [7, NaN]`,
			`shape[1]: expected an integer from 0 to 9223372036854775807, found NaN`},
		{`shape: [7, 9223372036854775808]`,
			`shape[1]: expected an integer from 0 to 9223372036854775807, ` +
				`found 9223372036854775808`},
		{`shape: [7, 1e400]`,
			`shape[1]: expected an integer from 0 to 9223372036854775807, found 1e400`},
		{`shape: [7]`,
			`chunk_grid.configuration.chunk_shape: expected 1 lengths, ` +
				`one for each axis of shape, found [4, 5]`},
		{`shape: [` + strings.Repeat("1,", 64) + `1]`,
			`shape[64]: expected at most 64 axes, found 1`},
		{`shape: [4611686018427387904, 5]`,
			`shape: invalid layout: ` +
				`shape [4611686018427387904 5] of 4-byte elements has more than 2^63-1 bytes`},
		{`shape: [9223372036854775807, 9223372036854775807]`,
			`shape: invalid layout: shape [9223372036854775807 9223372036854775807] of 4-byte ` +
				`elements has more than 2^63-1 bytes`},
		// chunk grid
		{`chunk_grid:`, `chunk_grid: expected a name or an object with a name, found nothing`},
		{`chunk_grid: [4, 5]`,
			`chunk_grid: expected a name or an object with a name, found [4, 5]`},
		{`chunk_grid: "regular"`,
			`chunk_grid.configuration.chunk_shape: expected an array of lengths, found nothing`},
		{`chunk_grid: {"name": "zarrs.regular_bounded", "configuration": {"chunk_shape": ` +
			`[[4, 3], 5]}}`,
			`chunk_grid.configuration.chunk_shape[0]: ` +
				`expected an integer from 0 to 9223372036854775807, found [4, 3]`},
		{`chunk_grid: {"configuration": {"chunk_shape": [4, 5]}}`,
			`chunk_grid.name: expected a string, found nothing`},
		{`chunk_grid: {"name": "regular", "configuration": [4, 5]}`,
			`chunk_grid.configuration: expected an object, found [4, 5]`},
		{`chunk_grid: {"name": "regular", "configuration": {"chunk_shape": [0, 5]}}`,
			`chunk_grid.configuration.chunk_shape[0]: ` +
				`expected 1 or more for an axis of length 7, found 0`},
		{`chunk_grid: {"name": "regular", "configuration": {"chunk_shape": [4, -1]}}`,
			`chunk_grid.configuration.chunk_shape[1]: ` +
				`expected an integer from 0 to 9223372036854775807, found -1`},
		{`chunk_grid: {"name": "regular", "configuration": {"chunk_shape": ` +
			`[4611686018427387904, 4611686018427387904]}}`,
			`shape: invalid layout: chunk shape [4611686018427387904 4611686018427387904] of ` +
				`4-byte elements has more than 2^63-1 bytes`},
		{`chunk_grid: {"name": "regular", "configuration": {"chunk_shape": [4, 5], "edge": "cut"}}`,
			`!chunk_grid.configuration.edge: expected chunk_shape alone, found "cut"`},
		{`chunk_grid: "hexagonal"`,
			`!chunk_grid.name: expected "rectangular", "rectilinear", ` +
				`"regular" or "zarrs.regular_bounded", found "hexagonal"`},
		{`chunk_grid: {"name": "zarrs.regular_bounded", "configuration": {"chunk_shape": [0, 5]}}`,
			`chunk_grid.configuration.chunk_shape[0]: ` +
				`expected 1 or more for an axis of length 7, found 0`},
		{rectilinearGrid(`[4, 5], "kind": "remote"`),
			`!chunk_grid.configuration.kind: expected "inline", found "remote"`},
		{`chunk_grid: {"name": "rectilinear", "configuration": {"chunk_shapes": [4, 5]}}`,
			`!chunk_grid.configuration.kind: expected "inline", found nothing`},
		{rectilinearGrid(`[4, 5], "kind": "inline", "edge": "cut"`),
			`!chunk_grid.configuration.edge: expected kind and chunk_shapes alone, found "cut"`},
		{rectilinearGrid(`[4, 5], "kind": "inline", "encoded_chunk_shapes": [8]`),
			`!chunk_grid.configuration.encoded_chunk_shapes: ` +
				`expected kind and chunk_shapes alone, found [8]`},
		{rectilinearGrid(`[4], "kind": "inline"`),
			`chunk_grid.configuration.chunk_shapes: expected an array of lengths, ` +
				`or of lists of them, for each of 2 axes, found [4]`},
		{rectilinearGrid(`[0, 5], "kind": "inline"`),
			`chunk_grid.configuration.chunk_shapes[0]: expected a length of 1 or more, ` +
				`or an array of them, found 0`},
		{rectilinearGrid(`[[4, 0, 3], 5], "kind": "inline"`),
			`chunk_grid.configuration.chunk_shapes[0][1]: expected a length of 1 or more, ` +
				`or a pair of it and of how many chunks have it, found 0`},
		{rectilinearGrid(`[[[4, 2, 1]], 5], "kind": "inline"`),
			`chunk_grid.configuration.chunk_shapes[0][0]: expected a length of 1 or more, ` +
				`or a pair of it and of how many chunks have it, found [4, 2, 1]`},
		{rectilinearGrid(`[[[4, 1.5]], 5], "kind": "inline"`),
			`chunk_grid.configuration.chunk_shapes[0][0]: expected a length of 1 or more, ` +
				`or a pair of it and of how many chunks have it, found [4, 1.5]`},
		{rectilinearGrid(`[[4, 2], 5], "kind": "inline"`),
			`chunk_grid.configuration.chunk_shapes: invalid layout: axis 0: ` +
				`chunks of 6 elements in all, expected at least 7`},
		{rectilinearGrid(
			`[[[9223372036854775807, 9223372036854775807]], [9223372036854775807]], "kind": ` +
				`"inline"`),
			`chunk_grid.configuration.chunk_shapes: invalid layout: ` +
				`chunk shape [9223372036854775807 9223372036854775807] of 1-byte elements has ` +
				`more than 2^63-1 bytes`},
		{rectilinearGrid(`[[` + strings.Repeat("1,2,", 40_000) + `7], 5], "kind": "inline"`),
			`!chunk_grid.configuration.chunk_shapes[0]: expected at most 65536 changes of the ` +
				`length, found [` + strings.Repeat("1,2,", 14) + `1,2…`},
		{`chunk_grid: {"name": "rectangular", "configuration": {"chunk_shapes": [4, 5]}}`,
			`!chunk_grid.configuration.chunk_shapes: expected chunk_shape alone, found [4, 5]`},
		{`chunk_grid: {"name": "regular", "configuration": {"chunk_shape": [4, 5]}, ` +
			`"must_understand": false}`,
			`chunk_grid.must_understand: expected true or nothing, found false`},
		// chunk keys
		{`chunk_key_encoding:`,
			`chunk_key_encoding: expected a name or an object with a name, found nothing`},
		{`chunk_key_encoding: {"name": "fanout", "configuration": {"max_children": 100}}`,
			`!chunk_key_encoding.name: expected "default", "suffix", ` +
				`"v2" or "zarrs.default_suffix", found "fanout"`},
		{`chunk_key_encoding: "suffix"`,
			`chunk_key_encoding.configuration.suffix: expected a string without "/", ` +
				`found nothing`},
		{`chunk_key_encoding: {"name": "zarrs.default_suffix", "configuration": {"suffix": "/x"}}`,
			`chunk_key_encoding.configuration.suffix: expected a string without "/", found "/x"`},
		{`chunk_key_encoding: {"name": "zarrs.default_suffix", "configuration": {"suffix": ".a", ` +
			`"prefix": "b"}}`,
			`!chunk_key_encoding.configuration.prefix: expected separator and suffix alone, ` +
				`found "b"`},
		{`chunk_key_encoding: {"name": "suffix", "configuration": {"suffix": ".a", ` +
			`"base_encoding": {"name": "suffix"}}}`,
			`!chunk_key_encoding.configuration.base_encoding.name: ` +
				`expected an encoding without a suffix, found "suffix"`},
		{`chunk_key_encoding: {"name": "suffix", "configuration": {"suffix": ".a", ` +
			`"base-encoding": {"name": "fanout"}}}`,
			`!chunk_key_encoding.configuration.base-encoding.name: expected "default", "suffix", ` +
				`"v2" or "zarrs.default_suffix", found "fanout"`},
		{`chunk_key_encoding: {"name": "suffix", "configuration": {"suffix": ".a", ` +
			`"base_encoding": {"name": "v2", "configuration": {"separator": ""}}}}`,
			`chunk_key_encoding.configuration.base_encoding.configuration.separator: ` +
				`expected "." or "/", found ""`},
		{`chunk_key_encoding: {"name": "v2", "configuration": {"separator": "-"}}`,
			`chunk_key_encoding.configuration.separator: expected "." or "/", found "-"`},
		{`chunk_key_encoding: {"name": "v2", "configuration": {"suffix": ".tiff"}}`,
			`!chunk_key_encoding.configuration.suffix: expected separator alone, found ".tiff"`},
		{`chunk_key_encoding: {"name": "default", "must_understand": false}`,
			`chunk_key_encoding.must_understand: expected true or nothing, found false`},
		// data type and fill value
		{`data_type:`, `data_type: expected a name or an object with a name, found nothing`},
		{`data_type: {"name": "int32", "must_understand": false}`,
			`data_type.must_understand: expected true or nothing, found false`},
		{`data_type: {"name": "struct", "configuration": {"fields": [["a", "string"]]}}`,
			`!data_type: struct field "a" of type string: unsupported operation`},
		{`fill_value:`, `fill_value: expected a value, found nothing`},
		// codecs
		{`codecs:`, `codecs: expected an array of codecs, found nothing`},
		{`codecs: {"name": "bytes"}`,
			`codecs: expected an array of codecs, found {"name": "bytes"}`},
		{`codecs: ["bytes", 3]`, `codecs[1]: expected a name or an object with a name, found 3`},
		{`codecs: [{"id": "zlib"}]`, `codecs[0].name: expected a string, found nothing`},
		{`codecs: [{"name": "bytes", "configuration": "little"}]`,
			`codecs[0].configuration: expected an object, found "little"`},
		{`codecs: [{"name": "bytes", "configuration": {"endian": "middle"}}]`,
			`codecs[0].configuration.endian: expected "little" or "big", found "middle"`},
		{`codecs: [` + strings.Repeat(`"crc32c",`, 64) + `"bytes"]`,
			`codecs[64]: expected at most 64 codecs, found "bytes"`},
		{`codecs: [{"name": "sharding_indexed", "configuration": {"codecs": [{"name": "bytes", ` +
			`"configuration": {"endian": 1}}]}}]`,
			`codecs[0].configuration.codecs[0].configuration.endian: ` +
				`expected "little" or "big", found 1`},
		{`codecs: [{"name": "sharding_indexed"}]`,
			`codecs[0].configuration.codecs: expected an array of codecs, found nothing`},
		{`codecs: [` + nest(`{"name": "sharding_indexed", "configuration": {"codecs": [`, `"bytes"`,
			`]}}`, 17) + `]`,
			`codecs[0].configuration` + strings.Repeat(`.codecs[0].configuration`, 16) +
				`.codecs: expected at most 16 levels of sharding, found ["bytes"]`},
		// the rest
		{`zarr_format:`, `zarr_format: expected 3, found nothing`},
		{`zarr_format: 2`, `!zarr_format: expected 3, found 2`},
		{`zarr_format: null`, `zarr_format: expected 3, found null`},
		{`node_type:`, `node_type: expected "array" or "group", found nothing`},
		{`node_type: "table"`, `node_type: expected "array" or "group", found "table"`},
		{`attributes: []`, `attributes: expected an object, found []`},
		{`dimension_names: ["y"]`,
			`dimension_names: expected an array of 2 strings or nulls, ` +
				`one for each axis of shape, found ["y"]`},
		{`dimension_names: ["y", 2]`,
			`dimension_names: expected an array of 2 strings or nulls, ` +
				`one for each axis of shape, found ["y", 2]`},
		{`dimension_names: "yx"`,
			`dimension_names: expected an array of 2 strings or nulls, ` +
				`one for each axis of shape, found "yx"`},
		{`storage_transformers: {}`, `storage_transformers: expected an array, found {}`},
		{`storage_transformers: [{"name": "indirect"}]`,
			`!storage_transformers: expected no storage transformer, found {"name": "indirect"}`},
		{`compressor: null`,
			`!compressor: expected no such member, or an object with must_understand false, ` +
				`found null`},
		{`ext: {"must_understand": true}`,
			`!ext: expected no such member, or an object with must_understand false, ` +
				`found {"must_understand": true}`},
		{`Shape: [7, 5]`,
			`!Shape: expected no such member, or an object with must_understand false, ` +
				`found [7, 5]`},
		// drafts
		{`chunk_memory_layout: "C"`,
			`!chunk_memory_layout: expected a document of the final Zarr v3 specification, ` +
				`found one of a draft; ` +
				`zarr-python 2.18 reads it with ZARR_V3_EXPERIMENTAL_API=1 and can copy it to ` +
				`version 2`},
	} {
		a, g, err := ParseV3(document(goodV3, r.change))
		r.check(t, err)
		if g != nil || a == nil && !strings.HasPrefix(r.change, "zarr_format") &&
			!strings.HasPrefix(r.change, "node_type") {
			t.Errorf("%s: array %v, group %v", r.change, a, g)
		}
		if a != nil && len(a.Document) == 0 {
			t.Errorf("%s: no document", r.change)
		}
	}
}

func TestRefusedGroupV3(t *testing.T) {
	for _, r := range []refusal{
		{`attributes: 3`, `attributes: expected an object, found 3`},
		{`shape: []`, `shape: expected no such member of a group, found []`},
		{`consolidated_metadata: {"kind": "remote"}`,
			`!consolidated_metadata: expected null or an object of kind inline, found {"kind": ` +
				`"remote"}`},
		{`storage_transformers: ["x"]`,
			`!storage_transformers: expected no storage transformer, found "x"`},
		{`ext: 1`,
			`!ext: expected no such member, or an object with must_understand false, found 1`},
		{`metadata_encoding: "https://purl.org/zarr/spec/protocol/core/3.0"`,
			`!metadata_encoding: expected a document of the final Zarr v3 specification, ` +
				`found one of a draft; zarr-python 2.18 reads it with ` +
				`ZARR_V3_EXPERIMENTAL_API=1 and can copy it to version 2`},
		{`zarr_format: "https://purl.org/zarr/spec/protocol/core/3.0"`,
			`!zarr_format: expected a document of the final Zarr v3 specification, ` +
				`found one of a draft; zarr-python 2.18 reads it with ` +
				`ZARR_V3_EXPERIMENTAL_API=1 and can copy it to version 2`},
	} {
		a, g, err := ParseV3(document(goodGroupV3, r.change))
		r.check(t, err)
		if a != nil || g == nil || len(g.Document) == 0 {
			t.Errorf("%s: array %v, group %v", r.change, a, g)
		}
	}
}

func TestRefusedV2(t *testing.T) {
	for _, r := range []refusal{
		{`zarr_format:`, `zarr_format: expected 2, found nothing`},
		{`zarr_format: 1`, `!zarr_format: expected 2, found 1`},
		{`shape:`, `shape: expected an array of lengths, found nothing`},
		{`shape: [7, 2.5]`,
			`shape[1]: expected an integer from 0 to 9223372036854775807, found 2.5`},
		{`chunks:`, `chunks: expected an array of lengths, found nothing`},
		{`chunks: true`, `chunks: expected an array of lengths, found true`},
		{`chunks: [4]`, `chunks: expected 2 lengths, one for each axis of shape, found [4]`},
		{`chunks: [4, 0]`, `chunks[1]: expected 1 or more for an axis of length 5, found 0`},
		{`dtype:`, `dtype: expected a string or an array of fields, found nothing`},
		{`dtype: [["a", "|O"]]`, `!dtype: struct field "a" of type object: unsupported operation`},
		{`order:`, `order: expected "C" or "F", found nothing`},
		{`order: "A"`, `order: expected "C" or "F", found "A"`},
		{`filters: {"id": "delta"}`,
			`filters: expected null or an array of codecs, found {"id": "delta"}`},
		{`filters: [{"name": "delta"}]`, `filters[0].id: expected a string, found nothing`},
		{`filters: [` + strings.Repeat(`{"id": "x"},`, 64) + `{"id": "y"}]`,
			`filters[64]: expected at most 64 codecs, found {"id": "y"}`},
		{`compressor: "zlib"`, `compressor: expected an object with an id, found "zlib"`},
		{`compressor: {"id": 3}`, `compressor.id: expected a string, found 3`},
		{`dimension_separator: "-"`, `dimension_separator: expected "." or "/", found "-"`},
	} {
		a, err := ParseV2Array(document(goodV2, r.change), nil)
		r.check(t, err)
		if a == nil || len(a.Document) == 0 {
			t.Errorf("%s: array %v", r.change, a)
		}
	}
}

func TestRefusedV1(t *testing.T) {
	for _, r := range []refusal{
		{`zarr_format: 2`, `!zarr_format: expected 1, found 2`},
		{`compression:`, `compression: expected null or a string, found nothing`},
		{`compression: {"id": "zlib"}`,
			`compression: expected null or a string, found {"id": "zlib"}`},
		{`compression_opts: [1]`,
			`compression_opts: expected null, an integer, a string or an object, found [1]`},
		{`compression_opts: true`,
			`compression_opts: expected null, an integer, a string or an object, found true`},
		{`order: null`, `order: expected "C" or "F", found null`},
	} {
		_, err := ParseV1(document(goodV1, r.change), []byte("{}"))
		r.check(t, err)
	}
}

// TestRefusedDocuments is about documents that are wrong as a whole, and about those of attributes.
func TestRefusedDocuments(t *testing.T) {
	for _, c := range []struct{ doc, attrs, want string }{
		{``, ``, `line 1, column 1 (byte 0): expected a value, found the end of the document`},
		{`{'dtype': '!b1'}`, ``,
			`line 1, column 2 (byte 1): expected a key in double quotes, found '\''`},
		{`[1, 2]`, ``, `expected an object, found [1, 2]`},
		{`{"shape": [1], "shape": [2]}`, ``,
			`line 1, column 16 (byte 15): expected keys that occur once, found key "shape" again`},
		{`good`, `[1]`, `.zattrs: expected an object, found [1]`},
		{`good`, `{"a":`,
			`.zattrs: line 1, column 6 (byte 5): expected a value, found the end of the document`},
	} {
		if c.doc == "good" {
			c.doc = string(document(goodV2))
		}
		attrs := []byte(c.attrs)
		if c.attrs == "" {
			attrs = nil
		}
		a, err := ParseV2Array([]byte(c.doc), attrs)
		refusal{c.doc, c.want}.check(t, err)
		if a == nil || string(a.Document) == "" && c.doc != "" {
			t.Errorf("%s: array %v", c.doc, a)
		}
		g, err := ParseV2Group([]byte(c.doc), attrs)
		refusal{c.doc, c.want}.check(t, err)
		if g == nil {
			t.Errorf("%s: no group", c.doc)
		}
		if c.attrs == "" {
			_, _, err = ParseV3([]byte(c.doc))
			refusal{c.doc, c.want}.check(t, err)
		}
	}
}

// TestTypesRefused holds that errors of package dtype keep their kind and get the member's name.
func TestTypesRefused(t *testing.T) {
	for _, c := range []struct {
		change, member string
		kind           error
	}{
		{`data_type: "int24"`, "data_type", errors.ErrUnsupported},
		{`data_type: {"name": "zarrs.optional", "configuration": {}}`, "data_type",
			errors.ErrUnsupported},
		{`data_type: 3`, "data_type", ErrInvalid},
		{`data_type: {"name": "raw_bytes"}`, "data_type", ErrInvalid},
		{`fill_value: "no number"`, "fill_value", ErrInvalid},
		{`fill_value: 2147483648`, "fill_value", ErrInvalid},
		{`fill_value: [0]`, "fill_value", ErrInvalid},
		{`fill_value: 0.5`, "fill_value", ErrInvalid},
	} {
		_, _, err := ParseV3(document(goodV3, c.change))
		if err == nil || !errors.Is(err, c.kind) || !strings.HasPrefix(err.Error(), c.member+": ") {
			t.Errorf("%s: %v", c.change, err)
		}
		t.Log(err)
	}
}

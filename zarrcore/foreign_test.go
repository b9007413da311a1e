package zarrcore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

const (
	foreignV2 = `{"zarr_format": 2, "shape": [10, 4], "chunks": [3, 4], "dtype": ">i2",
		"fill_value": 7, "order": "C", "filters": null,
		"compressor": {"id": "zlib", "level": 3}, "attributes": {"_ARRAY_DIMENSIONS": ["y", "x"]}}`
	foreignV3 = `{"zarr_format": 3, "node_type": "array", "shape": [10, 4], "data_type": "float32",
		"fill_value": "NaN", "attributes": {"a": 1},
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3, 4]}},
		"chunk_key_encoding": {"name": "default"}, "dimension_names": ["y", "x"],
		"codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, ` +
		`{"name": "gzip", "configuration": {"level": 3}}]}`
)

// TestCreateByForeignDocument creates arrays and groups by documents of the other format. What it
// means stays; codecs that the format of the new array does not have, or that cannot be encoded,
// are the recipe's.
func TestCreateByForeignDocument(t *testing.T) {
	const (
		gzip    = `{"name": "gzip", "configuration": {"level": 3}}`
		sharded = `{"name": "sharding_indexed", "configuration": {"chunk_shape": [5, 2],
			"codecs": [{"name": "bytes", "configuration": {"endian": "big"}}, ` + gzip + `],
			"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
			{"name": "crc32c"}]}}`
	)
	for _, tc := range []struct {
		name, doc string
		edit      []string // old, new, …
		want      string   // the new array, or the error
	}{
		{"v2", foreignV2, nil,
			`'>i2' [10 4] chunks [3 4] fill 0007 names [y x] bytes numcodecs.zlib{"level":3} ` +
				`{"_ARRAY_DIMENSIONS":["y","x"]}`},
		{"v2, order F", foreignV2, []string{`"C"`, `"F"`},
			`'>i2' [10 4] chunks [3 4] fill 0007 names [y x] transpose bytes ` +
				`numcodecs.zlib{"level":3} {"_ARRAY_DIMENSIONS":["y","x"]}`},
		{"v2, no fill value", foreignV2, []string{`7`, `null`, `["y", "x"]`, `[]`},
			`'>i2' [10 4] chunks [3 4] fill 0000 names [] bytes numcodecs.zlib{"level":3} ` +
				`{"_ARRAY_DIMENSIONS":[]}`},
		{"v2, a codec of its own", foreignV2, []string{`"zlib"`, `"ours"`},
			`'>i2' [10 4] chunks [3 4] fill 0007 names [y x] bytes zstd{"level":0,` +
				`"checksum":false} {"_ARRAY_DIMENSIONS":["y","x"]}`},
		{"v2, nothing in it", foreignV2, []string{`[10, 4]`, `[0, 4]`, `[3, 4]`, `[0, 4]`},
			`'>i2' [0 4] chunks [1 4] fill 0007 names [y x] bytes numcodecs.zlib{"level":3} ` +
				`{"_ARRAY_DIMENSIONS":["y","x"]}`},
		{"v2, strings", foreignV2, []string{`">i2"`, `"|O"`, `7`, `"?"`, `null,`,
			`[{"id": "vlen-utf8"}],`},
			`string [10 4] chunks [3 4] fill 3f names [y x] vlen-utf8 numcodecs.zlib{"level":3} ` +
				`{"_ARRAY_DIMENSIONS":["y","x"]}`},
		{"v2, objects of other kinds", foreignV2, []string{`">i2"`, `"|O"`, `7`, `null`, `null,`,
			`[{"id": "json2"}],`},
			`codecs: expected a codec that zarr-python 3 knows in format 3, ` +
				`found "numcodecs.json2"`},
		{"v3", foreignV3, nil,
			`'<f4' [10 4] chunks [3 4] fill 0000c07f names [y x] bytes numcodecs.gzip{"level":3} ` +
				`{"a":1,"_ARRAY_DIMENSIONS":["y","x"]}`},
		{"v3, an axis without a name", foreignV3, []string{`"y"`, `null`},
			`'<f4' [10 4] chunks [3 4] fill 0000c07f names [] bytes ` +
				`numcodecs.gzip{"level":3} {"a":1}`},
		{"v3, sharded", foreignV3,
			[]string{`{"name": "bytes", "configuration": {"endian": "little"}}, ` + gzip, sharded,
				`[3, 4]`, `[10, 4]`},
			`'>f4' [10 4] chunks [5 2] fill 7fc00000 names [y x] bytes numcodecs.gzip{"level":3} ` +
				`{"a":1,"_ARRAY_DIMENSIONS":["y","x"]}`},
		{"v3, a checksum", foreignV3, []string{gzip, gzip + `, {"name": "crc32c"}`},
			`'<f4' [10 4] chunks [3 4] fill 0000c07f names [y x] numcodecs.gzip{"level":3} bytes ` +
				`numcodecs.crc32c{} {"a":1,"_ARRAY_DIMENSIONS":["y","x"]}`},
		{"v3, a codec of its own", foreignV3, []string{gzip, gzip + `, {"name": "zarrs.gdeflate"}`},
			`'<f4' [10 4] chunks [3 4] fill 0000c07f names [y x] bytes numcodecs.zstd{"level":0} ` +
				`{"a":1,"_ARRAY_DIMENSIONS":["y","x"]}`},
		{"v3, order F", foreignV3,
			[]string{`"codecs": [`,
				`"codecs": [{"name": "transpose", "configuration": {"order": [1, 0]}}, `},
			`'<f4' [10 4] chunks [3 4] fill 0000c07f names [y x] transpose bytes ` +
				`numcodecs.gzip{"level":3} {"a":1,"_ARRAY_DIMENSIONS":["y","x"]}`},
		{"v3, chunks that differ", foreignV3,
			[]string{`"regular", "configuration": {"chunk_shape": [3, 4]}`,
				`"rectilinear", "configuration": {"kind": "inline", "chunk_shapes": ` +
					`[[3, 7], [4]]}`}, `'<f4' [10 4] chunks [10 4] fill 0000c07f names [y x] ` +
				`bytes numcodecs.gzip{"level":3} {"a":1,"_ARRAY_DIMENSIONS":["y","x"]}`},
		{"v3, bytes of any length", foreignV3, []string{`"float32"`, `"bytes"`, `"NaN"`, `""`,
			`{"name": "bytes", "configuration": {"endian": "little"}}`, `{"name": "vlen-bytes"}`},
			`object [10 4] chunks [3 4] fill 2222 names [y x] numcodecs.vlen-bytes bytes ` +
				`numcodecs.gzip{"level":3} {"a":1,"_ARRAY_DIMENSIONS":["y","x"]}`},
		{"v3, a fill value of bytes", foreignV3, []string{`"float32"`, `"bytes"`, `"NaN"`, `"YQ=="`,
			`{"name": "bytes", "configuration": {"endian": "little"}}`, `{"name": "vlen-bytes"}`},
			`fill_value: expected no bytes in format 2, found "a"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := writable(t, map[string]int{"v2": 3, "v3": 2}[tc.name[:2]], memstore.New())
			got := ""
			if err := h.CreateFromDocument(t.Context(), "a",
				[]byte(strings.NewReplacer(tc.edit...).Replace(tc.doc))); err != nil {
				if !errors.Is(err, errors.ErrUnsupported) {
					t.Errorf("expected ErrUnsupported, found %v", err)
				}
				got = strings.TrimPrefix(err.Error(), `cannot create "a": `)
			} else {
				n, err := h.Node(t.Context(), "a")
				must(t, err)
				must(t, n.Err)
				got = inWords(n.Meta)
			}
			if got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
	h := writable(t, 2, memstore.New())
	must(t,
		h.CreateFromDocument(t.Context(), "g",
			[]byte(`{"zarr_format": 3, "node_type": "group", "attributes": {"a": 1}}`)))
	if n, err := h.Node(t.Context(), "g"); err != nil || n.Format != 2 ||
		string(n.Attributes.Standard()) != `{"a":1}` {
		t.Errorf("the group is %+v, %v", n, err)
	}
}

func inWords(m *meta.Array) string {
	text := m.Type.Descr()
	if m.Type.Name != "" {
		text = m.Type.Name
	}
	text += fmt.Sprintf(" %v chunks %v fill %x names %v", m.Shape, m.Chunk, m.Fill,
		m.DimensionNames)
	for _, c := range m.Codecs {
		text += " " + c.Name
		if c.Kind() == meta.BytesToBytes {
			text += string(c.Config.Standard())
		}
	}
	return text + " " + string(m.Attributes.Standard())
}

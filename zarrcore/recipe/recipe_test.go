package recipe

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

func load[T any](t *testing.T, path string) []T {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cases []T
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// TestChunks holds automatic chunks and shards against those of zarr-python, for many shapes.
func TestChunks(t *testing.T) {
	cases := load[[5]json.RawMessage](t, "testdata/chunks.json")
	if len(cases) < 500 {
		t.Fatalf("%d shapes, expected 500 or more", len(cases))
	}
	for _, c := range cases {
		var shape, chunk, inner, shard []int64
		var size int64
		for i, to := range []any{&shape, &size, &chunk, &inner, &shard} {
			if err := json.Unmarshal(c[i], to); err != nil {
				t.Fatal(err)
			}
		}
		got, none, err := partition(shape, size, cutting{}, cutting{})
		if err != nil || none != nil || !slices.Equal(got, chunk) {
			t.Errorf("%v of %d bytes: chunks %v, %v, want %v", shape, size, got, err, chunk)
		}
		gotInner, gotShard, err := partition(shape, size, cutting{}, cutting{manner: auto})
		if err != nil || !slices.Equal(gotInner, inner) || !slices.Equal(gotShard, shard) {
			t.Errorf("%v of %d bytes: chunks %v, shards %v, %v, want %v, %v", shape, size, gotInner,
				gotShard, err, inner, shard)
		}
	}
}

// TestNewDocuments holds the documents of new arrays against those of zarr-python 3.4.2.
func TestNewDocuments(t *testing.T) {
	type created struct {
		Settings  map[string]string
		Shape     []int64
		Type      json.RawMessage
		Fortran   bool
		Documents map[string]string
	}
	for _, c := range load[created](t, "testdata/documents.json") {
		var r Recipe
		var err error
		for name, text := range c.Settings {
			if r, err = r.Set(name, text); err != nil {
				t.Fatal(err)
			}
		}
		spec, err := r.Spec(c.Shape, parsedType(t, string(c.Type)), c.Fortran)
		if err != nil {
			t.Errorf("%v: %v", c.Settings, err)
			continue
		}
		documents, err := spec.Documents()
		if err != nil || len(documents) != len(c.Documents) {
			t.Errorf("%v: %d documents, %v", c.Settings, len(documents), err)
		}
		for _, d := range documents {
			if want := c.Documents[d.Name]; string(d.Data) != want {
				t.Errorf("%v, %v %s, fortran %v: %s is\n%s\nwant\n%s", c.Settings, c.Shape, c.Type,
					c.Fortran, d.Name, d.Data, want)
			}
		}
	}
}

func typeOf(t testing.TB, typestr string) dtype.Type {
	t.Helper()
	return parsedType(t, string(pyjson.StringOf(typestr).Raw()))
}

// parsedType is the type that JSON text spells, as format 2 does or, of elements without a fixed
// size, as format 3.
func parsedType(t testing.TB, text string) dtype.Type {
	t.Helper()
	v, err := pyjson.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if typ, err := dtype.ParseV3(v); err == nil && typ.Kind == dtype.Object {
		return typ
	}
	typ, err := dtype.ParseV2(v)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// TestPartition tries the ways to cut an array that zarr-python lacks, and the refused ones.
func TestPartition(t *testing.T) {
	for _, c := range []struct {
		chunks, shards string
		shape          []int64
		size           int64
		want           string // chunks and shards, or the error
	}{
		{"rows", "none", []int64{1 << 20, 100}, 8, `[4096 100] []`}, // 3.1 MiB
		{"rows", "none", []int64{10, 100}, 8, `[10 100] []`},
		{"rows", "none", []int64{0, 100}, 8, `[4096 100] []`},
		{"rows", "none", []int64{100, 1 << 20}, 8, `[1 1048576] []`},
		{"rows", "none", []int64{100, 0}, 8, `[100 1] []`},
		{"rows", "none", []int64{}, 8, `[] []`},
		{"rows", "auto", []int64{1 << 20, 100}, 8, `[4096 100] [8192 100]`},
		{"rows", "1000,100", []int64{1 << 20, 100}, 8, `[1000 100] [1000 100]`},
		{"auto", "512,512", []int64{5000, 5000}, 4, `[256 512] [512 512]`},
		{"auto", "7,1", []int64{5000, 5000}, 4, `[7 1] [7 1]`},
		{"auto", "9223372036854775807", []int64{5000}, 4, `[3577] [9223372036854775807]`},
		{"64", "none", []int64{5, 5}, 4,
			`chunks: expected 2 lengths, one for each axis, found [64]`},
		{"auto", "64,64,64", []int64{5, 5}, 4,
			`shards: expected 2 lengths, one for each axis, found [64 64 64]`},
		{"64,64", "96,128", []int64{5, 5}, 4,
			`shards: expected multiples of the lengths of a chunk, [64 64], found [96 128]`},
	} {
		r, err := Recipe{}.Set("chunks", c.chunks)
		if err == nil {
			r, err = r.Set("shards", c.shards)
		}
		if err != nil {
			t.Fatal(err)
		}
		chunk, shard, err := partition(c.shape, c.size, r.chunks, r.shards)
		got := fmt.Sprint(chunk, " ", shard)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("chunks %s, shards %s of %v: %s, want %s", c.chunks, c.shards, c.shape, got,
				c.want)
		}
	}
}

// TestRefused tries invalid settings, and what does not fit an array.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"formats", "2",
			`formats: expected one of format, codecs, chunks, shards, fill_value, ` +
				`dimension_separator, found "this name"`},
		{"format", "4", `format: expected 2 or 3, found "4"`},
		{"chunks", "",
			`chunks: expected auto, rows, or a length for each axis, such as 64,64, found ""`},
		{"chunks", "64,0",
			`chunks: expected auto, rows, or a length for each axis, such as 64,64, found "64,0"`},
		{"chunks", "none",
			`chunks: expected auto, rows, or a length for each axis, such as 64,64, found "none"`},
		{"shards", "rows",
			`shards: expected none, auto, or a length for each axis, such as 512,512, ` +
				`found "rows"`},
		{"fill_value", "nan",
			`fill_value: expected a JSON value as in the array's document, found "nan"`},
		{"dimension_separator", "-", `dimension_separator: expected "." or "/", found "-"`},
		{"codecs", "zip",
			`codecs: expected auto, none, a codec such as zstd:3 or blosc:lz4:5:shuffle, ` +
				`or a JSON list of codecs as in a zarr.json, found "zip"`},
		{"codecs", "zstd:3:4",
			`codecs: expected auto, none, a codec such as zstd:3 or blosc:lz4:5:shuffle, ` +
				`or a JSON list of codecs as in a zarr.json, found "zstd:3:4"`},
		{"codecs", "zstd:99",
			`codecs: expected level as an integer from -131072 to 22, found "99"`},
		{"codecs", "blosc:lz5",
			`codecs: expected cname as one of blosclz, lz4, lz4hc, snappy, zlib, zstd, ` +
				`found "lz5"`},
		{"codecs", "[{}]", `codecs[0].name: expected a string, found nothing`},
		{"codecs", "[",
			`codecs: line 1, column 2 (byte 1): expected a value, found the end of the document`},
		{"codecs", `["sharding_indexed"]`,
			`codecs: expected the codecs of one chunk, and shards set as such, ` +
				`found "sharding_indexed"`},
	} {
		if _, err := (Recipe{}).Set(c.name, c.text); err == nil || err.Error() != c.want ||
			!errors.Is(err, meta.ErrInvalid) {
			t.Errorf("%s %s: %v, want %s", c.name, c.text, err, c.want)
		}
	}
	r, err := Recipe{}.Set("fill_value", "NaN")
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Spec([]int64{4}, typeOf(t, "<i4"), false)
	if want := "fill_value: fill value: <i4: expected an integer from -2^31 to 2^31-1, " +
		"found NaN"; err == nil || err.Error() != want || !errors.Is(err, meta.ErrInvalid) {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestRefusedTypes asks for elements that could not be written.
func TestRefusedTypes(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"object", "data_type: expected string or bytes for elements of no fixed size, found |O: " +
			"unsupported operation"},
	} {
		if _, err := (Recipe{}).Spec([]int64{3}, dtype.Type{Kind: dtype.Object, Name: c.name},
			false); err == nil || err.Error() != c.want || !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// TestOverride reads a group's attribute over the settings of a mount.
func TestOverride(t *testing.T) {
	mount, err := Recipe{}.Set("codecs", "gzip")
	if err == nil {
		mount, err = mount.Set("fill_value", "7")
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ attribute, want string }{
		{`null`, `v3 [5] [] [gzip] 7`},
		{`{}`, `v3 [5] [] [gzip] 7`},
		{`{"chunks": [2], "shards": [4], "codecs": [{"name": "bytes"}], "fill_value": null}`,
			`v3 [2] [4] [bytes] -`},
		{`{"chunks": "2", "shards": null, "codecs": "zstd:1", "fill_value": 0, "format": 2, ` +
			`"dimension_separator": "/"}`, `v2 [2] [] [numcodecs.zstd] 0`},
		{`{"codecs": null}`, `v3 [5] [] [] 7`},
		{`{"fill_value": "8"}`, `v3 [5] [] [gzip] 8`},
		{`[]`, `expected an object, found "[]"`},
		{`{"chunk": 4}`,
			`chunk: expected one of format, codecs, chunks, shards, fill_value, ` +
				`dimension_separator, found "this name"`},
		{`{"chunks": {"a": 1}}`,
			`chunks: expected auto, rows, or a length for each axis, such as 64,64, ` +
				`found "{\"a\": 1}"`},
		{`{"chunks": [2, "3"]}`,
			`chunks: expected auto, rows, or a length for each axis, such as 64,64, ` +
				`found "[2, \"3\"]"`},
	} {
		v, err := pyjson.Parse([]byte(c.attribute))
		if err != nil {
			t.Fatal(err)
		}
		r, err := mount.Override(v)
		got := ""
		if err == nil {
			got = describe(t, r)
		} else {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.attribute, got, c.want)
		}
	}
}

// describe spells what a recipe makes of five integers.
func describe(t *testing.T, r Recipe) string {
	t.Helper()
	spec, err := r.Spec([]int64{5}, typeOf(t, "<i8"), false)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, c := range spec.Codecs {
		names = append(names, c.Name)
	}
	fill := "-"
	if spec.Fill != nil {
		fill = fmt.Sprint(binary.LittleEndian.Uint64(spec.Fill))
	}
	return fmt.Sprintf("v%d %v %v %v %s", spec.Format, spec.Chunk, spec.Shard, names, fill)
}

// FuzzRecipe holds that a recipe of any settings gives chunks, or an error with the reason. The
// chunks cut the array and its shards.
func FuzzRecipe(f *testing.F) {
	f.Add("rows", "auto", "blosc:lz4:5:shuffle", "NaN", int64(1000), int64(3000), "<f4")
	f.Add("64,64", "512,512", `[{"id": "blosc", "shuffle": 1}, "crc32c"]`, `[1, "NaN"]`, int64(0),
		int64(1<<62), ">c16")
	f.Add("auto", "none", "none", `""`, int64(1), int64(1<<40), "|S7")
	f.Fuzz(func(t *testing.T, chunks, shards, codecs, fill string, rows, columns int64,
		typestr string) {
		typ, err := dtype.ParseV2(pyjson.StringOf(typestr))
		if err != nil || rows < 0 || columns < 0 {
			return
		}
		var r Recipe
		for name, text := range map[string]string{"chunks": chunks, "shards": shards,
			"codecs": codecs, "fill_value": fill} {
			next, err := r.Set(name, text)
			if err == nil {
				r = next
			} else if !errors.Is(err, meta.ErrInvalid) {
				t.Fatalf("%s %q: %v is not an ErrInvalid", name, text, err)
			}
		}
		for r.Format = range 4 {
			shape := []int64{rows, columns}
			spec, err := r.Spec(shape, typ, true)
			if err != nil {
				if errors.Is(err, meta.ErrInvalid) == errors.Is(err, errors.ErrUnsupported) {
					t.Fatalf("%v is of no kind or of two", err)
				}
				continue
			}
			for i, n := range spec.Chunk {
				if n < 1 || spec.Shard != nil && spec.Shard[i]%n != 0 {
					t.Fatalf("%v in chunks of %v, shards of %v", shape, spec.Chunk, spec.Shard)
				}
			}
			if _, err := spec.Documents(); err != nil &&
				errors.Is(err, meta.ErrInvalid) == errors.Is(err, errors.ErrUnsupported) {
				t.Fatalf("%v is of no kind or of two", err)
			}
		}
	})
}

// TestOrder: whatever a recipe says, and however many axes there are, an array is shown in the
// order of its source.
func TestOrder(t *testing.T) {
	transposes := func(orders ...string) string {
		list := "["
		for _, order := range orders {
			list += `{"name": "transpose", "configuration": {"order": ` + order + `}}, `
		}
		return list + `"bytes", "zstd"]`
	}
	for _, c := range []struct {
		settings map[string]string
		ranks    []int
	}{
		{map[string]string{}, []int{0, 1, 2, 3, 5}},
		{map[string]string{"format": "2"}, []int{0, 1, 2, 3, 5}},
		{map[string]string{"shards": "auto"}, []int{0, 1, 2, 3, 5}},
		{map[string]string{"chunks": "3,4", "shards": "6,8"}, []int{2}},
		{map[string]string{"codecs": transposes("[1, 0]")}, []int{2}},
		{map[string]string{"codecs": transposes("[0, 1]")}, []int{2}},
		{map[string]string{"codecs": transposes("[1, 0]", "[1, 0]")}, []int{2}},
		{map[string]string{"codecs": transposes("[1, 0]"), "chunks": "3,4", "shards": "6,8"},
			[]int{2}},
		{map[string]string{"codecs": transposes("[2, 1, 0]"), "shards": "auto"}, []int{3}},
		{map[string]string{"codecs": transposes("[1, 2, 0]")}, []int{3}},
		{map[string]string{"codecs": transposes("[0]")}, []int{1}},
		{map[string]string{"codecs": `["numcodecs.delta", "bytes"]`}, []int{1, 2}},
	} {
		for _, rank := range c.ranks {
			for _, fortran := range []bool{false, true} {
				a := arrayBy(t, c.settings, slices.Repeat([]int64{10}, rank), fortran)
				if !a.HasOrder(fortran) || a.IsInFortranOrder() != (fortran && rank > 1) {
					t.Errorf("%v with %d axes, Fortran order %t: is shown in the other order",
						c.settings, rank, fortran)
				}
			}
		}
	}
}

// arrayBy returns the array of int32 that a recipe of settings makes.
func arrayBy(t *testing.T, settings map[string]string, shape []int64, fortran bool) *meta.Array {
	t.Helper()
	var r Recipe
	var err error
	for name, text := range settings {
		if r, err = r.Set(name, text); err != nil {
			t.Fatal(err)
		}
	}
	spec, err := r.Spec(shape, typeOf(t, "<i4"), fortran)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := spec.Documents()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string][]byte{}
	for _, d := range docs {
		byName[d.Name] = d.Data
	}
	a, err := meta.ParseArray(spec.Format, byName)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

package dtype

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// golden is a type and a fill value, and what NumPy and zarr-python make of them;
// testdata/generate.py writes the files.
type golden struct {
	Format int
	Type   json.RawMessage
	Fill   string
	Order  string
	Size   int64
	NumPy  string
	Descr  string
	Bytes  string
}

func goldens(t testing.TB, path string) []golden {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cases []golden
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

func parseJSON(t testing.TB, text string) pyjson.Value {
	v, err := pyjson.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// parseType reads a type of format 2 or 3.
func parseType(v pyjson.Value, format int) (Type, error) {
	if format == 2 {
		return ParseV2(v)
	}
	return ParseV3(v)
}

// fill reads a fill value of format 2 or 3.
func (t Type) fill(v pyjson.Value, format int) ([]byte, error) {
	return FillFormat(format).Element(t, v)
}

func TestStoredTypes(t *testing.T) {
	for _, path := range []string{"testdata/v2.json", "testdata/v3.json"} {
		for _, c := range goldens(t, path) {
			typ, err := parseType(parseJSON(t, string(c.Type)), c.Format)
			if err != nil {
				t.Errorf("%s: %v", c.Type, err)
				continue
			}
			if c.Format == 3 && c.Order == ">" {
				typ = typ.WithOrder(Big)
			}
			if typ.Size != c.Size || typ.NumPy() != c.NumPy || typ.Descr() != c.Descr {
				t.Errorf("%s:\n got %d %s %s\nwant %d %s %s", c.Type, typ.Size, typ.NumPy(),
					typ.Descr(), c.Size, c.NumPy, c.Descr)
			}
			got, err := typ.fill(parseJSON(t, c.Fill), c.Format)
			if err != nil || hex.EncodeToString(got) != c.Bytes {
				t.Errorf("%s fill %.99s: got %x, %v, want %s", c.Type, c.Fill, got, err, c.Bytes)
			}
		}
	}
}

// TestDecimalFillValues holds decimals that a double rounds into the middle between two numbers of
// a smaller format. zarr-python, tensorstore, zarrs, zarr-java and zarrita all have these bits.
func TestDecimalFillValues(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"float32", "1.0000000596046448", "0000803f"},
		{"float32", "-1.0000000596046448", "000080bf"},
		{"float32", `"1.0000000596046448"`, "0000803f"},
		{"float32", "3.4028235677973366e38", "0000807f"},
		{"float32", "7.006492321624086e-46", "00000000"},
		{"float32", "16777217.000000001", "0000804b"},
		{"float16", "1.00048828125000001", "003c"},
		{"bfloat16", "1.0039062500000000001", "803f"},
		{"complex64", "[1.0000000596046448, 7.006492321624086e-46]", "0000803f00000000"},
	} {
		for format := 2; format <= 3; format++ {
			typ, err := parseType(pyjson.StringOf(c.name), format)
			if err != nil {
				t.Fatal(err)
			}
			got, err := typ.fill(parseJSON(t, c.text), format)
			if err != nil || hex.EncodeToString(got) != c.want {
				t.Errorf("%s %s in format %d: %x, %v, want %s", c.name, c.text, format, got, err,
					c.want)
			}
		}
	}
}

func TestUnsupportedTypes(t *testing.T) {
	for _, c := range []struct {
		format int
		text   string
	}{
		{2, `""`}, {2, `"<"`}, {2, `"!b1"`}, {2, `"<f3"`}, {2, `"<f12"`}, {2, `"<i16"`},
		{2, `"<x4"`}, {2, `"<f4 "`}, {2, `"|b2"`},
		{2, `"|S0"`}, {2, `"|S"`}, {2, `"<U0"`}, {2, `"|V0"`}, {2, `"|S99999999999999999999"`},
		{2, `"<U4611686018427387905"`},
		{2, `"<M8[x]"`}, {2, `"<M8[s"`}, {2, `"<M8s]"`}, {2, `"<M4[s]"`}, {2, `"<M8[0s]"`},
		{2, `"<M8[4294967296s]"`}, {2, `"<M8[]"`},
		{2, `"|O2"`}, {2, `"|T16"`}, {2, `"string"`}, {2, `[]`}, {2, `[["a", "|O"]]`},
		{2, `[["a", "<i4", [0]]]`},
		{2, `[["a", "<i4", [4294967296, 4294967296]]]`},
		{2, `[["a", "|S60000000"], ["b", "|S60000000"]]`},
		{3, `""`}, {3, `"int128"`}, {3, `"r"`}, {3, `"r0"`}, {3, `"r12"`}, {3, `"r+8"`},
		{3, `"r08"`}, {3, `"r9999999999"`}, {3, `"<f4"`},
		{3, `{"name": "zarrs.optional", "configuration": {}}`}, {3, `"float8"`},
		{3, `"complex_int8"`},
		{3, `{"name": "raw_bytes", "configuration": {"length_bytes": 0}}`},
	} {
		if typ, err := parseType(parseJSON(t, c.text), c.format); !errors.Is(err,
			errors.ErrUnsupported) {
			t.Errorf("format %d %s: %+v, %v", c.format, c.text, typ, err)
		}
	}
}

// TestUnsupportedSaysWhy holds the errors for types that are known, and not read all the same.
func TestUnsupportedSaysWhy(t *testing.T) {
	const why = ": unsupported operation"
	for _, c := range []struct {
		format     int
		text, want string
	}{
		{3, `"optional"`,
			`dtype: type "optional", whose elements may be missing, is not read` + why},
		{3, `{"name": "zarrs.optional", "configuration": {"name": "int32"}}`,
			`dtype: type "zarrs.optional", whose elements may be missing, is not read` + why},
		{2, `"|S0"`, `dtype: type |S0 of 0 bytes, expected 1 to 67108864` + why},
		{2, `"<U0"`, `dtype: type <U0 of 0 bytes, expected 1 to 67108864` + why},
		{2, `"|T16"`, `dtype: unknown type "|T16"` + why},
		{2, `"<m8[5generic]"`,
			`dtype: type <m8[5generic], whose unit is generic and has a scale, is not read` + why},
		{3, `{"name": "numpy.timedelta64",
			"configuration": {"unit": "generic", "scale_factor": 5}}`,
			`dtype: type numpy.timedelta64 of 5 generic, ` +
				`whose unit is generic and has a scale, is not read` + why},
	} {
		if _, err := parseType(parseJSON(t, c.text), c.format); err == nil ||
			err.Error() != c.want || !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("format %d %s: %v\nwant %s", c.format, c.text, err, c.want)
		}
	}
}

func TestMalformed(t *testing.T) {
	for _, c := range []struct {
		format int
		text   string
	}{
		{2, `1`}, {2, `null`}, {2, `{"name": "int8"}`}, {2, `["<f4"]`}, {2, `[["a"]]`},
		{2, `[[1, "<f4"]]`}, {2, `[["a", 4]]`},
		{2, `[["a", "<f4"], ["a", "<f4"]]`}, {2, `[["a", "<f4", [-1]]]`},
		{2, `[["a", "<f4", "2"]]`}, {2, `[["a", "<f4", [1.5]]]`}, {2, `[["a", "<f4", [1], 2]]`},
		{3, `1`}, {3, `{}`}, {3, `{"name": 1}`}, {3, `{"name": "raw_bytes"}`},
		{3, `{"name": "struct"}`},
		{3, `{"name": "fixed_length_utf32", "configuration": {"length_bytes": 5}}`},
		{3, `{"name": "numpy.datetime64", "configuration": {"unit": "x"}}`},
		{3, `{"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 0}}`},
		{3, `{"name": "struct", "configuration": {"fields": [{"name": "a"}]}}`},
	} {
		typ, err := parseType(parseJSON(t, c.text), c.format)
		if err == nil || errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("format %d %s: %+v, %v", c.format, c.text, typ, err)
		}
	}
}

func TestFillRefused(t *testing.T) {
	for _, c := range []struct {
		format     int
		text, fill string
	}{
		{2, `"|b1"`, `2`}, {2, `"|b1"`, `"x"`}, {2, `"|u1"`, `-1`}, {2, `"|u1"`, `256`},
		{2, `"|i1"`, `128`}, {2, `"|i1"`, `-129`}, {2, `"<i4"`, `1.5`}, {2, `"<i4"`, `NaN`},
		{2, `"<u8"`, `18446744073709551616`}, {2, `"<i8"`, `9223372036854775808`},
		{2, `"<i4"`, `[1]`}, {2, `"<i4"`, `"x"`}, {2, `"<f4"`, `"x"`}, {2, `"<f4"`, `"1_0"`},
		{2, `"<f4"`, `"0x7fc00000"`},
		{2, `"<f4"`, `[]`}, {2, `"<c8"`, `[1]`}, {2, `"<c8"`, `"1"`}, {2, `"<c8"`, `[1, "x"]`},
		{2, `"<U3"`, `1`}, {2, `"|V3"`, `"!"`}, {2, `"|S3"`, `1`}, {2, `"<M8[s]"`, `"2000-01-01"`},
		{2, `[["a", "<i4"]]`, `"AAA="`}, {2, `[["a", "<i4"]]`, `[1]`},
		{3, `"float32"`, `"0x7fc000000"`}, {3, `"float32"`, `"0xg"`}, {3, `"float32"`, `""`},
		{3, `"float32"`, `true`}, {3, `"int8"`, `true`}, {3, `"int8"`, `""`},
		{3, `"complex64"`, `0`}, {3, `"r16"`, `[1]`}, {3, `"r16"`, `[1, 256]`},
		{3, `"r16"`, `"AAAA"`},
		{3, `{"name": "fixed_length_utf32", "configuration": {"length_bytes": 8}}`, `"abc"`},
		{3, `{"name": "null_terminated_bytes", "configuration": {"length_bytes": 2}}`, `"YWJj"`},
		{3, `[["a", "int8"], ["b", "int8"]]`, `{"a": 1}`},
		{3, `[["a", "int8"]]`, `{"a": 1, "b": 1}`}, {3, `[["a", "int8"]]`, `{"a": "x"}`},
		{3, `"int4"`, `8`}, {3, `"uint2"`, `4`}, {3, `"float4_e2m1fn"`, `"NaN"`},
		{3, `"float8_e4m3fn"`, `"Infinity"`}, {3, `"bfloat16"`, `"0x12345"`}, {3, `"string"`, `1`},
		{3, `"bytes"`, `"!"`},
	} {
		typ, err := parseType(parseJSON(t, c.text), c.format)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got, err := typ.fill(parseJSON(t, c.fill), c.format); err == nil {
			t.Errorf("%s fill %s: taken as %x", c.text, c.fill, got)
		}
	}
}

func TestObjects(t *testing.T) {
	for _, c := range []struct {
		format           int
		text, name       string
		fill, want       string
		numpy, wantDescr string
	}{
		{2, `"|O"`, "object", `"é"`, `"é"`, "|O", "'|O'"},
		{2, `"O8"`, "object", `0`, `0`, "|O", "'|O'"},
		{2, `"|O"`, "object", ` [1, NaN] `, `[1,"NaN"]`, "|O", "'|O'"},
		{3, `"string"`, "string", `"é"`, "é", "|O", "'|O'"},
		{3, `"string"`, "string", `""`, "", "|O", "'|O'"},
		{3, `{"name": "bytes"}`, "bytes", `"YWI="`, "ab", "|O", "'|O'"},
		{3, `"variable_length_bytes"`, "bytes", `[97, 98]`, "ab", "|O", "'|O'"},
		{3, `"binary"`, "bytes", `[]`, "", "|O", "'|O'"},
	} {
		typ, err := parseType(parseJSON(t, c.text), c.format)
		if err != nil || typ.Kind != Object || typ.Size != 0 || typ.Name != c.name ||
			typ.NumPy() != c.numpy || typ.Descr() != c.wantDescr || typ.HasOrder() {
			t.Errorf("%s: %+v, %v", c.text, typ, err)
		}
		if got, err := typ.fill(parseJSON(t, c.fill), c.format); err != nil ||
			string(got) != c.want {
			t.Errorf("%s fill %s: %q, %v", c.text, c.fill, got, err)
		}
	}
}

func TestLayoutAndOrder(t *testing.T) {
	typ, err := ParseV2(parseJSON(t, `[["a", "|u1"], ["b", "<i4", [2, 3]], ["", "|V3"], ["", "|V1"],
		["c", [["d", ">f8"], ["", "<U1"]]]]`))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{0, 1, 25, 28, 29} {
		if got := typ.Fields[i].Offset; got != want {
			t.Errorf("field %d at %d, want %d", i, got, want)
		}
	}
	if typ.Size != 41 || typ.Fields[1].Size() != 24 || !typ.HasOrder() {
		t.Errorf("size %d, field of %d", typ.Size, typ.Fields[1].Size())
	}
	const want = `[["a","|u1"],["b",">i4",[2,3]],["","|V3"],["","|V1"],` +
		`["c",[["d",">f8"],["f1",">U1"]]]]`
	if got := typ.WithOrder(Big).NumPy(); got != want {
		t.Errorf("big-endian:\n got %s\nwant %s", got, want)
	}
	if typ.Fields[1].Type.Order != Little {
		t.Error("WithOrder changed its receiver")
	}
}

func TestParseDescr(t *testing.T) {
	for _, path := range []string{"testdata/v2.json", "testdata/v3.json"} {
		for _, c := range goldens(t, path) {
			typ, err := ParseDescr(c.Descr)
			if err != nil || typ.Size != c.Size {
				t.Errorf("%s: %+v, %v", c.Descr, typ, err)
			}
			if again := typ.Descr(); again != c.Descr && !strings.Contains(c.Descr, "V") {
				t.Errorf("%s reads back as %s", c.Descr, again)
			}
		}
	}
	for _, bad := range []string{"", "1", "()", "[]", "'<f3'", "('<f4', (2,))", "[('a',)]",
		"[(1, '<f4')]", "[(('title', 'a'), '<f4')]",
		"[('a', '<f4', 2)]", "[('a', '<f4', (-1,))]", "[('a', '|O')]", "['<f4']",
		"[('a', '<f4'), ('a', '<f4')]"} {
		if typ, err := ParseDescr(bad); err == nil {
			t.Errorf("%s: taken as %+v", bad, typ)
		}
	}
}

// FuzzTypeAndFill: no type and no fill value panics; what is taken has the type's size, and
// NumPy's spelling of it reads back as the same type.
func FuzzTypeAndFill(f *testing.F) {
	for _, path := range []string{"testdata/v2.json", "testdata/v3.json"} {
		for i, c := range goldens(f, path) {
			if i%23 == 0 {
				f.Add([]byte(c.Type), []byte(c.Fill))
			}
		}
	}
	f.Add([]byte(`[["a", "<f4", [2, 3]], ["", "|V3"]]`), []byte(`{"a": 1, "": "AAAA"}`))
	f.Fuzz(func(t *testing.T, typeText, fillText []byte) {
		v, err := pyjson.Parse(typeText)
		if err != nil {
			return
		}
		value, _ := pyjson.Parse(fillText)
		for format := 2; format <= 3; format++ {
			if typ, err := parseType(v, format); err == nil {
				checkType(t, typ, value, format)
			}
		}
	})
}

func checkType(t *testing.T, typ Type, value pyjson.Value, format int) {
	if typ.Size > 1<<16 {
		return // keep fuzzing fast
	}
	if typ.Size < 1 && typ.Kind != Object || typ.Descr() == "" {
		t.Fatalf("%+v", typ)
	}
	big := typ.WithOrder(Big)
	for _, typ := range []Type{typ, big} {
		if fill, err := typ.fill(value, format); err == nil && typ.Kind != Object &&
			int64(len(fill)) != typ.Size {
			t.Fatalf("%s: fill value of %d bytes, want %d", typ.NumPy(), len(fill), typ.Size)
		}
	}
	if again, err := ParseDescr(typ.Descr()); err != nil || again.Size != typ.Size {
		t.Fatalf("%s reads back as %s, %v", typ.Descr(), again.Descr(), err)
	}
	spelled := typ.NumPy()
	if typ.Kind != Struct {
		text, _ := json.Marshal(spelled)
		spelled = string(text)
	}
	again, err := ParseV2(parseJSON(t, spelled))
	if err != nil || again.Size != typ.Size || again.NumPy() != typ.NumPy() ||
		again.Descr() != typ.Descr() {
		t.Fatalf("%s reads back as %s, %v", spelled, again.NumPy(), err)
	}
}

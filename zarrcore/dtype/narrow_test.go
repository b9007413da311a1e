package dtype

import (
	"bytes"
	"testing"
)

// TestWiden extends all bytes, as ml_dtypes' int4 and its kind view them.
func TestWiden(t *testing.T) {
	for _, c := range []struct {
		name       string
		data, want string
	}{
		{"int4", "\x00\x07\x08\x0f\x64\x80\xf8\xff", "\x00\x07\xf8\xff\x04\x00\xf8\xff"},
		{"uint4", "\x00\x07\x08\x0f\x64\x80\xf8\xff", "\x00\x07\x08\x0f\x04\x00\x08\x0f"},
		{"int2", "\x00\x01\x02\x03\x64\xfe\xff", "\x00\x01\xfe\xff\x00\xfe\xff"},
		{"uint2", "\x00\x01\x02\x03\x64\xfe\xff", "\x00\x01\x02\x03\x00\x02\x03"},
		{"int8", "\x64\xff", "\x64\xff"},
		{"float4_e2m1fn", "\x64\xff", "\x64\xff"},
	} {
		typ, _ := namedType(c.name)
		data := []byte(c.data)
		typ.Widen(data, 3)
		if string(data) != c.want || typ.HasNarrow() != (c.data != c.want) {
			t.Errorf("%s: %x, want %x; narrow: %t", c.name, data, c.want, typ.HasNarrow())
		}
	}
}

// TestWidenFields extends the fields of a structure, whatever stretch of its bytes is given.
func TestWidenFields(t *testing.T) {
	typ, err :=
		ParseV2(parseJSON(t,
			`[["a", "<i2"], ["b", "int4", [2]], ["c", [["d", "|u1"], ["e", "uint2"]]]]`))
	if err != nil || typ.Size != 6 {
		t.Fatal(typ, err)
	}
	whole := []byte("\xff\xff\xff\x08\xff\xff\xee\xee\x28\x07\xee\xee")
	want := []byte("\xff\xff\xff\xf8\xff\x03\xee\xee\xf8\x07\xee\x02")
	for off := range whole {
		for end := off; end <= len(whole); end++ {
			got := bytes.Clone(whole[off:end])
			typ.Widen(got, int64(off))
			if !bytes.Equal(got, want[off:end]) {
				t.Errorf("bytes %d to %d: %x, want %x", off, end, got, want[off:end])
			}
		}
	}
}

// TestSavedAs holds which headers of .npy files may stand over arrays, mostly of types unknown to
// NumPy.
func TestSavedAs(t *testing.T) {
	for _, c := range []struct {
		typ, header string
		want        bool
	}{
		{`"int4"`, `'|i1'`, true}, {`"int4"`, `'<V1'`, true}, {`"int4"`, `'|V1'`, true},
		{`"int4"`, `'|u1'`, false}, {`"int4"`, `'<i2'`, false},
		{`"uint2"`, `'|u1'`, true}, {`"uint2"`, `'<V1'`, true}, {`"uint2"`, `'|i1'`, false},
		{`"uint2"`, `'|b1'`, false},
		{`"bfloat16"`, `'<V2'`, true}, {`"bfloat16"`, `'|V2'`, true},
		{`"bfloat16"`, `'<f2'`, false}, {`"bfloat16"`, `'|V1'`, false},
		{`"float8_e5m2"`, `'<V1'`, true}, {`"float8_e5m2"`, `'|i1'`, false},
		{`"complex_float16"`, `'<V4'`, true},
		{`[["a", "int4"], ["b", "bfloat16"]]`, `[('a', '|i1'), ('b', '<V2')]`, true},
		{`[["a", "int4"], ["b", "bfloat16"]]`, `[('a', '<V1'), ('b', '<V2')]`, true},
		{`[["a", "int4"], ["b", "bfloat16"]]`, `[('a', '|u1'), ('b', '<V2')]`, false},
		{`"<i4"`, `'<i4'`, true}, {`"<i4"`, `'>i4'`, false}, {`"|V3"`, `'<V3'`, true},
		{`"|i1"`, `'|V1'`, false}, {`"|i1"`, `'|u1'`, false},
	} {
		typ, err := ParseV2(parseJSON(t, c.typ))
		header, err2 := ParseDescr(c.header)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if got := typ.CanBeSavedAs(header); got != c.want {
			t.Errorf("%s saved as %s: %t", c.typ, c.header, got)
		}
	}
	typ, _ := namedType("int4")
	if header, err := ParseDescr(typ.Descr()); err != nil || !typ.CanBeSavedAs(header) {
		t.Errorf("%s: not what it is", typ.Descr())
	}
}

package dtype

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// spellBoth writes a type and an element of it by the rules of a format.
func spellBoth(typ Type, format int, element []byte) (name, fill pyjson.Value, err error) {
	if format == 2 {
		if name, err = typ.SpellV2(); err == nil {
			fill, err = FillV2.Spell(typ, element)
		}
		return name, fill, err
	}
	if name, err = typ.SpellV3(); err == nil {
		fill, err = FillV3.Spell(typ, element)
	}
	return name, fill, err
}

// TestSpell writes all types and fill values of the golden files, in both formats. What is written
// reads as what it was, and what is not written is one of a few things that a format lacks.
func TestSpell(t *testing.T) {
	written := map[int]int{}
	for _, path := range []string{"testdata/v2.json", "testdata/v3.json"} {
		for _, c := range goldens(t, path) {
			typ, err := parseType(parseJSON(t, string(c.Type)), c.Format)
			if err != nil {
				t.Fatal(err)
			}
			if c.Format == 3 && c.Order == ">" {
				typ = typ.WithOrder(Big)
			}
			element, err := hex.DecodeString(c.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			for _, format := range []int{2, 3} {
				name, fill, err := spellBoth(typ, format, element)
				if err != nil {
					if why := lacks(err); !errors.Is(err, errors.ErrUnsupported) || why == "" {
						t.Errorf("%s, %s: %v", c.Type, c.Fill, err)
					}
					continue
				}
				written[format]++
				back, err := parseType(name, format)
				if err != nil {
					t.Errorf("%s is spelled %s: %v", c.Type, name.Raw(), err)
					continue
				}
				if order, err := typ.ByteOrder(); err == nil && format == 3 {
					back = back.WithOrder(order)
				}
				if format == 2 && back.Descr() != typ.Descr() || back.Size != typ.Size {
					t.Errorf("%s is spelled %s, which is %s", c.Type, name.Raw(), back.Descr())
				}
				if got, err := back.fill(fill, format); err != nil ||
					hex.EncodeToString(got) != c.Bytes && !mixed(typ) {
					t.Errorf("%s, %s is spelled %s: %x, %v, want %s", c.Type, c.Fill, fill.Raw(),
						got, err, c.Bytes)
				}
			}
		}
	}
	if written[2] < 1000 || written[3] < 1000 {
		t.Errorf("%v fill values written, expected 1000 of each format", written)
	}
}

// mixed reports whether format 3 cannot say a type's byte order, so the chain of codecs that has it
// is refused.
func mixed(typ Type) bool {
	_, err := typ.ByteOrder()
	return err != nil
}

// lacks returns what a format lacks, by the error that says so.
func lacks(err error) string {
	for _, what := range []string{
		// NaNs with payloads, of which it has no bit patterns
		"format 2 has no big-endian ", "format 2 has no fill value ",
		"format 3 has no <f16", "format 3 has no >f16", "format 3 has no struct field ",
		"format 3 has no padding in a struct",
	} {
		if strings.Contains(err.Error(), what) {
			return what
		}
	}
	return ""
}

// TestSpellRefused tries elements that their types cannot have.
func TestSpellRefused(t *testing.T) {
	for _, c := range []struct{ typ, element, want string }{
		{`"|b1"`, "02", "dtype: format 3 has no fill value 02 of type |b1: unsupported operation"},
		{`"<U1"`, "00000011", "dtype: format 3 has no fill value 00000011 of type <U1: " +
			"unsupported operation"},
		{`"<f4"`, "0000", "dtype: fill value of <f4: expected 4 bytes, found 2"},
		{`"int4"`, "7f", "dtype: format 3 has no fill value 7f of type int4: unsupported " +
			"operation"},
		{`"|O"`, "ff", "dtype: format 3 has no fill value ff of type |O: unsupported operation"},
	} {
		typ, err := ParseV2(parseJSON(t, c.typ))
		if err != nil {
			t.Fatal(err)
		}
		element, err := hex.DecodeString(c.element)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := FillV3.Spell(typ, element); err == nil || err.Error() != c.want {
			t.Errorf("%s: %s, %v, want %s", c.typ, v.Raw(), err, c.want)
		}
	}
}

// TestBitPatterns writes the NaNs that have no name, and the numbers of every code of a byte or
// two.
func TestBitPatterns(t *testing.T) {
	for name, format := range smallFloats {
		typ, ok := namedType(name)
		if !ok {
			t.Fatal(name)
		}
		bits := format.exp + format.man
		if !format.unsigned {
			bits++
		}
		if bits > 16 {
			continue
		}
		for code := range uint64(1) << bits {
			element := typ.Order.put(code, typ.Size)
			v, err := FillV3.Spell(typ, element)
			if err != nil {
				t.Fatalf("%s %x: %v", name, code, err)
			}
			plain := typ.Size > 1 &&
				(format.value(code) == format.value(code) || code == format.nan)
			if hexadecimal := strings.HasPrefix(v.Text(), "0x"); hexadecimal == plain {
				t.Fatalf("%s %x: %s", name, code, v.Raw())
			}
		}
	}
}

// TestSpellSmallFloats holds the fill values of floats of a byte, which zarrs as it is built by
// default reads as bit patterns alone. Format 2 has no bit patterns.
func TestSpellSmallFloats(t *testing.T) {
	for _, c := range []struct {
		name, element string
		v2, v3        string
	}{
		{"float8_e4m3", "00", `0.0`, `"0x00"`},
		{"float8_e5m2", "3c", `1.0`, `"0x3c"`},
		{"float8_e5m2", "7e", `"NaN"`, `"0x7e"`},
		{"float8_e8m0fnu", "00", `5.877471754111438e-39`, `"0x00"`},
		{"float6_e3m2fn", "1f", `28.0`, `"0x1f"`},
		{"float4_e2m1fn", "0f", `-6.0`, `"0x0f"`},
		{"complex_float8_e4m3fnuz", "0044", `[0.0, 1.5]`, `["0x00", "0x44"]`},
		{"complex_float4_e2m1fn", "0300", `[1.5, 0.0]`, `["0x03", "0x00"]`},
		{"bfloat16", "c03f", `1.5`, `1.5`},
		{"complex_bfloat16", "c03f0000", `[1.5, 0.0]`, `[1.5, 0.0]`},
	} {
		typ, _ := extensionType(c.name)
		element, _ := hex.DecodeString(c.element)
		v2, err2 := FillV2.Spell(typ, element)
		v3, err3 := FillV3.Spell(typ, element)
		if !pyjson.Equal(v2, parseJSON(t, c.v2)) || !pyjson.Equal(v3, parseJSON(t, c.v3)) ||
			err2 != nil || err3 != nil {
			t.Errorf("%s %s: %s, %v; %s, %v; want %s; %s", c.name, c.element, v2.Raw(), err2,
				v3.Raw(), err3, c.v2, c.v3)
		}
	}
}

// TestSpellObjects writes fill values of elements without a fixed size.
func TestSpellObjects(t *testing.T) {
	for name, want := range map[string]string{"string": `"a\"b" string`,
		"bytes": `"YSJi" variable_length_bytes`} {
		typ := Type{Kind: Object, Name: name}
		spelling, fill, err := spellBoth(typ, 3, []byte(`a"b`))
		if got := string(fill.Raw()) + " " + spelling.Text(); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, want)
		}
	}
	if spelling, err := (Type{Kind: Object, Name: "object"}).SpellV2(); err != nil ||
		spelling.Text() != "|O" {
		t.Errorf("object: %s, %v", spelling.Raw(), err)
	}
}

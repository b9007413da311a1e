package pyjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// FuzzParse holds that Parse never panics, that walking and printing what it took never does, and
// that it takes what encoding/json takes, with equal content. ParseBeginning takes the same, and
// its first half.
func FuzzParse(f *testing.F) {
	for _, doc := range []string{
		`{"zarr_format": 2, "shape": [10, 20], "fill_value": NaN, "filters": null}`,
		`[1, -0.5e+10, Infinity, -Infinity, true, false, null, "\ud83d\ude00", "\ud800"]`,
		`{"a":{"b":[{},[],{"c":""}]}}`, "\xef\xbb\xbf[]", `"\u0000\"\\\/"`, "{\"\xff\":1}",
		`{"a":1,"a":2}`, `[1e400, 1E-5, 0.10]`,
		` [ 1 , 2 ] `, `{"k":`, "\xff\xfe[\x00",
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Parse(data)
		want, jsonErr := decodeStd(data)
		if err != nil {
			if jsonErr == nil && !strings.Contains(err.Error(), "occur once") &&
				!strings.Contains(err.Error(), "nesting") {
				t.Fatalf("encoding/json takes %q, but: %v", data, err)
			}
			return
		}
		whole, err := ParseBeginning(data)
		if err != nil || whole.Kind() != v.Kind() {
			t.Fatalf("%q is a document, but no beginning of one: %v", data, err)
		}
		if _, err := ParseBeginning(data[:len(data)/2]); err != nil {
			t.Fatalf("%q begins a document, but: %v", data[:len(data)/2], err)
		}
		std := v.Standard()
		if !json.Valid(std) || !json.Valid(v.Indented("  ")) {
			t.Fatalf("%q prints as %q, which is not JSON", data, std)
		}
		var compact bytes.Buffer
		json.Compact(&compact, v.Indented("\t"))
		if !bytes.Equal(compact.Bytes(), std) {
			t.Fatalf("%q prints as %q and as %q", data, std, compact.Bytes())
		}
		shown, err := Parse(std)
		back := shown.WithNonFinite(v.NonFinite())
		if err != nil || len(data) < 64<<10 && !EqualNumbers(v, back) {
			t.Fatalf("%q is not what %q and %q say", data, std, v.NonFinite())
		}
		if got := content(v); jsonErr == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q reads as %#v, encoding/json reads %#v", data, got, want)
		}
	})
}

func decodeStd(data []byte) (v any, err error) {
	if !json.Valid(data) { // Decode would stop after the first value
		return nil, json.Unmarshal(data, &v)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// content is v as encoding/json would hold it.
func content(v Value) any {
	v.Int64()
	v.Uint64()
	v.Float64()
	switch v.Kind() {
	case Bool:
		b, _ := v.Bool()
		return b
	case Number:
		return json.Number(v.Raw())
	case String:
		return v.Text()
	case Array:
		all := []any{}
		for _, e := range v.Elems() {
			all = append(all, content(e))
		}
		return all
	case Object:
		all := map[string]any{}
		for key, member := range v.Entries() {
			all[key] = content(member)
			v.Get(key)
		}
		return all
	}
	return nil
}

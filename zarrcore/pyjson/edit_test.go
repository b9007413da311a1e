package pyjson

import (
	"strings"
	"testing"
)

// TestEdit sets and removes members at paths.
func TestEdit(t *testing.T) {
	for _, c := range []struct{ doc, path, value, want string }{
		{`{}`, "a", `1`, "{\n  \"a\": 1\n}"},
		{`{ }`, "a b", `1`, "{\n  \"a\": {\n    \"b\": 1\n  }\n}"},
		{`{"a":{"b":{}}}`, "a b c", `[1, 2]`, `{"a":{"b":{"c":[1,2]}}}`},
		{`{"a": {"b": {}}}`, "a b c", `[1,2]`, `{"a": {"b": {"c": [1, 2]}}}`},
		{"{\r\n\t\"a\": 1}", "b", `2`, "{\r\n\t\"a\": 1,\n\t\"b\": 2}"},
		{"{\"a\": 1,\n  \"b\": 2}", "c", `NaN`, "{\"a\": 1,\n  \"b\": 2,\n  \"c\": NaN}"},
		{`{"a": 1}`, "a b", `2`, `{"a": {"b": 2}}`},
		{`{"a":{"b":1},"c":{"b":2}}`, "c b", `3`, `{"a":{"b":1},"c":{"b":3}}`},
		{`{"a":{"b":1},"c":2}`, "a b", ``, `{"a":{},"c":2}`},
		{`{"a":1}`, "a b", ``, `{"a":1}`},
		{"{\n  \"x\": \"\\ud800\", \"long\": [\n    1\n  ]\n}", "long",
			`{"k": "é\u0000", "n": 1.50}`,
			"{\n  \"x\": \"\\ud800\", \"long\": {\n    \"k\": \"é\\u0000\",\n    \"n\": " +
				"1.50\n  }\n}"},
	} {
		var got []byte
		var err error
		if c.value == "" {
			got, err = Remove([]byte(c.doc), strings.Fields(c.path)...)
		} else {
			got, err = Set([]byte(c.doc), mustParse(t, c.value), strings.Fields(c.path)...)
		}
		if err != nil || string(got) != c.want {
			t.Errorf("%q, %s = %s: %q, %v, want %q", c.doc, c.path, c.value, got, err, c.want)
		}
	}
}

// FuzzEdit holds that a member which is set is read, that all others stay, and that removing it
// undoes what adding did.
func FuzzEdit(f *testing.F) {
	f.Add([]byte("{\n \"a\": 1 , \"b\":[2]\n}"), "c", []byte(`{"d": [1, {}]}`))
	f.Add([]byte("\xef\xbb\xbf{\"a\":{\"a\":1}}"), "a", []byte(`NaN`))
	f.Fuzz(func(t *testing.T, doc []byte, key string, text []byte) {
		root, err := Parse(doc)
		value, errValue := Parse(text)
		if err != nil || errValue != nil || root.Kind() != Object ||
			key != strings.ToValidUTF8(key, "") {
			return
		}
		had := root.Get(key).Exists()
		set, err := Set(doc, value, key)
		if err != nil {
			t.Fatal(err)
		}
		after, err := Parse(set)
		if err != nil {
			t.Fatalf("%q: %v", set, err)
		}
		if got := after.Get(key); !Equal(got, value) {
			t.Fatalf("%q, set to %q, is %q", key, text, got.Raw())
		}
		for k, v := range root.Entries() {
			if k != key && !strings.ContainsRune(k, '\uFFFD') &&
				string(after.Get(k).Raw()) != string(v.Raw()) {
				t.Fatalf("%q: setting %q changed %q", doc, key, k)
			}
		}
		removed, err := Remove(set, key)
		if err != nil {
			t.Fatal(err)
		}
		last, err := Parse(removed)
		if err != nil || last.Get(key).Exists() || !had && !Equal(last, root) {
			t.Fatalf("%q: removing %q gives %q, %v", set, key, removed, err)
		}
	})
}

// TestEqual compares values that are spelled differently.
func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1.0`, true}, {`1e2`, `100`, true}, {`0.1`, `1E-1`, true}, {`1`, `2`, false},
		{`1`, `"1"`, false},
		{`0.0`, `-0.0`, false}, {`-0`, `-0.0`, true}, {`1e99999`, `1e99999`, true},
		{`1e99999`, `10e99998`, false},
		{`9007199254740993`, `9007199254740992`, false}, {`"a"`, `"\u0061"`, true},
		{`NaN`, `"NaN"`, true}, {`NaN`, `NaN`, true},
		{`-Infinity`, `"Infinity"`, false}, {`{"a":1,"b":[2]}`, `{"b": [2.0], "a": 1}`, true},
		{`{"a":1}`, `{"a":1,"b":null}`, false},
		{`[1,2]`, `[2,1]`, false}, {`[1]`, `[1,2]`, false}, {`null`, `false`, false},
		{`true`, `true`, true},
	} {
		if got := Equal(mustParse(t, c.a), mustParse(t, c.b)); got != c.want {
			t.Errorf("%s = %s: %v", c.a, c.b, got)
		}
	}
	if Equal(mustParse(t, `null`), Value{}) || !Equal(Value{}, Value{}) {
		t.Error("an absent value equals others of its kind only")
	}
	deep := func(n string) Value {
		return mustParse(t, strings.Repeat("[", 500)+n+strings.Repeat("]", 500))
	}
	if !Equal(deep("1"), deep("1 ")) || Equal(deep("1"), deep("1.0")) {
		t.Error("deep values are compared by their spelling")
	}
}

// TestPython lays values out as Python does; its answers are those of json.dumps(v, indent=2).
func TestPython(t *testing.T) {
	for in, want := range map[string]string{
		`{"é":[1,{},[] ],"x":NaN}`: "{\n  \"\\u00e9\": [\n    1,\n    {},\n    []\n  ],\n  " +
			"\"x\": NaN\n}",
		"\"\U0001f600\x7f\\n\"":       "\"\\ud83d\\ude00\x7f\\n\"",
		`[-Infinity, 1.50, null, ""]`: "[\n  -Infinity,\n  1.50,\n  null,\n  \"\"\n]",
	} {
		if got := string(mustParse(t, in).Python("  ")); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	for f, want := range map[float64]string{0: "0.0", 1: "1.0", 0.1: "0.1", 1e16: "1e+16",
		123456789012345680: "1.2345678901234568e+17",
		9999999999999998:   "9999999999999998.0", 1e-4: "0.0001", 0.00001: "1e-05",
		-2.5e-7: "-2.5e-07", 1e300: "1e+300"} {
		if got := string(FloatOf(f).Raw()); got != want {
			t.Errorf("%g: %s, want %s", f, got, want)
		}
	}
}

package meta

import (
	"bytes"
	"errors"
	iofs "io/fs"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// TestEdits changes documents and looks at all their bytes.
func TestEdits(t *testing.T) {
	type edit func(doc []byte) ([]byte, error)
	shape := func(format int, lengths ...int64) edit {
		return func(doc []byte) ([]byte, error) { return SetShape(format, doc, lengths) }
	}
	all := func(format int, attributes string) edit {
		return func(doc []byte) ([]byte, error) {
			return SetAttributes(format, doc, made(attributes))
		}
	}
	one := func(format int, name, value string) edit {
		return func(doc []byte) ([]byte, error) {
			return SetAttribute(format, doc, name, made(value))
		}
	}
	for _, c := range []struct {
		name     string
		edit     edit
		doc      string
		want     string
		absentee bool
	}{
		{"shape on lines", shape(2, 8, 9), "{\n \"a\": 1.0, \"shape\": [\n  1\n ]\n}",
			"{\n \"a\": 1.0, \"shape\": [\n  8,\n  9\n ]\n}", false},
		{"shape on a line", shape(3, 8), `{"shape":[7,7], "b" : 1}`, `{"shape":[8], "b" : 1}`,
			false},
		{"shape of none", shape(3), "{\n  \"shape\": [3]\n}", "{\n  \"shape\": []\n}", false},
		{"attributes v2", all(2, `{"é":1.0}`), `{"x":1}`, "{\n  \"\\u00e9\": 1.0\n}", false},
		{"attributes v3", all(3, `{"é":1.0}`), `{"attributes":{"x":[1,2]},"z":NaN}`,
			`{"attributes":{"é":1.0},"z":NaN}`, false},
		{"attributes v3, none before", all(3, `{}`), "{\n  \"z\": 1\n}",
			"{\n  \"z\": 1,\n  \"attributes\": {}\n}", false},
		{"attribute v2", one(2, "b", `"x"`), "{\n    \"a\": 1\n}\n",
			"{\n    \"a\": 1,\n    \"b\": \"x\"\n}\n", false},
		{"first attribute v2", one(2, "b", `[1]`), `{}`, "{\n  \"b\": [\n    1\n  ]\n}", false},
		{"first attribute v2 without document", one(2, "b", `1`), ``, "{\n  \"b\": 1\n}", true},
		{"attribute v3", one(3, "b", `2`), `{"attributes":{"b":1},"z":NaN}`,
			`{"attributes":{"b":2},"z":NaN}`, false},
		{"another attribute v3", one(3, "c", `{"d":[]}`),
			"{\n\t\"attributes\": {\n\t\t\"b\": 1\n\t}\n}",
			"{\n\t\"attributes\": {\n\t\t\"b\": 1,\n\t\t\"c\": {\n\t\t\t\"d\": []\n\t\t}\n\t}\n}",
			false},
		{"first attribute v3", one(3, "c", `2`), "{\n  \"attributes\": {},\n  \"z\": 1\n}",
			"{\n  \"attributes\": {\n    \"c\": 2\n  },\n  \"z\": 1\n}", false},
		{"attributes null", one(3, "c", `2`), `{"attributes": null}`, `{"attributes": {"c": 2}}`,
			false},
		{"attributes none", one(3, "c", `2`), `{"z": 1}`, `{"z": 1, "attributes": {"c": 2}}`,
			false},
		{"remove", one(3, "b", ``), `{"attributes": {"a": 1, "b": {"c": "}"}, "d": 2}}`,
			`{"attributes": {"a": 1, "d": 2}}`, false},
		{"remove the first", one(2, "a", ``), "{\n  \"a\": 1,\n  \"b\": 2\n}", "{\n  \"b\": 2\n}",
			false},
		{"remove the last", one(2, "b", ``), "{\n  \"a\": 1,\n  \"b\": 2\n}", "{\n  \"a\": 1\n}",
			false},
		{"remove the only one", one(2, "a", ``), "{\n  \"a\": 1\n}", "{}", false},
		{"remove what is not there", one(3, "a", ``), `{"z": [ ]}`, `{"z": [ ]}`, false},
		{"name in escapes", one(2, "é", `2`), `{"\u00e9":1}`, `{"\u00e9":2}`, false},
		{"byte order mark", one(2, "a", `2`), "\xef\xbb\xbf{\"a\":1}", "\xef\xbb\xbf{\"a\":2}",
			false},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc := []byte(c.doc)
			if c.absentee {
				doc = nil
			}
			got, err := c.edit(doc)
			if err != nil || string(got) != c.want {
				t.Errorf("%q, %v, want %q", got, err, c.want)
			}
			if string(doc) != c.doc {
				t.Errorf("the stored document was changed to %q", doc)
			}
		})
	}
	for _, doc := range []string{`[1]`, `{`} {
		if _, err := SetShape(3, []byte(doc), nil); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", doc, err)
		}
	}
	if _, err := SetAttribute(1, nil, "a", pyjson.IntOf(1)); !errors.Is(err,
		errors.ErrUnsupported) {
		t.Errorf("format 1: %v", err)
	}
}

// TestDropConsolidated takes consolidated metadata out of groups.
func TestDropConsolidated(t *testing.T) {
	for doc, want := range map[string]string{
		`{"a":1,"consolidated_metadata":{"kind":"inline"},"b":2}`: `{"a":1,"b":2}`,
		"{\n  \"consolidated_metadata\": null\n}":                 `{}`,
	} {
		if got, dropped := DropConsolidated([]byte(doc)); string(got) != want || !dropped {
			t.Errorf("%s: %s, %v, want %s", doc, got, dropped, want)
		}
	}
	for _, doc := range []string{`{"a":1}`, `{`} {
		if got, dropped := DropConsolidated([]byte(doc)); string(got) != doc || dropped {
			t.Errorf("%s: %s, %v", doc, got, dropped)
		}
	}
}

// TestSetAttributeOfRemoved sets an attribute where there is no document any more. Only in format 2
// may a node have no document for attributes.
func TestSetAttributeOfRemoved(t *testing.T) {
	doc, err := SetAttribute(3, nil, "units", pyjson.StringOf("K"))
	if !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("format 3: %s, %v", doc, err)
	}
	doc, err = SetAttribute(2, nil, "units", pyjson.StringOf("K"))
	if err != nil || !bytes.Contains(doc, []byte(`"units"`)) {
		t.Errorf("format 2: %s, %v", doc, err)
	}
}

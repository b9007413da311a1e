package pyjson

import (
	"reflect"
	"strings"
	"testing"
)

// TestNonFinite finds the numbers that Standard shows as strings, and makes them numbers again.
func TestNonFinite(t *testing.T) {
	for doc, want := range map[string][]string{
		`{"a": NaN, "b": 1, "c": "NaN"}`:                          {"/a"},
		`{"a/b~c": -Infinity, "": {"": Infinity}, "NaN": "NaN"}`:  {"/a~1b~0c", "//"},
		`{"a": [1, [NaN], "x", {"NaN": Infinity}], "b": ["NaN"]}`: {"/a"},
		`{"a": [NaN, "Na\u004e", [NaN, 1]]}`:                      {"/a/0", "/a/2"},
		`[[NaN], 1]`:                                              {""},
		`NaN`:                                                     {""},
		`{"a": ["NaN", null], "NaN": 1}`:                          nil,
	} {
		v := mustParse(t, doc)
		if got := v.NonFinite(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", doc, got, want)
		}
		shown := mustParse(t, string(v.Standard()))
		back := shown.WithNonFinite(v.NonFinite())
		if string(back.Standard()) != string(shown.Raw()) || !EqualNumbers(back, v) {
			t.Errorf("%s: back as %s", doc, back.Raw())
		}
		compact := mustParse(t, string(v.Compact()))
		if want != nil && EqualNumbers(v, shown) || !EqualNumbers(v, compact) {
			t.Errorf("%s equals %s, or is not %s", doc, shown.Raw(), compact.Raw())
		}
	}
}

// TestWithNonFinite holds that pointers which lead nowhere change nothing, and that what a pointer
// names may have been edited.
func TestWithNonFinite(t *testing.T) {
	const doc = `{"a": ["x", "NaN", {"Infinity": "Infinity"}], "b": "5", "c": "NaN"}`
	got := mustParse(t, doc).WithNonFinite([]string{"/a", "/b", "/c/d", "/e", "b", "/a/7"})
	want := mustParse(t, `{"a": ["x", NaN, {"Infinity": Infinity}], "b": "5", "c": "NaN"}`)
	if !EqualNumbers(got, want) {
		t.Errorf("%s, want %s", got.Raw(), want.Raw())
	}
}

// TestPointersAreFew holds that the pointers of any value take about as much room as itself.
func TestPointersAreFew(t *testing.T) {
	long, many := strings.Repeat("k", 1<<16), strings.Repeat("NaN,", 1<<16)
	for _, doc := range []string{
		`{"` + long + `": {"a": [` + strings.Repeat(`{"n": NaN},"NaN",`, 1<<12) + `1]}}`,
		strings.Repeat("[", 900) + `"NaN",` + many + "1" + strings.Repeat("]", 900),
	} {
		if n := len(strings.Join(mustParse(t, doc).NonFinite(), ",")); n > 3*len(doc)+1<<17 {
			t.Errorf("pointers of %d bytes for a document of %d", n, len(doc))
		}
	}
}

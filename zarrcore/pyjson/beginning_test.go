package pyjson

import (
	"errors"
	"fmt"
	"testing"
)

// TestParseBeginning cuts documents at each byte. What is before the cut may go on. A wrong byte is
// refused where it stands.
func TestParseBeginning(t *testing.T) {
	for _, doc := range []string{
		"\xef\xbb\xbf {\"a\": [1, -0.5e+10, Infinity, -Infinity, NaN], \"b\": [true, false]} \n",
		`{"a": "\ud83d\ude00\n\\", "é": [[], {}, ""]}`,
	} {
		for n := range len(doc) {
			if _, err := ParseBeginning([]byte(doc[:n])); err != nil {
				t.Errorf("%q: %v", doc[:n], err)
			}
		}
		if v, err := ParseBeginning([]byte(doc)); err != nil || v.Kind() != Object {
			t.Errorf("%q: %v, %v", doc, v, err)
		}
	}
	for doc, at := range map[string]int{
		`{bad`: 1, `hello`: 0, `{"a" 1`: 5, `{"a": 1}}`: 8, `{"a": trou`: 6, `{"a": nul,`: 6,
		`["\x`: 3, "{\"a\n": 3, `[1,]`: 3, `[01`: 2, `[1.e`: 3, `[-a`: 2, `{"a": 1, "a": 2}`: 9,
		"\xff\xfe{": 0, "{\x00": 1, `["\u12g`: 6, `[1ee`: 3,
	} {
		_, err := ParseBeginning([]byte(doc))
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Offset != at {
			t.Errorf("%s: %v, want an error at %d", doc, err, at)
		}
		if _, full := Parse([]byte(doc)); fmt.Sprint(full) != fmt.Sprint(err) {
			t.Errorf("%s: %v, but Parse says %v", doc, err, full)
		}
	}
}

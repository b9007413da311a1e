package pyjson

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
)

func mustParse(t *testing.T, doc string) Value {
	t.Helper()
	v, err := Parse([]byte(doc))
	if err != nil {
		t.Fatalf("Parse(%q): %v", doc, err)
	}
	return v
}

func TestKinds(t *testing.T) {
	for doc, want := range map[string]Kind{
		"null": Null, " true ": Bool, "false": Bool, "0": Number, "-1.5e+3": Number, "NaN": Number,
		"Infinity":  Number,
		"-Infinity": Number, `""`: String, "[]": Array, "{}": Object, "\xef\xbb\xbf{}": Object,
	} {
		if got := mustParse(t, doc).Kind(); got != want {
			t.Errorf("%s is %v, want %v", doc, got, want)
		}
	}
	if (Value{}).Exists() || (Value{}).Kind() != Invalid {
		t.Error("the zero Value exists")
	}
}

func TestWalk(t *testing.T) {
	v := mustParse(t, ` { "b" : [1, [2, "]"], {"x":"}\""}] , "a\u0041":NaN,"":null } `)
	var keys []string
	for key, member := range v.Entries() {
		keys = append(keys, key+"="+string(member.Raw()))
	}
	if got, want := strings.Join(keys, ";"),
		`b=[1, [2, "]"], {"x":"}\""}];aA=NaN;=null`; got != want {
		t.Errorf("members %s, want %s", got, want)
	}
	if v.Len() != 3 || v.Get("b").Len() != 3 || v.Get("aA").Len() != 0 {
		t.Error("wrong lengths")
	}
	if got := v.Get("b").Elems()[2].Get("x").Text(); got != `}"` {
		t.Errorf("x is %q", got)
	}
	if v.Get("B").Exists() || v.Get("aA").Get("x").Exists() || !v.Get("").Exists() {
		t.Error("keys are not matched exactly")
	}
}

func TestText(t *testing.T) {
	for doc, want := range map[string]string{
		`"plain é"`:                "plain é",
		`"\"\\\/\b\f\n\r\t"`:       "\"\\/\b\f\n\r\t",
		`"\u00e9\uD83D\ude00"`:     "é😀",
		`"\ud800"`:                 "\uFFFD",
		`"\ud800\u0041"`:           "\uFFFDA",
		`"\udc00\ud83d\ude00"`:     "\uFFFD😀",
		"\"a\xff\xfeb\"":           "a\uFFFD\uFFFDb",
		`"\ud800\ud800\udc00 end"`: "\uFFFD\U00010000 end",
		"3":                        "",
	} {
		if got := mustParse(t, doc).Text(); got != want {
			t.Errorf("%s reads %q, want %q", doc, got, want)
		}
	}
}

func TestIntegers(t *testing.T) {
	for _, c := range []struct {
		doc    string
		i      int64
		iOK    bool
		u      uint64
		uOK    bool
		isNaN  bool
		asReal float64
	}{
		{doc: "0", iOK: true, uOK: true},
		{doc: "-0", iOK: true, uOK: true},
		{doc: "-0.0", iOK: true, uOK: true},
		{doc: "1.0", i: 1, u: 1, iOK: true, uOK: true, asReal: 1},
		{doc: "1e3", i: 1000, u: 1000, iOK: true, uOK: true, asReal: 1000},
		{doc: "1.25E+2", i: 125, u: 125, iOK: true, uOK: true, asReal: 125},
		{doc: "1200e-2", i: 12, u: 12, iOK: true, uOK: true, asReal: 12},
		{doc: "125e-2", asReal: 1.25},
		{doc: "0.5", asReal: 0.5},
		{doc: "0e99999999999999999999", iOK: true, uOK: true},
		{doc: "1e99999999999999999999", asReal: math.Inf(1)},
		{doc: "1e-99999999999999999999"},
		{doc: "9223372036854775807", i: math.MaxInt64, iOK: true, u: math.MaxInt64, uOK: true,
			asReal: 1 << 63},
		{doc: "9223372036854775808", u: 1 << 63, uOK: true, asReal: 1 << 63, i: math.MinInt64},
		{doc: "-9223372036854775808", i: math.MinInt64, iOK: true, asReal: -1 << 63},
		{doc: "18446744073709551615", i: -1, u: math.MaxUint64, uOK: true, asReal: 1 << 64},
		{doc: "18446744073709551616", asReal: 1 << 64},
		{doc: "NaN", isNaN: true},
		{doc: "-Infinity", asReal: math.Inf(-1)},
	} {
		v := mustParse(t, c.doc)
		if i, ok := v.Int64(); ok != c.iOK || ok && i != c.i {
			t.Errorf("%s: Int64 %d %v", c.doc, i, ok)
		}
		if u, ok := v.Uint64(); ok != c.uOK || ok && u != c.u {
			t.Errorf("%s: Uint64 %d %v", c.doc, u, ok)
		}
		if f, ok := v.Float64(); !ok || math.IsNaN(f) != c.isNaN || !c.isNaN && f != c.asReal {
			t.Errorf("%s: Float64 %v %v", c.doc, f, ok)
		}
	}
	if _, ok := mustParse(t, `"1"`).Int64(); ok {
		t.Error("a string is an integer")
	}
	if _, ok := mustParse(t, `null`).Float64(); ok {
		t.Error("null is a float")
	}
}

func TestPrint(t *testing.T) {
	const doc = "\ufeff{ \"b\":[ ] ,\n\"a\" : [1.50, NaN,{}, -Infinity ,\"x\xff, y\"]}"
	v := mustParse(t, doc)
	if got, want := string(v.Standard()),
		"{\"b\":[],\"a\":[1.50,\"NaN\",{},\"-Infinity\",\"x\uFFFD, y\"]}"; got != want {
		t.Errorf("Standard:\n%s\nwant\n%s", got, want)
	}
	want := "{\n  \"b\": [],\n  \"a\": [\n    1.50,\n    \"NaN\",\n    {},\n    \"-Infinity\",\n " +
		"   \"x\uFFFD, y\"\n  ]\n}"
	if got := string(v.Indented("  ")); got != want {
		t.Errorf("Indented:\n%s\nwant\n%s", got, want)
	}
	deep := strings.Repeat("[", 900) + strings.Repeat("1,", 100000) + "1" + strings.Repeat("]", 900)
	if got := mustParse(t, deep).Indented("  "); string(got) != deep {
		t.Errorf("the white space of a deep document came to %d bytes", len(got))
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ doc, want string }{
		{"", "line 1, column 1 (byte 0): expected a value, found the end of the document"},
		{"\n\n  x", "line 3, column 3 (byte 4): expected a value, found 'x'"},
		{"\xff\xfe{\x00}\x00", "line 1, column 1 (byte 0): expected UTF-8 text, found a UTF-16 " +
			"byte order mark"},
		{"{} {}", "line 1, column 4 (byte 3): expected the end of the document, found '{'"},
		{`{"a":1,}`, `line 1, column 8 (byte 7): expected a key in double quotes, found '}'`},
		{`{'a':1}`, `line 1, column 2 (byte 1): expected a key in double quotes, found '\''`},
		{`{"a" 1}`, `line 1, column 6 (byte 5): expected ':', found '1'`},
		{`{"a":1 "b":2}`, `line 1, column 8 (byte 7): expected ',' or '}', found '"'`},
		{`{"a":`, `line 1, column 6 (byte 5): expected a value, found the end of the document`},
		{`[1 2]`, `line 1, column 4 (byte 3): expected ',' or ']', found '2'`},
		{`[1,]`, `line 1, column 4 (byte 3): expected a value, found ']'`},
		{`"a`, `line 1, column 3 (byte 2): expected a closing '"', found the end of the document`},
		{"\"a\nb\"",
			`line 1, column 3 (byte 2): expected an escape sequence for a control character, ` +
				`found '\n'`},
		{`"\x41"`,
			`line 1, column 3 (byte 2): expected one of "\/bfnrtu after a backslash, found 'x'`},
		{`"\u12g4"`,
			`line 1, column 6 (byte 5): expected four hexadecimal digits after \u, found 'g'`},
		{`01`, `line 1, column 2 (byte 1): expected the end of the document, found '1'`},
		{`-`, `line 1, column 2 (byte 1): expected a digit, found the end of the document`},
		{`+1`, `line 1, column 1 (byte 0): expected a value, found '+'`},
		{`1.`,
			`line 1, column 3 (byte 2): expected a digit after the decimal point, ` +
				`found the end of the document`},
		{`1ex`, `line 1, column 3 (byte 2): expected a digit in the exponent, found 'x'`},
		{`-NaN`, `line 1, column 2 (byte 1): expected a digit, found 'N'`},
		{`nul`, `line 1, column 4 (byte 3): expected a value, found the end of the document`},
		{`nol`, `line 1, column 1 (byte 0): expected a value, found 'n'`},
		{`{"a":1,"b":2,"\u0061":3}`,
			`line 1, column 14 (byte 13): expected keys that occur once, found key "\u0061" again`},
		{`[{"x":{"a":1,"a":1}}]`,
			`line 1, column 14 (byte 13): expected keys that occur once, found key "a" again`},
		{strings.Repeat("[", 1001),
			`line 1, column 1001 (byte 1000): expected at most 1000 levels of nesting, found more`},
	} {
		_, err := Parse([]byte(c.doc))
		if err == nil || err.Error() != c.want {
			t.Errorf("Parse(%q):\n%v\nwant\n%s", c.doc, err, c.want)
		}
		if e := (*SyntaxError)(nil); err != nil && !errors.As(err, &e) {
			t.Errorf("Parse(%q): %T is not a SyntaxError", c.doc, err)
		}
	}
	if _, err := Parse(make([]byte, MaxSize+1)); err == nil {
		t.Error("a document over the limit is taken")
	}
}

// TestDistinctKeys holds that each member of an object has its own value, however alike the keys
// are. A key that is there already is refused, whichever one it is.
func TestDistinctKeys(t *testing.T) {
	many := make([]string, 5000)
	for i := range many {
		many[i] = fmt.Sprintf(`"%d"`, i)
	}
	for _, keys := range [][]string{
		{`"a"`, `"A"`, `""`, `" "`, `"a "`},
		{`"\ud800"`, `"\ud801"`, `"\uFFFD"`},
		{"\"\xff\"", "\"\xfe\""},
		many,
	} {
		var doc strings.Builder
		for i, key := range keys {
			fmt.Fprintf(&doc, `,%s:{"n":%d,"a":{"n":-1}}`, key, i)
		}
		members := doc.String()[1:]
		n := int64(0)
		for key, value := range mustParse(t, "{"+members+"}").Entries() {
			if got, ok := value.Get("n").Int64(); !ok || got != n {
				t.Errorf("member %q is %s, expected number %d", key, value.Raw(), n)
			}
			n++
		}
		if n != int64(len(keys)) {
			t.Errorf("%d members, expected %d", n, len(keys))
		}
		for i := 0; i < len(keys); i += 1 + len(keys)/100 {
			if _, err := Parse([]byte("{" + members + "," + keys[i] + ":0}")); err == nil {
				t.Errorf("key %s of %d is taken twice", keys[i], len(keys))
			}
		}
	}
	const deepest = 999
	v := mustParse(t, strings.Repeat(`{"k":`, deepest)+"1"+strings.Repeat("}", deepest))
	for range deepest {
		v = v.Get("k")
	}
	if n, ok := v.Int64(); !ok || n != 1 {
		t.Errorf("the same key in %d objects leads to %s", deepest, v.Raw())
	}
}

// TestParseMemory holds that a document needs little more memory than its bytes, however many
// values and keys it has.
func TestParseMemory(t *testing.T) {
	var keys strings.Builder
	for i := range 1 << 20 {
		keys.WriteString(`,"` + string(rune('a'+i&15)) + string(rune('a'+i>>4&15)) +
			string(rune('a'+i>>8&15)) +
			string(rune('a'+i>>12&15)) + string(rune('a'+i>>16)) + `":1`)
	}
	for name, doc := range map[string]string{
		"elements": "[" + strings.Repeat("1,", 10_000_000) + "1]",
		"keys":     "{" + keys.String()[1:] + "}",
	} {
		data := []byte(doc)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v, err := Parse(data)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > uint64(4*len(data)) {
			t.Errorf("%s: %d bytes allocated for a document of %d", name, n, len(data))
		}
		if n := v.Len(); n < 1<<20 {
			t.Errorf("%s: %d children", name, n)
		}
	}
}

func TestObjectOf(t *testing.T) {
	from := mustParse(t, `{"a\n<é>": NaN, "drop": 1, "b": [1, 2]}`)
	got := ObjectOf(func(yield func(string, Value) bool) {
		for key, value := range from.Entries() {
			if key != "drop" && !yield(key, value) {
				return
			}
		}
	})
	if want := `{"a\n<é>":NaN,"b":[1, 2]}`; string(got.Raw()) != want {
		t.Errorf("made %s, want %s", got.Raw(), want)
	}
	mustParse(t, string(got.Raw()))
	if got := ObjectOf(Value{}.Entries()); string(got.Raw()) != "{}" {
		t.Errorf("made %s of nothing", got.Raw())
	}
}

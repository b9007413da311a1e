package vlen

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// one makes Elements of a single element.
func one(k Kind, item dtype.Type, data []byte) *Elements {
	return &Elements{Kind: k, Item: item, Data: data, Spans: []Span{{0, uint32(len(data))}}}
}

func TestLines(t *testing.T) {
	big := dtype.Type{Kind: dtype.Int, Size: 2, Order: dtype.Big}
	f4, f8 := dtype.Type{Kind: dtype.Float, Size: 4}, dtype.Type{Kind: dtype.Float, Size: 8}
	for _, c := range []struct {
		kind  Kind
		item  dtype.Type
		data  string
		line  string
		width int64
	}{
		{Text, dtype.Type{}, "", `""`, 0},
		{Text, dtype.Type{}, "größer 名 😀", `"größer 名 😀"`, 10},
		{Text, dtype.Type{}, "a\"b\\c\n\r\t\b\f\x00\x1f\x7f\u2028",
			`"a\"b\\c\n\r\t\b\f\u0000\u001f` + "\x7f\u2028" + `"`, 14},
		{Binary, dtype.Type{}, "", `""`, 0},
		{Binary, dtype.Type{}, "\x00\xff\xfe", `"AP/+"`, 3},
		{Binary, dtype.Type{}, "ab", `"YWI="`, 2},
		{JSON, dtype.Type{}, `{"a":[1,null]}`, `{"a":[1,null]}`, -1},
		{JSON, dtype.Type{}, `"\u00e9\n"`, `"\u00e9\n"`, 2},
		{List, big, "", `[]`, -1},
		{List, big, "\x00\x01\xff\xfe", `[1,-2]`, -1},
		{List, dtype.Type{Kind: dtype.Uint, Size: 8}, "\xff\xff\xff\xff\xff\xff\xff\xff",
			`[18446744073709551615]`, -1},
		{List, dtype.Type{Kind: dtype.Bool, Size: 1}, "\x00\x01", `[false,true]`, -1},
		{List, f4, float4(0.1, 1, 1e30, float32(math.Inf(1))), `[0.1,1.0,1e+30,"Infinity"]`, -1},
		{List, f8, float8(-0.5, math.NaN(), math.Inf(-1), 5e-324),
			`[-0.5,"NaN","-Infinity",5e-324]`, -1},
	} {
		e := one(c.kind, c.item, []byte(c.data))
		if got := string(e.AppendLine(nil, 0)); got != c.line+"\n" || !json.Valid([]byte(got)) {
			t.Errorf("%s %q: line %s, want %s", c.kind, c.data, got, c.line)
		}
		if back, err := c.kind.AppendElement([]byte("!"), []byte(" "+c.line+"\t"),
			c.item); err != nil || string(back) != "!"+c.data && c.kind != JSON {
			t.Errorf("%s %s: element %q, %v, want %q", c.kind, c.line, back, err, c.data)
		}
		if got := e.LineLen(0); got != int64(len(c.line))+1 {
			t.Errorf("%s %q: length %d, want %d", c.kind, c.data, got, len(c.line)+1)
		}
		if got := e.Width(0); got != c.width {
			t.Errorf("%s %q: width %d, want %d", c.kind, c.data, got, c.width)
		}
	}
}

// TestElements holds what else lines may say, and which are refused.
func TestElements(t *testing.T) {
	i1, u2, f4 := dtype.Type{Kind: dtype.Int, Size: 1},
		dtype.Type{Kind: dtype.Uint, Size: 2, Order: dtype.Big},
		dtype.Type{Kind: dtype.Float, Size: 4}
	none := dtype.Type{}
	for _, c := range []struct {
		kind Kind
		item dtype.Type
		line string
		want string // that begins with ! is the error
	}{
		{Text, none, `"\u00e9\ud83d\ude00\/\ufffd"`, "é😀/�"},
		{Text, none, "\"\u2028\x7f\"\r", "\u2028\x7f"},
		{Text, none, `"\ud83d"`, `!expected a string that UTF-8 can say, found "\"\\ud83d\""`},
		{Text, none, `"\ude00\ud83d"`,
			`!expected a string that UTF-8 can say, found "\"\\ude00\\ud83d\""`},
		{Text, none, `"\\ud83d"`, `\ud83d`},
		{Text, none, "\"\xff\"", `!expected UTF-8, found "\"\xff\""`},
		{Text, none, `null`, `!expected a string that UTF-8 can say, found "null"`},
		{Text, none, ``,
			`!column 1: expected a value, found the end of the document; ` +
				`a line is a string in double quotes`},
		{Text, none, `"a" "b"`,
			`!column 5: expected the end of the document, found '"'; ` +
				`a line is a string in double quotes`},
		{Text, none, `"a`,
			`!column 3: expected a closing '"', found the end of the document; ` +
				`a line is a string in double quotes`},
		{Binary, none, `"A"`, `!expected base64, found "A"`},
		{Binary, none, `[1]`, `!expected a string of base64, found "[1]"`},
		{List, i1, `[ -128 , 127.0 ]`, "\x80\x7f"},
		{List, i1, `[128]`, `!expected a number of type |i1, found "128"`},
		{List, i1, `[1.5]`, `!expected a number of type |i1, found "1.5"`},
		{List, u2, `[258, -1]`, `!expected a number of type >u2, found "-1"`},
		{List, u2, `[65536]`, `!expected a number of type >u2, found "65536"`},
		{List, f4, `[1, NaN, -Infinity]`, float4(1, float32(math.NaN()), float32(math.Inf(-1)))},
		{List, f4, `["x"]`, `!expected a number of type |f4, found "\"x\""`},
		{List, f4, `"x"`, `!expected a list of numbers, found "\"x\""`},
		{JSON, none, ` {"a": [NaN, 1.50]} `, `{"a":["NaN",1.50]}`},
		{JSON, none, `{"a":1,"a":2}`,
			`!column 8: expected keys that occur once, found key "a" again; ` +
				`a line is a value of JSON`},
		{JSON, none, strings.Repeat("[", 2000),
			`!column 1001: expected at most 1000 levels of nesting, found more; ` +
				`a line is a value of JSON`},
	} {
		got, err := c.kind.AppendElement(nil, []byte(c.line), c.item)
		want, refused := strings.CutPrefix(c.want, "!")
		switch {
		case refused &&
			(!errors.Is(err, ErrLine) || err.Error() != "not an element of this array: "+want):
			t.Errorf("%s %.50s: %v, want %s", c.kind, c.line, err, want)
		case !refused && (err != nil || string(got) != want):
			t.Errorf("%s %s: %q, %v, want %q", c.kind, c.line, got, err, want)
		}
	}
}

func float4(fs ...float32) string {
	var b []byte
	for _, f := range fs {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return string(b)
}

func float8(fs ...float64) string {
	var b []byte
	for _, f := range fs {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
	}
	return string(b)
}

func TestFixed(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		data string
		size int
		want string
	}{
		{Text, "é😀", 12, "\xe9\x00\x00\x00\x00\xf6\x01\x00\x00\x00\x00\x00"},
		{Text, "abc", 8, "a\x00\x00\x00b\x00\x00\x00"},
		{JSON, `"\u00e9"`, 8, "\xe9\x00\x00\x00\x00\x00\x00\x00"},
		{Binary, "ab", 4, "ab\x00\x00"},
		{Binary, "abc", 2, "ab"},
	} {
		got := make([]byte, c.size)
		for i := range got {
			got[i] = 0xaa
		}
		one(c.kind, dtype.Type{}, []byte(c.data)).PutFixed(got, 0)
		if string(got) != c.want {
			t.Errorf("%s %q in %d bytes: %q, want %q", c.kind, c.data, c.size, got, c.want)
		}
	}
}

// FuzzElement holds that any line is an element or an error, and that the line of an element says
// the same.
func FuzzElement(f *testing.F) {
	types := []dtype.Type{{Kind: dtype.Bool, Size: 1}, {Kind: dtype.Int, Size: 4, Order: dtype.Big},
		{Kind: dtype.Float, Size: 8}}
	for _, s := range []string{`"a\u00e9\ud800"`, `"AAE="`, `[1,true,NaN,"Infinity",1e400]`,
		`{"a":[1,"b",{}]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, kind := range []Kind{Text, Binary, List, JSON} {
			for _, item := range types {
				b, err := kind.AppendElement(nil, []byte(line), item)
				if err != nil {
					continue
				}
				again := one(kind, item, b).AppendLine(nil, 0)
				if back, err := kind.AppendElement(nil, again[:len(again)-1], item); err != nil ||
					!bytes.Equal(back, b) && !strings.Contains(string(again), "NaN") {
					t.Errorf("%s %s: %q, then %q, %v", kind, line, b, back, err)
				}
			}
		}
	})
}

// FuzzLine holds that a line is JSON that says what the element is, and as long as it is said to
// be.
func FuzzLine(f *testing.F) {
	for _, s := range []string{"", "plain", "a\"\\\n\x01\x7f", "é名😀", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, kind := range []Kind{Text, Binary} {
			if kind == Text && !utf8.ValidString(s) {
				continue
			}
			e := one(kind, dtype.Type{}, []byte(s))
			line := e.AppendLine(nil, 0)
			var bytes []byte
			var text string
			var err error
			if kind == Text {
				err = json.Unmarshal(line, &text)
			} else {
				err = json.Unmarshal(line, &bytes)
				text = string(bytes)
			}
			if back, err := kind.AppendElement(nil, line[:len(line)-1], dtype.Type{}); err != nil ||
				string(back) != s {
				t.Errorf("%s %s: %q, %v, want %q", kind, line, back, err, s)
			}
			if err != nil || text != s || int64(len(line)) != e.LineLen(0) {
				t.Errorf("%s %q: %s, %v, length %d", kind, s, line, err, e.LineLen(0))
			}
		}
	})
}

package npy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// golden is one header that NumPy wrote; testdata/generate.py makes them.
type golden struct {
	Descr   string
	Fields  int // if not 0, descr has that many fields, and only the hash is kept
	Fortran bool
	Shape   []int64
	Header  string // bytes as Latin-1 characters
	SHA256  string
	Length  int
	Version byte
}

func goldens(t testing.TB) []golden {
	data, err := os.ReadFile("testdata/headers.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []golden
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		if c.Fields > 0 {
			cases[i].Descr = manyFields(c.Fields)
		}
	}
	return cases
}

func manyFields(n int) string {
	fields := make([]string, n)
	for i := range fields {
		fields[i] = fmt.Sprintf("('f%d', '<f8')", i)
	}
	return "[" + strings.Join(fields, ", ") + "]"
}

func TestHeaderIsNumPys(t *testing.T) {
	for _, c := range goldens(t) {
		got, err := Header(c.Descr, c.Fortran, c.Shape)
		if err != nil {
			t.Errorf("%.60s %v: %v", c.Descr, c.Shape, err)
			continue
		}
		if c.Fields > 0 {
			hash := sha256.Sum256(got)
			if len(got) != c.Length || got[6] != c.Version ||
				hex.EncodeToString(hash[:]) != c.SHA256 {
				t.Errorf("%d fields: version %d and %d bytes, NumPy has %d and %d", c.Fields,
					got[6], len(got), c.Version, c.Length)
			}
			continue
		}
		if want, _ := toLatin1(c.Header); string(got) != string(want) {
			t.Errorf("%s %v:\n got %q\nwant %q", c.Descr, c.Shape, got, want)
		}
	}
}

func TestParseReadsBack(t *testing.T) {
	for _, c := range goldens(t) {
		header, err := Header(c.Descr, c.Fortran, c.Shape)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(append(header, "data"...))
		if err != nil {
			t.Errorf("%.60s: %v", c.Descr, err)
			continue
		}
		if got.Descr != c.Descr || got.Fortran != c.Fortran || !slices.Equal(got.Shape, c.Shape) ||
			got.Len != int64(len(header)) {
			t.Errorf("%.60s %v: parsed %+v", c.Descr, c.Shape, got)
		}
	}
}

// v1 wraps text as a header of version 1.0, unpadded.
func v1(text string) string {
	return Magic + "\x01\x00" + string([]byte{byte(len(text)), byte(len(text) >> 8)}) + text
}

func TestParseTolerates(t *testing.T) {
	for _, text := range []string{
		"{'shape': (2, 3), 'fortran_order': True, 'descr': '<f4'}",
		"  {\"shape\":(2,3),\n\t\"descr\":\"<f4\", 'fortran_order':True}  \n",
		"({'descr': '<f4', 'fortran_order': True, 'shape': (+2, 3,), })",
		`{'de\x73cr': '<f4', 'fortran_order': True, 'shap\u0065': (2, 3)}`,
	} {
		got, err := Parse([]byte(v1(text)))
		if err != nil || !got.Fortran || !slices.Equal(got.Shape, []int64{2, 3}) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	const rest = "'descr': '<f4', 'fortran_order': False, "
	for _, header := range []string{
		"PK\x03\x04", "\x93NUMPX\x01\x00", Magic + "\x00\x00", Magic + "\x04\x00",
		Magic + "\x01\x01",
		Magic + "\x02\x00\xff\xff\xff\xff",
		Magic + "\x03\x00\x02\x00\x00\x00\xff\n",
		v1(""), v1("[]"), v1("{}"), v1("{" + rest), v1("{" + rest + "}"),
		v1("{" + rest + "'shape': (3)}"),
		v1("{" + rest + "'shape': [3]}"),
		v1("{" + rest + "'shape': (-3,)}"),
		v1("{" + rest + "'shape': (3L,)}"),
		v1("{" + rest + "'shape': (03,)}"),
		v1("{" + rest + "'shape': (True,)}"),
		v1("{" + rest + "'shape': (9223372036854775808,)}"),
		v1("{" + rest + "'shape': (), 'more': 1}"),
		v1("{" + rest + "'descr': '<f4'}"),
		v1("{" + rest + "'shape': ()} 1"),
		v1("{" + rest + "'shape': (1 2)}"),
		v1("{" + rest + "'shape': (,)}"),
		v1("{'descr': 1, 'fortran_order': False, 'shape': ()}"),
		v1("{'descr': '<f4', 'fortran_order': 0, 'shape': ()}"),
		v1("{'descr': '<f4\n', 'fortran_order': False, 'shape': ()}"),
		v1("{'descr': '\\ud800', 'fortran_order': False, 'shape': ()}"),
		v1("{'descr': __import__('os'), 'fortran_order': False, 'shape': ()}"),
		v1(strings.Repeat("(", 1000)),
	} {
		if info, err := Parse([]byte(header)); !errors.Is(err, ErrHeader) {
			t.Errorf("%.80q: %+v, %v", header, info, err)
		}
	}
}

func TestParseAsksForMore(t *testing.T) {
	header, err := Header("'<f4'", false, []int64{3})
	if err != nil {
		t.Fatal(err)
	}
	for n := range header {
		info, err := Parse(header[:n])
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if n >= 10 && info.Len != int64(len(header)) {
			t.Errorf("%d bytes: need %d, want %d", n, info.Len, len(header))
		}
	}
}

func TestHeaderRefuses(t *testing.T) {
	if _, err := Header("'<f4'", false, []int64{-1}); err == nil {
		t.Error("negative length taken")
	}
	if _, err := Header("'\xff'", false, nil); err == nil {
		t.Error("invalid UTF-8 taken")
	}
}

func TestStringEscapes(t *testing.T) {
	got, err := ParseLiteral(`'\'\"\\\n\x41\u00e9\U0001f600'`)
	if want := "'\"\\\nA\u00e9\U0001f600"; err != nil || got.Text != want {
		t.Errorf("%q, %v, want %q", got.Text, err, want)
	}
	for _, bad := range []string{`'\x4'`, `'\777'`, `'\N{BULLET}'`, `'\U00110000'`, `'\uD800'`,
		`'\`, `'`, `'a"`} {
		if _, err := ParseLiteral(bad); err == nil {
			t.Errorf("%s taken", bad)
		}
	}
}

// FuzzParse: Parse never panics, and what it takes, Header writes and Parse reads the same.
func FuzzParse(f *testing.F) {
	for i, c := range goldens(f) {
		if i%20 == 0 && c.Fields == 0 {
			latin, _ := toLatin1(c.Header)
			f.Add(latin)
		}
	}
	f.Add(
		[]byte(v1("{'shape': (2,), 'fortran_order': True, 'descr': [('a', '<f4', (1, 2)), ('', " +
			"'|V3')]}")))
	f.Fuzz(func(t *testing.T, b []byte) {
		info, err := Parse(b)
		if err != nil {
			return
		}
		header, err := Header(info.Descr, info.Fortran, info.Shape)
		if err != nil {
			t.Fatalf("%+v: %v", info, err)
		}
		again, err := Parse(header)
		if err != nil || again.Descr != info.Descr || again.Fortran != info.Fortran ||
			!slices.Equal(again.Shape, info.Shape) {
			t.Fatalf("%+v reads back as %+v, %v", info, again, err)
		}
	})
}

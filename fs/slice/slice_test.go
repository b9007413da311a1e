package slice

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// array is the document of an array of three axes.
const array = `{"zarr_format": 3, "node_type": "array", "shape": [5, 6, 8], "data_type": "int16",
	"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3, 4]}},
	"chunk_key_encoding": {"name": "default"}, "fill_value": 0,
	"codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
	"dimension_names": ["t", "y", %s], "attributes": {%s}}`

func parsed(t testing.TB, lastName, attributes string) *meta.Array {
	t.Helper()
	m, _, err := meta.ParseV3([]byte(fmt.Sprintf(array, lastName, attributes)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestShown: shape, names and type of parts.
func TestShown(t *testing.T) {
	m := parsed(t, `"x"`, "")
	for text, want := range map[string]string{
		"t=3":                      "[6 8] [y x] '<i2'",
		"0=3":                      "[6 8] [y x] '<i2'",
		"t=-5,1=-1,x=7":            "[] [] '<i2'",
		"t=1:3,x=::3":              "[2 6 3] [t y x] '<i2'",
		"x=9:":                     "[5 6 0] [t y x] '<i2'",
		"x=-3:-9:-2":               "[5 6 3] [t y x] '<i2'",
		"x=::-9223372036854775808": "[5 6 1] [t y x] '<i2'",
		"order=F":                  "[5 6 8] [t y x] '<i2'",
		"order=C,t=0":              "[6 8] [y x] '<i2'",
		"dtype=<f4":                "[5 6 4] [t y x] '<f4'",
		"dtype=|u1,x=3:5":          "[5 6 4] [t y x] '|u1'",
		"dtype=>u2,x=3":            "[5 6] [t y] '>u2'",
		"scale,t=1":                "[6 8] [y x] '<f8'",
	} {
		s, err := Of(text, m)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := fmt.Sprint(s.Meta.Shape, s.Meta.DimensionNames, " ",
			s.Meta.Type.Descr()); got != want {
			t.Errorf("%s: %s, expected %s", text, got, want)
		}
	}
}

// TestWrong: each wrong expression is refused in words that say what is wrong.
func TestWrong(t *testing.T) {
	m := parsed(t, `"y"`, `"scale_factor": "two"`)
	for text, want := range map[string]string{
		"":                         "expected t=3",
		"t":                        "expected t=3",
		"=3":                       "expected t=3",
		"3":                        "such as 0=3; the array has axis 0",
		"t=1,2:3":                  `"2:3": expected the number or name of an axis`,
		"t=":                       "not an index",
		"t=+3":                     "not an index",
		"t=0x1":                    "not an index",
		"t=1.0":                    "not an index",
		"t= 1":                     "not an index",
		"t=99999999999999999999":   "not an index",
		"t=5":                      "index 5 is out of bounds, the axis has 5",
		"t=-6":                     "out of bounds",
		"t=::0":                    "a step of 0",
		"t=1:2:3:4":                "two colons",
		"t=1,t=2":                  "twice",
		"t=1,0=2":                  "axis 0 is there twice",
		"z=1":                      `no dimension "z"`,
		"3=1":                      "no axis 3: the array has 3",
		"y=1":                      "say the number of the axis",
		"order=X":                  "order=C or order=F",
		"dtype=<q9":                "q9",
		"dtype=":                   "not an index",
		"dtype=<f4,2=0":            "need the last axis",
		"dtype=<f4,2=::2":          "need the last axis",
		"dtype=<f4,2=0:3":          "6 bytes along the last axis",
		"dtype=<f4,order=F":        "no Fortran order",
		"dtype=<i2,scale":          "exclude each other",
		"scale":                    "scale_factor is not a number",
		strings.Repeat("t=1,", 70): "at most 64",
	} {
		if _, err := Of(text, m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, expected %q", text, err, want)
		}
	}
}

// TestNumbered: names of axes become their numbers, and nothing else changes.
func TestNumbered(t *testing.T) {
	names := []string{"t", "c", "", "x", "order", "x"}
	for text, want := range map[string]string{
		"t=3,c=:2":           "0=3,1=:2",
		"1=3,order=F":        "1=3,order=F",
		"order=1,dtype=<f4":  "4=1,dtype=<f4",
		"c=::-1,scale":       "1=::-1,scale",
		"3,,=5,t,c=0x1,t=+1": "3,,=5,t,c=0x1,t=+1",
		"z=1":                `no dimension "z": the array has t, c, , x, order, x`,
		"x=1":                `two dimensions are named "x": say the number of the axis`,
	} {
		got, err := Numbered(text, names)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, expected %s", text, got, want)
		}
		if has := got != text; HasNames(text) != has {
			t.Errorf("%s has names: %t, expected %t", text, !has, has)
		}
	}
}

// FuzzExpression: an expression is either refused, or names bytes that lie in the array, as many as
// what is shown has.
func FuzzExpression(f *testing.F) {
	for _, text := range []string{"t=3", "0=1:4:2,x=::-1", "order=F,y=-1", "dtype=<f4,t=0", "scale",
		"t=-9:9:-3,scale"} {
		f.Add(text)
	}
	m := parsed(f, `"x"`, `"scale_factor": 0.5`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Of(text, m)
		if err != nil {
			return
		}
		elements := int64(1)
		for _, n := range s.Meta.Shape {
			elements *= n
		}
		size := s.Bytes.Size()
		if s.Values != nil {
			size *= 4 // of 2 bytes becomes one of 8
		}
		if elements*s.Meta.Type.Size != size || len(s.Meta.DimensionNames) != len(s.Meta.Shape) {
			t.Fatalf("%q: shape %v of %s, but %d bytes", text, s.Meta.Shape, s.Meta.Type.Descr(),
				size)
		}
		for span := range s.Bytes.Spans(0, s.Bytes.Size()) {
			if span.At < 0 || span.Len <= 0 || span.At+span.Len > 5*6*8*2 {
				t.Fatalf("%q: bytes %+v lie outside of the array", text, span)
			}
		}
	})
}

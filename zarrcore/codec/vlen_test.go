package codec

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// vlenArray parses the document of an array of format 2 or 3.
func vlenArray(t testing.TB, doc string) *meta.Array {
	t.Helper()
	a, _, err := meta.ParseV3([]byte(doc))
	if strings.Contains(doc, `"zarr_format":2`) {
		a, err = meta.ParseV2Array([]byte(doc), nil)
	}
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return a
}

// linesOf decodes all chunks of an object and lists its elements in C order, each as a line.
func linesOf(r *Vlen, a *meta.Array, src Source) ([]string, error) {
	whole := make([]string, count(a.Chunk))
	for inner := range r.PerObject() {
		e, err := r.Decode(src, inner, 1<<20)
		if errors.Is(err, ErrEmpty) {
			e, err = r.Fill(), nil
		}
		if err != nil {
			return nil, err
		}
		for i := range r.Count() {
			at := placeOf(a.Chunk, r.Chunk(), inner, i)
			whole[at] = strings.TrimSuffix(string(e.AppendLine(nil, min(i, e.Len()-1))), "\n")
		}
	}
	return whole, nil
}

func count(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// placeOf returns the number within an object of element i of its chunk inner.
func placeOf(object, chunk []int64, inner, i int64) int64 {
	place, stride := int64(0), int64(1)
	for a := len(object) - 1; a >= 0; a-- {
		per := object[a] / chunk[a]
		place += stride * (inner%per*chunk[a] + i%chunk[a])
		inner, i, stride = inner/per, i/chunk[a], stride*object[a]
	}
	return place
}

// TestVlen decodes objects that zarr-python 2 and 3 stored (testdata/vlen.py).
func TestVlen(t *testing.T) {
	for _, c := range slices.Concat(lines(t, "testdata/vlen2.jsonl"),
		lines(t, "testdata/vlen3.jsonl")) {
		name := c.Get("name").Text()
		a := vlenArray(t, string(c.Get("metadata").Standard()))
		r, err := BindVlen(a)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var want []string
		for line := range c.Get("lines").Elements() {
			want = append(want, line.Text())
		}
		got, err := linesOf(r, a, memory(unbase64(t, c.Get("object"))))
		if err != nil || !sameJSON(t, got, want) {
			t.Errorf("%s: %v\n got %q\nwant %q", name, err, got, want)
		}
	}
}

// sameJSON compares lines: strings as they are decoded, everything else as it is written.
func sameJSON(t *testing.T, got, want []string) bool {
	t.Helper()
	return slices.EqualFunc(got, want, func(g, w string) bool {
		x, err := pyjson.Parse([]byte(g))
		if err != nil {
			t.Errorf("%s: %v", g, err)
		}
		y, err := pyjson.Parse([]byte(w))
		return err == nil && g == w ||
			x.Kind() == pyjson.String && y.Kind() == pyjson.String && x.Text() == y.Text()
	})
}

// TestVlenJSONSpelling: strings are shown in UTF-8 however they were written, and other values
// without white space.
func TestVlenJSONSpelling(t *testing.T) {
	r, err := BindVlen(vlenArray(t, objects2(`[5]`, `[{"id":"json2"}]`, `null`)))
	if err != nil {
		t.Fatal(err)
	}
	e, err := r.Decode(memory(`["\u00e9\/\u0022\n", "é", "\ud800", {"a" : "\u00e9", "b": [ 1.50, `+
		`NaN ]}, -Infinity, "|O", [5]]`), 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	want := `"é/\"\n"` + "\n" + `"é"` + "\n" + `"\ud800"` + "\n" +
		`{"a":"\u00e9","b":[1.50,"NaN"]}` + "\n" + `"-Infinity"` + "\n"
	var got []byte
	for i := range e.Len() {
		got = e.AppendLine(got, i)
	}
	if string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// objects2 is a document of format 2 of any objects, with filters in JSON.
func objects2(shape, filters, fill string) string {
	return fmt.Sprintf(`{"zarr_format":2,"shape":%s,"chunks":%[1]s,"dtype":"|O","order":"C",`+
		`"compressor":null,"fill_value":%s,"filters":%s}`, shape, fill, filters)
}

// objects3 is a document of format 3 of a type, with codecs in JSON.
func objects3(dataType, fill, codecs string) string {
	return fmt.Sprintf(`{"zarr_format":3,"node_type":"array","shape":[4],"data_type":%q,
		"fill_value":%s,"codecs":%s,
		"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4]}},
		"chunk_key_encoding":{"name":"default"}}`, dataType, fill, codecs)
}

func TestVlenFill(t *testing.T) {
	for _, c := range []struct{ doc, want string }{
		{objects2(`[4]`, `[{"id":"vlen-utf8"}]`, `null`), `""`},
		{objects2(`[4]`, `[{"id":"vlen-utf8"}]`, `0`), `""`},
		{objects2(`[4]`, `[{"id":"vlen-utf8"}]`, `"é"`), `"é"`},
		{objects2(`[4]`, `[{"id":"vlen-bytes"}]`, `"YWI="`), `"YWI="`},
		{objects2(`[4]`, `[{"id":"vlen-bytes"}]`, `"ab!"`), `"YWIh"`},
		{objects2(`[4]`, `[{"id":"vlen-bytes"}]`, `0`), `""`},
		{objects2(`[4]`, `[{"id":"vlen-array","dtype":"<i4"}]`, `0`), `[]`},
		{objects2(`[4]`, `[{"id":"json2"}]`, `0`), `0`},
		{objects2(`[4]`, `[{"id":"json2"}]`, `{"a": [1, 2]}`), `{"a":[1,2]}`},
		{objects2(`[4]`, `[{"id":"categorize","dtype":"|O","labels":["x"]}]`, `null`), `""`},
		{objects3("string", `"x"`, `["vlen-utf8"]`), `"x"`},
		{objects3("bytes", `[97, 98]`, `["vlen-bytes"]`), `"YWI="`},
		{objects3("binary", `"YWI="`, `["vlen-bytes"]`), `"YWI="`},
		{objects3("string", `"x"`, `["numcodecs.vlen-utf8"]`), `"x"`},
	} {
		r, err := BindVlen(vlenArray(t, c.doc))
		if err != nil {
			t.Errorf("%s: %v", c.doc, err)
			continue
		}
		if got := strings.TrimSpace(string(r.Fill().AppendLine(nil, 0))); got != c.want {
			t.Errorf("%s: fill %s, want %s", c.doc, got, c.want)
		}
	}
}

// TestVlenUnbound holds the errors for chains that cannot be bound. An error with a leading ! wraps
// errors.ErrUnsupported.
func TestVlenUnbound(t *testing.T) {
	for _, c := range []struct{ doc, want string }{
		{objects2(`[4]`, `[{"id":"pickle","protocol":4}]`, `null`),
			`!codec "numcodecs.pickle": not decoded, as decoding it executes code from the data; ` +
				`if you trust it, ` +
				`read it with zarr-python and store it again as strings or numbers`},
		{objects2(`[4]`, `[{"id":"msgpack2"}]`, `null`), `!codec "numcodecs.msgpack2": ` +
			`not decoded, it needs a decoder of elements that have no fixed size`},
		{objects2(`[4]`, `null`, `null`), `!codecs: expected one for elements of type "object", ` +
			`which have no fixed size, as vlen-utf8; found none: unsupported operation`},
		{objects2(`[4]`, `[{"id":"delta","dtype":"<i4"},{"id":"vlen-utf8"}]`, `null`),
			`!codec "numcodecs.delta": not decoded where elements have no fixed size`},
		{objects2(`[4]`, `[{"id":"vlen-utf8"},{"id":"json2"}]`, `null`),
			`codec "numcodecs.json2": stands after a codec that has made bytes of the elements`},
		{objects2(`[4]`, `[{"id":"vlen-array"}]`, `null`), `codec "numcodecs.vlen-array": ` +
			`configuration "dtype": dtype: expected a typestr or a list of fields, found nothing`},
		{objects2(`[4]`, `[{"id":"vlen-array","dtype":"<M8[s]"}]`, `null`),
			`!codec "numcodecs.vlen-array": lists of type <M8[s]: unsupported operation`},
		{objects2(`[4]`, `[{"id":"vlen-array","dtype":"<i4"}]`, `"x"`),
			`fill value: expected a string, null or 0 for lists of numbers, found "x"`},
		{objects2(`[4]`, `[{"id":"json2","encoding":"utf-16"}]`, `null`),
			`!codec "numcodecs.json2": not decoded with another encoding than UTF-8`},
		{objects2(`[4]`, `[{"id":"categorize","dtype":"|O","labels":[1]}]`, `null`),
			`codec "numcodecs.categorize": configuration "labels": expected a list of strings, ` +
				`found [1]`},
		{objects3("string", `""`, `["bytes"]`),
			`!codec "bytes": not decoded where elements have no fixed size`},
		{objects3("string", `""`, `["numcodecs.json2"]`),
			`codec "numcodecs.json2": elements of type string are not JSON values`},
		{objects3("string", `""`, `[{"name":"vlen-array","configuration":{"dtype":"<i4"}}]`),
			`codec "vlen-array": elements of type string are not lists`},
		{objects3("string", `""`, `["gzip","vlen-utf8"]`),
			`codec "gzip": stands before the array->bytes codec, but needs bytes`},
		{objects3("string", `""`, `["vlen-utf8","acme"]`),
			`!codec "acme": unknown to this version of zarrfs`},
		{objects3("string", `""`, `[`+sharded(`[2]`, `["vlen-utf8"]`, `["bytes"]`, ``)+`,"gzip"]`),
			`!codec "sharding_indexed": ` +
				`not decoded where elements have no fixed size and its chunks cannot be ` +
				`read apart`},
	} {
		_, err := BindVlen(vlenArray(t, c.doc))
		want, unsupported := strings.CutPrefix(c.want, "!")
		if !unsupported {
			want = "invalid metadata: " + want
		}
		if err == nil || err.Error() != want ||
			errors.Is(err, errors.ErrUnsupported) != unsupported {
			t.Errorf("%s:\n got %v\nwant %s", c.doc, err, want)
		}
	}
}

// wire is a chunk as vlen-utf8 and its like store it: numbers become 32 bits, strings stay as they
// are.
func wire(parts ...any) (b []byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = binary.LittleEndian.AppendUint32(b, uint32(p))
		case string:
			b = append(b, p...)
		}
	}
	return b
}

// TestVlenRefused holds that damaged and hostile chunks are errors that say what was expected and
// found.
func TestVlenRefused(t *testing.T) {
	text, list := `[{"id":"vlen-utf8"}]`, `[{"id":"vlen-array","dtype":"<i4"}]`
	for _, c := range []struct {
		shape, filters string
		object         []byte
		want           string
	}{
		{`[2]`, text, nil, `corrupt data: expected the number of elements, found 0 bytes`},
		{`[2]`, text, wire(3, 0, 0, 0), `corrupt data: expected 2 elements, found 3`},
		{`[2]`, text, wire(-1), `corrupt data: expected 2 elements, found 4294967295`},
		{`[2]`, text, wire(2, 0),
			`corrupt data: expected at least 12 bytes for 2 elements, found 8`},
		{`[2]`, text, wire(2, 4, "abcd"),
			`corrupt data: element 1 of 2: expected its length at byte 12, found the end at 12`},
		{`[2]`, text, wire(2, 5, "abcd"),
			`corrupt data: element 0 of 2: expected at most 4 bytes, found 5`},
		{`[2]`, text, wire(2, -1, "abcd"),
			`corrupt data: element 0 of 2: expected at most 4 bytes, found 4294967295`},
		{`[2]`, text, wire(2, 0, 0, "!"),
			`corrupt data: expected the end after 2 elements at byte 12, found it at 13`},
		{`[2]`, text, wire(2, 1, "\xff", 0),
			`corrupt data: element 0 of 2: expected UTF-8, found "\xff"`},
		{`[2]`, list, wire(2, 3, "abc", 0),
			`corrupt data: element 0 of 2: expected a multiple of 4 bytes, found 3`},
		{`[2]`, `[{"id":"json2"}]`, []byte(`["a"`), `corrupt data: line 1, column 5 (byte 4): ` +
			`expected ',' or ']', found the end of the document`},
		{`[2]`, `[{"id":"json2"}]`, []byte(`{"a":1}`),
			`corrupt data: expected a list that ends in a type and a shape, found "{\"a\":1}"`},
		{`[2]`, `[{"id":"json2"}]`, []byte(`["a","b","|O",[3]]`),
			`corrupt data: expected shape [2], found [3]`},
		{`[2]`, `[{"id":"json2"}]`, []byte(`["a","|O",[2]]`),
			`corrupt data: expected a list of 2 elements, found 1`},
		{`[2,2]`, `[{"id":"json2"}]`, []byte(`[["a","b"],["c"],"|O",[2,2]]`),
			`corrupt data: expected a list of 2 elements, found 1`},
		{`[2,2]`, `[{"id":"json2"}]`, []byte(`["a","b","|O",[2,2]]`),
			`corrupt data: expected a list of 2 elements, found 0`},
		{`[2]`, `[{"id":"json"}]`, []byte(`["a","b","c","|O"]`),
			`corrupt data: expected a list of 2 elements, found 3`},
		{`[2]`, `[{"id":"categorize","dtype":"|O","labels":["x"]}]`, []byte{1},
			`corrupt data: expected 2 numbers of 1 bytes, found 1 bytes`},
		{`[70000]`, text, wire(70000),
			`output exceeds its limit: a chunk of 70000 elements, expected at most 1048576 bytes`},
		{`[4000000000000000]`, text, wire(2), `output exceeds its limit: ` +
			`a chunk of 4000000000000000 elements, expected at most 1048576 bytes`},
		{`[2]`, text, make([]byte, 1<<20+1),
			`output exceeds its limit: 1048577 encoded bytes, expected at most 1048576`},
		{`[2]`, `[{"id":"vlen-utf8"},{"id":"lz4"}]`, append(wire(1<<30), 0),
			`codec "numcodecs.lz4": output exceeds its limit: ` +
				`lz4 object decodes to 1073741824 bytes, expected at most 1048576`},
		{`[2]`, `[{"id":"vlen-utf8"},{"id":"zlib"}]`, []byte("no"),
			`codec "numcodecs.zlib": corrupt data: zlib stream of 2 bytes, expected at least 6`},
	} {
		r, err := BindVlen(vlenArray(t, objects2(c.shape, c.filters, `null`)))
		if err != nil {
			t.Errorf("%s: %v", c.filters, err)
			continue
		}
		_, err = r.Decode(memory(c.object), 0, 1<<20)
		if err == nil || err.Error() != c.want ||
			!errors.Is(err, compress.ErrCorrupt) && !errors.Is(err, compress.ErrTooLarge) {
			t.Errorf("%s of %.40q:\n got %v\nwant %s", c.filters, c.object, err, c.want)
		}
	}
}

// TestVlenLimit holds that a chunk decodes exactly where its limit allows it, whatever the chunks
// before it needed.
func TestVlenLimit(t *testing.T) {
	long := strings.Repeat("abcdefgh", 20000)
	plain := wire(2, len(long), long, 0)
	encoded := []byte(base64.StdEncoding.EncodeToString(plain))
	r, err := BindVlen(vlenArray(t,
		objects2(`[2]`, `[{"id":"vlen-utf8"},{"id":"base64"}]`, `null`)))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for limit, want := range map[int64]error{
			int64(len(plain)) - 1: compress.ErrTooLarge,
			int64(len(encoded)):   nil,
		} {
			e, err := r.Decode(memory(encoded), 0, limit)
			if !errors.Is(err, want) ||
				err == nil && (string(e.At(0)) != long || e.Bytes() < int64(len(plain))) {
				t.Errorf("limit %d: %v", limit, err)
			}
		}
	}
}

// fuzzVlen are chains for FuzzVlen, each over chunks of 2 by 3.
var fuzzVlen = []string{
	`[{"id":"vlen-utf8"}]`, `[{"id":"vlen-bytes"}]`, `[{"id":"vlen-array","dtype":">i2"}]`,
	`[{"id":"vlen-utf8"},{"id":"zlib"}]`,
	`[{"id":"json2"}]`, `[{"id":"json"}]`, `[{"id":"categorize","dtype":"|O","labels":["x","yz"]}]`,
	`[{"id":"vlen-utf8"},{"id":"blosc"}]`,
}

// fuzzVlenDocuments are arrays with these chains in either order, and some of format 3.
func fuzzVlenDocuments() []string {
	var docs []string
	for _, filters := range fuzzVlen {
		doc := objects2(`[2,3]`, filters, `null`)
		docs = append(docs, doc, strings.Replace(doc, `"order":"C"`, `"order":"F"`, 1))
	}
	return append(docs, objects3("string", `""`, `["vlen-utf8","crc32c"]`),
		objects3("bytes", `""`, `["vlen-bytes","gzip"]`))
}

// FuzzVlen decodes any bytes: nothing panics, a failure is damage or size, all elements are there,
// and what they take is within the limit.
func FuzzVlen(f *testing.F) {
	const limit = 1 << 16
	for i := range fuzzVlen {
		f.Add(uint8(i), []byte{}, false)
		f.Add(uint8(i), wire(6, 1, "a", 2, "bc", 0, 0, 0, 0), i%2 == 1)
		f.Add(uint8(i), []byte(`[["a",1,null],[[],{},"b"],"|O",[2,3]]`), false)
		f.Add(uint8(i), []byte(`["a",1,null,[],{},"b","|O",[6]]`), true)
		f.Add(uint8(i), []byte{1, 0, 2, 1, 0, 3}, true)
	}
	var chains []*Vlen
	for _, doc := range fuzzVlenDocuments() {
		r, err := BindVlen(vlenArray(f, doc))
		if err != nil {
			f.Fatal(err)
		}
		chains = append(chains, r)
	}
	f.Fuzz(func(t *testing.T, which uint8, object []byte, fortran bool) {
		i := 2 * int(which)
		if fortran {
			i++
		}
		c := chains[i%len(chains)]
		e, err := c.Decode(memory(object), 0, limit)
		if err != nil {
			checkFailure(t, err)
			return
		}
		if e.Len() != c.Count() || e.Bytes() > 3*limit {
			t.Fatalf("%d elements of %d bytes", e.Len(), e.Bytes())
		}
		for i := range e.Len() {
			line := e.AppendLine(nil, i)
			if _, err := pyjson.Parse(line); err != nil || int64(len(line)) != e.LineLen(i) {
				t.Fatalf("element %d: %q: %v, length %d", i, line, err, e.LineLen(i))
			}
			e.Width(i)
		}
	})
}

// TestVlenKinds holds that Bind and BindVlen each refuse the other's arrays.
func TestVlenKinds(t *testing.T) {
	_, err := Bind(vlenArray(t, objects3("string", `""`, `["vlen-utf8"]`)))
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Bind: %v", err)
	}
	if _, err := BindVlen(&meta.Array{Type: dtype.Type{Kind: dtype.Int, Size: 4}}); err == nil {
		t.Error("BindVlen takes integers")
	}
	if k := fmt.Sprint(vlen.Text, vlen.JSON); k != "strings values of JSON" {
		t.Error(k)
	}
}

// TestVlenKindsStay binds arrays after each other: the elements of one are not taken for those of
// the next one.
func TestVlenKindsStay(t *testing.T) {
	const v3 = `{"zarr_format":3,"node_type":"array","shape":[2],"data_type":%q,"fill_value":"",
		"codecs":[{"name":%q}],
		"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
		"chunk_key_encoding":{"name":"default"}}`
	for range 2 {
		for doc, want := range map[string]vlen.Kind{
			fmt.Sprintf(v3, "bytes", "vlen-utf8"):            vlen.Binary,
			fmt.Sprintf(v3, "string", "vlen-bytes"):          vlen.Text,
			objects2(`[2]`, `[{"id":"vlen-utf8"}]`, `null`):  vlen.Text,
			objects2(`[2]`, `[{"id":"vlen-bytes"}]`, `null`): vlen.Binary,
		} {
			r, err := BindVlen(vlenArray(t, doc))
			if err != nil {
				t.Fatalf("%s: %v", doc, err)
			}
			if found := r.form.(lengthPrefixed).kind; found != want {
				t.Errorf("%s: elements are of kind %v, expected %v", doc, found, want)
			}
		}
	}
}

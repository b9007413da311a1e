package codec

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// goldenVlen are the arrays of no fixed element size that other libraries wrote.
func goldenVlen(t *testing.T) (docs []*meta.Array, names []string, objects [][]byte) {
	t.Helper()
	for _, c := range slices.Concat(lines(t, "testdata/vlen2.jsonl"),
		lines(t, "testdata/vlen3.jsonl")) {
		docs = append(docs, vlenArray(t, string(c.Get("metadata").Standard())))
		names = append(names, c.Get("name").Text())
		objects = append(objects, unbase64(t, c.Get("object")))
	}
	return docs, names, objects
}

// encodeVlenObject decodes all chunks of an object, and makes another object of what they hold.
func encodeVlenObject(r *Vlen, object []byte) ([]byte, error) {
	var pieces []piece
	for inner := range r.PerObject() {
		e, err := r.Decode(memory(object), inner, 1<<20)
		if errors.Is(err, ErrEmpty) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for i := range e.Len() {
			if err := r.Accepts(e.At(i)); err != nil {
				return nil, err
			}
		}
		data, err := r.Encode(nil, e, 1<<20)
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, piece{inner, data})
	}
	object, _, err := assemble(r, nil, pieces)
	return object, err
}

// TestVlenEncode encodes what zarr-python 2 and 3 stored, and decodes the same from it. Where no
// compressor makes a difference, the bytes are the same too.
func TestVlenEncode(t *testing.T) {
	docs, names, objects := goldenVlen(t)
	same := 0
	for i, a := range docs {
		r, err := BindVlen(a)
		if err == nil {
			err = r.Writable()
		}
		if err != nil {
			t.Errorf("%s: %v", names[i], err)
			continue
		}
		object, err := encodeVlenObject(r, objects[i])
		if err != nil {
			t.Errorf("%s: %v", names[i], err)
			continue
		}
		want, _ := linesOf(r, a, memory(objects[i]))
		if got, err := linesOf(r, a, memory(object)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v\n got %q\nwant %q", names[i], err, got, want)
		}
		if bytes.Equal(object, objects[i]) {
			same++
		}
	}
	if same < 12 {
		t.Errorf("%d objects are as the libraries wrote them, byte for byte; expected 12 at least",
			same)
	}
}

// TestVlenJSONOrder: elements in Fortran order become a flat list. zarr-python 2 reads the same
// array from it; it mixes up nested lists.
func TestVlenJSONOrder(t *testing.T) {
	for order, want := range map[string]string{
		"C": `[["a","b"],["c","\u00e9\ud83d\ude00"],"|O",[2,2]]`,
		"F": `["a","c","b","\u00e9\ud83d\ude00","|O",[4]]`,
	} {
		r, err := BindVlen(vlenArray(t, strings.Replace(objects2(
			`[2,2]`, `[{"id":"json2"}]`, `null`), `"order":"C"`, `"order":"`+order+`"`, 1)))
		if err != nil {
			t.Fatal(err)
		}
		e := elementsOf(vlen.JSON, `"a"`, `"b"`, `"c"`, `"é😀"`)
		got, err := r.Encode(nil, e, 1<<20)
		if err != nil || string(got) != want {
			t.Errorf("order %s: %s, %v, want %s", order, got, err, want)
		}
	}
}

// elementsOf makes Elements of a kind.
func elementsOf(kind vlen.Kind, words ...string) *vlen.Elements {
	e := &vlen.Elements{Kind: kind}
	for _, w := range words {
		e.Spans = append(e.Spans, vlen.Span{Off: uint32(len(e.Data)), Len: uint32(len(w))})
		e.Data = append(e.Data, w...)
	}
	return e
}

// TestVlenNotEncoded holds why chains, elements and chunks are not encoded.
func TestVlenNotEncoded(t *testing.T) {
	for _, c := range []struct{ filters, want string }{
		{`[{"id":"json"}]`, `codec "numcodecs.json" cannot be written: it is decoded only: ` +
			`json2 has taken its place`},
		{`[{"id":"categorize","dtype":"|O","labels":["a","b"],"astype":"|b1"}]`,
			`codec "numcodecs.categorize" cannot be written: ` +
				`2 labels are more than numbers of type |b1 can count`},
		{`[{"id":"vlen-utf8"},{"id":"lzma","format":0}]`,
			`codec "numcodecs.lzma" cannot be written: format 0 (automatic) can only be ` +
				`decoded: set format 1, 2 or 3 to encode`},
		{`[{"id":"vlen-utf8"},{"id":"lzma","format":1,"filters":[{"id":4},{"id":33}]}]`,
			`codec "numcodecs.lzma" cannot be written: unsupported operation: ` +
				`configuration "filters"[0]: configuration "id": ` +
				`expected a filter of data: 3 (delta), ` +
				`4611686018427387905 (LZMA1) or 33 (LZMA2), found 4`},
	} {
		r, err := BindVlen(vlenArray(t, objects2(`[2]`, c.filters, `null`)))
		if err != nil {
			t.Fatal(err)
		}
		err = r.Writable()
		if err == nil || err.Error() != c.want || !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v, want %s", c.filters, err, c.want)
		}
	}
	r, err := BindVlen(vlenArray(t,
		objects2(`[2]`, `[{"id":"categorize","dtype":"|O","labels":["a"]}]`, `null`)))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Accepts([]byte("b")); err == nil || r.Accepts([]byte("a")) != nil ||
		r.Accepts(nil) != nil {
		t.Errorf("labels: %v", err)
	}
	if r, err = BindVlen(
		vlenArray(t, objects2(`[2]`, `[{"id":"vlen-utf8"},{"id":"zlib"}]`, `null`))); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Encode(nil, elementsOf(vlen.Text, "a", strings.Repeat("b", 1000)),
		1000); !errors.Is(err, compress.ErrTooLarge) {
		t.Errorf("more than the limit: %v", err)
	}
	if _, err := r.Encode(nil, elementsOf(vlen.Text, "a"), 1000); err == nil {
		t.Error("one element of two: no error")
	}
	if r.Accepts([]byte("\xff")) == nil {
		t.Error("no UTF-8, and no error")
	}
}

// FuzzVlenEncode: what a chain decodes from any bytes stays the same when it is encoded and decoded
// again.
func FuzzVlenEncode(f *testing.F) {
	var chains []*Vlen
	for i, filters := range fuzzVlen {
		f.Add(uint8(i), wire(6, 1, "a", 2, "bc", 0, 0, 0, 0))
		f.Add(uint8(i), []byte(`["a",1,null,[],{},"b","|O",[6]]`))
		f.Add(uint8(i), []byte{1, 0, 2, 1, 0, 2})
		r, err := BindVlen(vlenArray(f, strings.Replace(objects2(`[2,3]`, filters, `null`),
			`"order":"C"`, `"order":"`+string("CF"[i%2])+`"`, 1)))
		if err != nil {
			f.Fatal(err)
		}
		if r.Writable() == nil {
			chains = append(chains, r)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, object []byte) {
		r := chains[int(which)%len(chains)]
		e, err := r.Decode(memory(object), 0, 1<<16)
		if err != nil {
			return
		}
		data, err := r.Encode(nil, e, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		back, err := r.Decode(memory(data), 0, 1<<20)
		if err != nil {
			t.Fatalf("%q became %q: %v", object, data, err)
		}
		for i := range e.Len() {
			was, is := pyjson.AppendASCII(nil, e.AppendLine(nil, i)),
				pyjson.AppendASCII(nil, back.AppendLine(nil, i))
			if !bytes.Equal(was, is) {
				t.Fatalf("element %d: %q became %q", i, was, is)
			}
		}
	})
}

package codec

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// json2 (numcodecs) stores a chunk as a list of JSON: its elements, nested by axes, then its data
// type and its shape. json, which is older, does not say the shape.
func init() {
	registerForm("numcodecs.json2", jsonBinder(2))
	registerForm("numcodecs.json", jsonBinder(1))
}

// jsonForm is one of them, bound.
type jsonForm struct {
	shape []int64 // of a chunk, in C order
	tail  int     // items behind the elements
}

func jsonBinder(tail int) formBinder {
	return func(in state, cfg config) (form, state, error) {
		if in.typ.Name != objectName {
			return nil, in, fmt.Errorf("elements of type %s are not JSON values", in.typ.Name)
		}
		if _, err := cfg.oneOf("encoding", "utf-8", "utf-8", "UTF-8", "utf8", "ascii"); err != nil {
			return nil, in, notDecoded("not decoded with another encoding than UTF-8")
		}
		return &jsonForm{shape: in.begin, tail: tail}, in.encoded(), nil
	}
}

// least counts a character for each element, and a comma or a bracket.
func (f *jsonForm) least(n int64) int64 { return 2 * n }

// decode reads the whole document. Nested elements are in C order. Those of a flat list are in the
// order of the chain; the document then has the shape of the list.
func (f *jsonForm) decode(b []byte, n int64) (*vlen.Elements, bool, error) {
	doc, err := pyjson.Parse(b)
	if err == nil {
		doc, err = pyjson.Parse(doc.Standard()) // without white space, in strict JSON
	}
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", compress.ErrCorrupt, err)
	}
	items := doc.Len() - f.tail
	if doc.Kind() != pyjson.Array || items < 0 {
		return nil, false, fmt.Errorf("%w: expected a list that ends in a type and a shape, "+
			"found %.40q", compress.ErrCorrupt, b)
	}
	shape, err := f.shapeOf(doc, n)
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", compress.ErrCorrupt, err)
	}
	e := &vlen.Elements{Kind: vlen.JSON, Data: make([]byte, 0, len(doc.Raw())),
		Spans: make([]vlen.Span, 0, n)}
	if err := appendNested(e, doc, items, shape); err != nil {
		return nil, false, fmt.Errorf("%w: %w", compress.ErrCorrupt, err)
	}
	return e, len(shape) > 1, nil
}

// shapeOf returns the shape by which the elements are nested: that of the chunk, or that of a flat
// list of it.
func (f *jsonForm) shapeOf(doc pyjson.Value, n int64) ([]int64, error) {
	flat := []int64{n}
	if f.tail < 2 {
		return f.shape, nil
	}
	var last pyjson.Value
	for v := range doc.Elements() {
		last = v
	}
	var found []int64
	for v := range last.Elements() {
		d, ok := v.Int64()
		if !ok || len(found) > len(f.shape) {
			break
		}
		found = append(found, d)
	}
	switch {
	case slices.Equal(found, f.shape):
		return f.shape, nil
	case slices.Equal(found, flat):
		return flat, nil
	}
	return nil, fmt.Errorf("expected shape %v, found %s", f.shape, shorten(last.Raw()))
}

// appendNested appends the first items of a list, which is nested by shape; of rank 0 it has one
// item.
func appendNested(e *vlen.Elements, list pyjson.Value, items int, shape []int64) error {
	want := int64(1)
	if len(shape) > 0 {
		want = shape[0]
	}
	if list.Kind() != pyjson.Array || int64(items) != want {
		return fmt.Errorf("expected a list of %d elements, found %d", want, items)
	}
	for v := range list.Elements() {
		if items--; items < 0 {
			return nil
		}
		if len(shape) > 1 {
			if err := appendNested(e, v, v.Len(), shape[1:]); err != nil {
				return err
			}
			continue
		}
		start := len(e.Data)
		e.Data = appendValue(e.Data, v)
		e.Spans = append(e.Spans, vlen.Span{Off: uint32(start), Len: uint32(len(e.Data) - start)})
	}
	return nil
}

// appendValue appends a value without white space. A string is spelled as other codecs spell it,
// which is never longer. Half of a surrogate pair stays as it is, because UTF-8 cannot express it.
func appendValue(dst []byte, v pyjson.Value) []byte {
	if text := v.Text(); v.Kind() == pyjson.String && !strings.ContainsRune(text, utf8.RuneError) {
		return vlen.AppendString(dst, []byte(text))
	}
	return append(dst, v.Raw()...)
}

// writable returns nil for json2. json cannot be written: its readers cannot know the shape of a
// chunk, nor distinguish elements from the lists around them.
func (f *jsonForm) writable() error {
	if f.tail < 2 {
		return notEncoded("it is decoded only: json2 has taken its place")
	}
	return nil
}

func (f *jsonForm) accepts([]byte) error { return nil }

// encode writes elements that are in C order nested by the chunk's shape, as numcodecs does, and
// others as a flat list of them. All is ASCII, as from Python's json.dumps, because the codec's
// encoding may be ASCII.
func (f *jsonForm) encode(dst []byte, e *vlen.Elements, moved bool) ([]byte, error) {
	shape := f.shape
	if moved {
		shape = []int64{e.Len()}
	}
	next := int64(0)
	dst = append(dst, '[')
	if len(shape) == 0 {
		dst = append(pyjson.AppendASCII(dst, e.At(0)), ',')
	} else {
		for range shape[0] {
			dst = append(f.nest(dst, e, &next, shape[1:]), ',')
		}
	}
	dst = append(dst, `"|O",`...)
	return append(append(dst, pyjson.IntsOf(shape).Raw()...), ']'), nil
}

// nest appends the next elements of e, nested by shape.
func (f *jsonForm) nest(dst []byte, e *vlen.Elements, next *int64, shape []int64) []byte {
	if len(shape) == 0 {
		*next++
		return pyjson.AppendASCII(dst, e.At(*next-1))
	}
	dst = append(dst, '[')
	for i := range shape[0] {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = f.nest(dst, e, next, shape[1:])
	}
	return append(dst, ']')
}

// fill returns the fill value as the document has it.
func (f *jsonForm) fill(a *meta.Array) (*vlen.Elements, error) {
	return single(vlen.JSON, dtype.Type{}, a.Fill), nil
}

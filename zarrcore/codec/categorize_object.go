package codec

import (
	"fmt"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// categorize of objects: as of fixed-size strings, and the labels are as long as they are.
func init() { registerForm("numcodecs.categorize", arrayToArray, bindCategorizeObject) }

// objectLabels is categorize bound to strings of any length.
type objectLabels struct {
	from  scalar
	text  []byte      // all labels
	table []vlen.Span // where each is in it; number 0 is the empty string
}

func bindCategorizeObject(in state, cfg config) (form, state, error) {
	if in.typ.Name != objectName {
		return nil, in, fmt.Errorf("elements of type %s are no labels", in.typ.Name)
	}
	astype, from, err := in.numberType(cfg, "astype", dtype.Type{Kind: dtype.Uint, Size: 1})
	if err != nil {
		return nil, in, err
	}
	if !from.integral() {
		return nil, in, cfg.expected("astype", "an integer type")
	}
	l := &objectLabels{from: from, table: []vlen.Span{{}}}
	v := cfg.get("labels")
	if v.Kind() != pyjson.Array {
		return nil, in, cfg.expected("labels", "a list of strings")
	}
	for label := range v.Elements() {
		if label.Kind() != pyjson.String {
			return nil, in, cfg.expected("labels", "a list of strings")
		}
		start := len(l.text)
		l.text = append(l.text, label.Text()...)
		l.table = append(l.table, vlen.Span{Off: uint32(start), Len: uint32(len(l.text) - start)})
	}
	n, err := product(1, in.shape)
	if err != nil {
		return nil, in, err
	}
	return l, in.retyped(astype, n), nil
}

func (l *objectLabels) least(n int64) int64 { return n * int64(l.from.size) }

func (l *objectLabels) decode(b []byte, n int64) (*vlen.Elements, bool, error) {
	if int64(len(b)) != l.least(n) {
		return nil, false, fmt.Errorf("%w: expected %d numbers of %d bytes, found %d bytes", compress.ErrCorrupt, n, l.from.size, len(b))
	}
	e := &vlen.Elements{Kind: vlen.Text, Data: l.text, Spans: make([]vlen.Span, n)}
	var block [blockLen]uint64
	for out := e.Spans; len(out) > 0; {
		k := min(len(out), blockLen)
		loadInts(block[:k], b[:k*l.from.size], l.from)
		for i, number := range block[:k] {
			if number < uint64(len(l.table)) {
				out[i] = l.table[number]
			}
		}
		out, b = out[k:], b[k*l.from.size:]
	}
	return e, false, nil
}

// fill is a string, or the empty one for null and numbers.
func (l *objectLabels) fill(a *meta.Array) (*vlen.Elements, error) {
	return lengthPrefixed{kind: vlen.Text}.fill(a)
}

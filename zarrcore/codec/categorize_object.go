package codec

import (
	"fmt"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// categorize of objects is as that of strings of fixed size, but its labels are not cut.
func init() { registerForm("numcodecs.categorize", bindCategorizeObject) }

// objectLabels is categorize bound to strings of any length.
type objectLabels struct {
	from  scalar
	text  []byte      // all labels
	table []vlen.Span // where each is in it; number 0 is the empty string

	numbers map[string]uint64 // of the labels; of the first one where two are the same
}

func bindCategorizeObject(in state, cfg config) (form, state, error) {
	if in.typ.Name != objectName {
		return nil, in, fmt.Errorf("elements of type %s are not labels", in.typ.Name)
	}
	astype, from, err := in.numberType(cfg, "astype", dtype.Type{Kind: dtype.Uint, Size: 1})
	if err != nil {
		return nil, in, err
	}
	if !from.isIntegral() {
		return nil, in, cfg.expected("astype", "an integer type")
	}
	l := &objectLabels{from: from, table: []vlen.Span{{}}, numbers: map[string]uint64{"": 0}}
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
		if _, known := l.numbers[label.Text()]; !known {
			l.numbers[label.Text()] = uint64(len(l.table))
		}
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
		return nil, false, fmt.Errorf("%w: expected %d numbers of %d bytes, found %d bytes",
			compress.ErrCorrupt, n, l.from.size, len(b))
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

// writable returns nil if the type has a number for every label.
func (l *objectLabels) writable() error { return l.from.counts(len(l.table) - 1) }

// accepts refuses what is not a label. numcodecs stores the empty string instead, and so loses it.
func (l *objectLabels) accepts(b []byte) error {
	if _, known := l.numbers[string(b)]; !known {
		return fmt.Errorf("expected one of the %d labels of codec \"categorize\", found %.40q",
			len(l.table)-1, b)
	}
	return nil
}

func (l *objectLabels) encode(dst []byte, e *vlen.Elements, _ bool) ([]byte, error) {
	out, room := extend(dst, len(e.Spans)*l.from.size)
	var block [blockLen]uint64
	for at := 0; at < len(e.Spans); at += blockLen {
		k := min(len(e.Spans)-at, blockLen)
		for i := range k {
			block[i] = l.numbers[string(e.At(int64(at+i)))]
		}
		storeInts(room[at*l.from.size:], block[:k], l.from)
	}
	return out, nil
}

// fill is a string, or the empty one for null and numbers.
func (l *objectLabels) fill(a *meta.Array) (*vlen.Elements, error) {
	return lengthPrefixed{kind: vlen.Text}.fill(a)
}

package codec

import (
	"fmt"
	"slices"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// classes are the kinds of types that filters compute on.
var classes = map[dtype.Kind]class{
	dtype.Bool: boolean, dtype.Int: signed, dtype.Uint: unsigned, dtype.Float: floating,
	dtype.Complex: complexed,
}

// scalarOf says how to compute on a type.
func scalarOf(t dtype.Type) (scalar, error) {
	c, ok := classes[t.Kind]
	if !ok || t.Size > 16 || t.Size > 8 && c != complexed {
		return scalar{}, fmt.Errorf("type %s is not a number that a filter computes on", t.NumPy())
	}
	return scalar{class: c, size: int(t.Size), big: t.Order == dtype.Big}, nil
}

// numberType reads a dtype from a filter's configuration; where it is absent the type is missing.
// In v3 the byte order that it names has no meaning: numbers are in the order of the bytes codec.
func (s state) numberType(cfg config, key string, missing dtype.Type) (dtype.Type, scalar, error) {
	t := missing
	if v := cfg.get(key); v.Kind() == pyjson.String {
		var err error
		if t, err = dtype.ParseV2(v); err != nil {
			return t, scalar{}, fmt.Errorf("configuration %q: %w", key, err)
		}
	} else if v.Exists() || missing.Size == 0 {
		return t, scalar{}, cfg.expected(key, "a NumPy dtype")
	}
	if !s.v2 {
		t = t.WithOrder(s.order)
	}
	num, err := scalarOf(t)
	if err != nil {
		err = fmt.Errorf("configuration %q: %w", key, err)
	}
	return t, num, err
}

// pair is the two types of a filter: it turned numbers of one into numbers of the other.
type pair struct {
	to, from scalar // in the direction of decoding
}

// bindPair reads a filter's two types, and finds the state after it. Like NumPy's view, it takes
// any bytes for numbers of the first type, if their size is a multiple of the number's: an int64
// delta of datetimes is common.
func bindPair(in state, cfg config, dtypeKey, astypeKey string) (pair, state, error) {
	missing := in.typ
	if in.v2 {
		missing = dtype.Type{}
	}
	given, to, err := in.numberType(cfg, dtypeKey, missing)
	if err != nil {
		return pair{}, in, err
	}
	made, from, err := in.numberType(cfg, astypeKey, given)
	if err != nil {
		return pair{}, in, err
	}
	switch {
	case in.size == unknown:
		return pair{}, in, fmt.Errorf("stands after a compressor")
	case in.size%given.Size != 0:
		return pair{}, in, fmt.Errorf("configuration %q: expected a type whose size divides %d "+
			"bytes, found %s", dtypeKey, in.size, given.NumPy())
	case (to.class == complexed) != (from.class == complexed):
		return pair{}, in, fmt.Errorf("cannot turn %s into %s", made.NumPy(), given.NumPy())
	}
	return pair{to, from}, in.retyped(made, in.size/given.Size), nil
}

// count returns how many numbers src holds, if dst has room for them.
func (p pair) count(dst, src []byte) (int, error) {
	n := len(src) / p.from.size
	if len(src)%p.from.size != 0 || n*p.to.size > len(dst) {
		return 0, fmt.Errorf("%w: expected %d numbers of %d bytes, found %d bytes",
			compress.ErrCorrupt, len(dst)/p.to.size, p.from.size, len(src))
	}
	return n, nil
}

// back is the pair in the direction of encoding.
func (p pair) back() pair { return pair{to: p.from, from: p.to} }

// numberFilter is a filter's arithmetic. It turns numbers of the second type in src into numbers of
// the first type in dst. The two may be the same memory where both types have one size.
type numberFilter interface {
	compute(dst, src []byte)
}

// filterStep makes arithmetic a step. The step decodes in place if both types have one size. undo
// is the arithmetic of encoding.
func filterStep(p pair, f, undo numberFilter) step {
	s := step{enc: filterEncode{p.back(), undo}}
	if p.to.size == p.from.size {
		s.place = filterInPlace{p, f}
	} else {
		s.move = filterMove{p, f}
	}
	return s
}

// filterEncode encodes by arithmetic; its pair is that of encoding.
type filterEncode struct {
	pair
	f numberFilter
}

func (e filterEncode) encode(dst, src []byte) ([]byte, error) {
	out, room := extend(dst, len(src)/e.from.size*e.to.size)
	if _, err := e.count(room, src); err != nil {
		return dst, err
	}
	e.f.compute(room, src)
	return out, nil
}

// extend makes dst longer by n bytes, whose content is undefined.
func extend(dst []byte, n int) (out, room []byte) {
	out = slices.Grow(dst, n)[:len(dst)+n]
	return out, out[len(dst):]
}

type filterMove struct {
	pair
	f numberFilter
}

func (m filterMove) decode(dst, src []byte) (int, error) {
	n, err := m.count(dst, src)
	if err != nil {
		return 0, err
	}
	m.f.compute(dst[:n*m.to.size], src)
	return n * m.to.size, nil
}

type filterInPlace struct {
	pair
	f numberFilter
}

func (p filterInPlace) decodeInPlace(buf []byte) ([]byte, error) {
	if _, err := p.count(buf, buf); err != nil {
		return nil, err
	}
	p.f.compute(buf, buf)
	return buf, nil
}

package codec

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// cast_value (v3 extension) stores numbers as another type's. Both directions go the same way. A
// number that the map names becomes what the map says. Others are rounded where the type is
// coarser. A result out of the type's range is an error, becomes the nearest bound (of floats, an
// infinity), or is taken modulo the range.
func init() { register("cast_value", bindCastValue) }

func bindCastValue(in state, cfg config) (step, state, error) {
	if _, err := in.realNumber(); err != nil {
		return step{}, in, err
	}
	if err := cfg.only("data_type", "rounding", "out_of_range", "scalar_map"); err != nil {
		return step{}, in, err
	}
	made, err := cfg.castType(in)
	if err != nil {
		return step{}, in, err
	}
	encode, decode, err := cfg.casts(in.typ, made)
	if err != nil {
		return step{}, in, err
	}
	out := in.retyped(made, in.size/in.typ.Size)
	out.fill = encode.fill(in.fill)
	switch {
	case len(decode.keys) > 0 || !decode.plain:
		return step{move: decode, enc: castEncoder{encode}}, out, nil
	case decode.to == decode.from && len(encode.keys) == 0:
		return step{}, out, nil
	case decode.to == decode.from:
		return step{enc: castEncoder{encode}}, out, nil
	}
	s := filterStep(decode.pair, caster{decode.pair}, nil)
	s.enc = castEncoder{encode}
	return s, out, nil
}

// castType reads the type that numbers were cast to.
func (c config) castType(in state) (dtype.Type, error) {
	v := c.get("data_type")
	if !v.Exists() {
		return dtype.Type{}, c.expected("data_type", "a data type")
	}
	t, err := dtype.ParseV3(v)
	if err == nil {
		t = t.WithOrder(in.order)
		_, err = realNumber(t)
	}
	if err != nil {
		err = fmt.Errorf("configuration \"data_type\": %w", err)
	}
	return t, err
}

// casts reads the conversions of both directions.
func (c config) casts(given, made dtype.Type) (encode, decode *valueCast, err error) {
	rules, err := c.castRules()
	if err != nil {
		return nil, nil, err
	}
	if encode, err = rules.bound(c, "encode", made, given); err != nil {
		return nil, nil, err
	}
	if encode.outside == wrapOutside && !encode.to.isIntegral() {
		return nil, nil, c.expected("out_of_range",
			"nothing or \"clamp\", as "+made.NumPy()+" is not an integer type")
	}
	decode, err = rules.bound(c, "decode", given, made)
	return encode, decode, err
}

// castRules reads the rules that both directions have in common.
func (c config) castRules() (valueCast, error) {
	var v valueCast
	name, err := c.oneOf("rounding", "nearest-even", "nearest-even", "towards-zero",
		"towards-positive", "towards-negative", "nearest-away")
	if err != nil {
		return v, err
	}
	v.rounding = roundings[name]
	name, err = c.oneOf("out_of_range", "error", "error", "clamp", "wrap") // "error": in drafts
	v.outside = outsides[name]
	return v, err
}

// outside is what becomes of numbers that are out of the type's range.
type outside uint8

const (
	refuseOutside outside = iota
	clampOutside
	wrapOutside
)

var outsides = map[string]outside{"error": refuseOutside, "clamp": clampOutside,
	"wrap": wrapOutside}

// valueCast is cast_value in one direction.
type valueCast struct {
	pair
	rounding rounding
	outside  outside
	plain    bool     // every number fits as it is: NumPy's cast does
	keys     []uint64 // the numbers that the map names, as keyOf has them, sorted
	values   [][]byte // what becomes of them
}

// castEncoder is the cast of encoding.
type castEncoder struct{ *valueCast }

func (c castEncoder) encode(dst, src []byte) ([]byte, error) {
	out, room := extend(dst, len(src)/c.from.size*c.to.size)
	_, err := c.decode(room, src)
	return out, err
}

// bound is the cast from one type to another, with one side of the map.
func (v valueCast) bound(cfg config, side string, to, from dtype.Type) (*valueCast, error) {
	var err error
	if v.to, err = realNumber(to); err != nil {
		return nil, err
	}
	if v.from, err = realNumber(from); err != nil {
		return nil, err
	}
	v.plain = v.to.includes(v.from) ||
		v.outside == wrapOutside && v.to.isIntegral() && v.from.isIntegral()
	scalars := config{v: cfg.get("scalar_map")}
	if scalars.v.Exists() && scalars.v.Kind() != pyjson.Object {
		return nil, cfg.expected("scalar_map", "an object")
	}
	if err = scalars.only("encode", "decode"); err == nil {
		err = v.readMap(scalars, side, to, from)
	}
	if err != nil {
		return nil, fmt.Errorf("configuration \"scalar_map\": %w", err)
	}
	return &v, nil
}

// includes reports whether every number of another type is one of this.
func (s scalar) includes(other scalar) bool {
	switch {
	case s.class == other.class:
		return s.size >= other.size
	case s.class == floating:
		return other.digits() <= s.digits()
	}
	return s.class == signed && other.class == unsigned && s.size > other.size
}

// digits are the binary digits that numbers of the type have, without the sign.
func (s scalar) digits() int {
	switch {
	case s.class == signed:
		return 8*s.size - 1
	case s.class == unsigned:
		return 8 * s.size
	}
	return floatFormats[s.size].digits
}

// readMap reads one side of the map: a list of pairs, of which the first for a number counts.
func (v *valueCast) readMap(cfg config, side string, to, from dtype.Type) error {
	list := cfg.get(side)
	if list.Exists() && list.Kind() != pyjson.Array {
		return cfg.expected(side, "a list of pairs")
	}
	type entry struct {
		key   uint64
		value []byte
	}
	var entries []entry
	for item := range list.Elements() {
		if item.Kind() != pyjson.Array || item.Len() != 2 {
			return fmt.Errorf("%q: expected a pair of numbers, found %s", side, shorten(item.Raw()))
		}
		both := item.Elems()
		key, errKey := numberElement(both[0], from)
		value, errValue := numberElement(both[1], to)
		if err := cmp.Or(errKey, errValue); err != nil {
			return fmt.Errorf("%q: %w", side, err)
		}
		entries = append(entries, entry{v.from.key(key), value})
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	entries = slices.CompactFunc(entries, func(a, b entry) bool { return a.key == b.key })
	for _, e := range entries {
		v.keys, v.values = append(v.keys, e.key), append(v.values, e.value)
	}
	return nil
}

// key is one number as the map finds it.
func (s scalar) key(b []byte) uint64 {
	if s.isIntegral() {
		return s.whole(b)
	}
	return keyOf(s.float(b))
}

// keyOf is the same for numbers that are equal: both zeros, and every NaN.
func keyOf(v float64) uint64 {
	switch {
	case v == 0:
		return 0
	case v != v:
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(v)
}

// fill is the fill value behind the cast; nil where it is unknown, or cannot be cast.
func (v *valueCast) fill(before []byte) []byte {
	out := make([]byte, v.to.size)
	if n, err := v.decode(out, before); n == 0 || err != nil {
		return nil
	}
	return out
}

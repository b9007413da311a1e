package codec

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// scale_offset (v3 extension) stores (x - offset) * scale; decoding gives x / scale + offset. The
// arithmetic is that of the array's type: floats round after each operation, and whole numbers must
// neither overflow nor leave a remainder.
func init() { register("scale_offset", bindScaleOffset) }

func bindScaleOffset(in state, cfg config) (step, state, error) {
	num, err := in.realNumber()
	if err != nil {
		return step{}, in, err
	}
	if err := cfg.only("offset", "scale"); err != nil {
		return step{}, in, err
	}
	if !cfg.get("offset").Exists() && !cfg.get("scale").Exists() {
		return step{}, in, nil
	}
	offset, err := cfg.element("offset", "0", in.typ)
	if err != nil {
		return step{}, in, err
	}
	scale, err := cfg.element("scale", "1", in.typ)
	if err != nil {
		return step{}, in, err
	}
	if num.float(scale) == 0 {
		return step{}, in, cfg.expected("scale", "a number other than 0")
	}
	out := in
	if num.isIntegral() {
		f := scaleOffsetWhole{num: num, offset: num.whole(offset), scale: num.whole(scale)}
		out.fill = f.fill(in.fill)
		return step{place: f, enc: f}, out, nil
	}
	f := scaleOffset{pair: pair{num, num}, offset: num.float(offset), scale: num.float(scale),
		round: rounder(num.size)}
	back := offsetScale{pair: f.pair, offset: f.offset, scale: f.scale, round: f.round}
	out.fill = back.fill(in.fill)
	return filterStep(f.pair, f, back), out, nil
}

// realNumber says how to compute on the state's elements, which must be whole or floating numbers.
func (s state) realNumber() (scalar, error) {
	if !s.array {
		return scalar{}, errors.New("needs an array, found bytes")
	}
	return realNumber(s.typ)
}

func realNumber(t dtype.Type) (scalar, error) {
	num, err := scalarOf(t)
	if err != nil || num.class == boolean || num.class == complexed {
		return num, fmt.Errorf("numbers of type %s: %w", t.NumPy(), errors.ErrUnsupported)
	}
	return num, nil
}

// element returns a number written as a fill value of type t, or missing where the member is
// absent.
func (c config) element(key, missing string, t dtype.Type) ([]byte, error) {
	v := c.get(key)
	if !v.Exists() {
		v, _ = pyjson.Parse([]byte(missing))
	}
	b, err := numberElement(v, t)
	if err != nil {
		return nil, fmt.Errorf("configuration %q: %w", key, err)
	}
	return b, nil
}

// numberElement reads a number, or a text such as "NaN", as a fill value of type t.
func numberElement(v pyjson.Value, t dtype.Type) ([]byte, error) {
	if v.Kind() != pyjson.Number && v.Kind() != pyjson.String {
		return nil, fmt.Errorf("expected a number of type %s, found %s",
			t.NumPy(), shorten(v.Raw()))
	}
	return dtype.FillV3.Element(t, v)
}

// whole reads one whole number, widened to 64 bits.
func (s scalar) whole(b []byte) uint64 {
	var v [1]uint64
	loadInts(v[:], b, s)
	return v[0]
}

// float reads one number.
func (s scalar) float(b []byte) float64 {
	var v [1]float64
	loadFloats(v[:], b, s)
	return v[0]
}

// fill is the fill value behind the filter; nil where it is unknown.
func (f offsetScale) fill(before []byte) []byte {
	if len(before) == 0 {
		return nil
	}
	out := make([]byte, f.to.size)
	storeFloats(out, []float64{f.one(f.from.float(before))}, f.to)
	return out
}

// scaleOffsetWhole is scale_offset of whole numbers.
type scaleOffsetWhole struct {
	num           scalar
	scale, offset uint64 // widened to 64 bits, with their sign
}

// fill is the fill value behind the filter; nil where it is unknown, or not of the type.
func (f scaleOffsetWhole) fill(before []byte) []byte {
	if len(before) == 0 {
		return nil
	}
	out, err := f.encode(nil, before)
	if err != nil {
		return nil
	}
	return out
}

func (f scaleOffsetWhole) encode(dst, src []byte) ([]byte, error) {
	out, room := extend(dst, len(src))
	var block [blockLen]uint64
	for len(src) > 0 {
		n := min(len(src)/f.num.size, blockLen)
		loadInts(block[:n], src[:n*f.num.size], f.num)
		for i, v := range block[:n] {
			made, ok := f.encodeOne(v)
			if !ok {
				return dst, fmt.Errorf("(%v - %v) * %v is not a number of type %s",
					f.num.exact(v), f.num.exact(f.offset), f.num.exact(f.scale), f.num)
			}
			block[i] = made
		}
		storeInts(room, block[:n], f.num)
		room, src = room[n*f.num.size:], src[n*f.num.size:]
	}
	return out, nil
}

// encodeOne is (v - offset) * scale, or not ok where either is beyond the type.
func (f scaleOffsetWhole) encodeOne(v uint64) (uint64, bool) {
	if f.num.class == unsigned {
		d := v - f.offset
		high, product := bits.Mul64(d, f.scale)
		return product, v >= f.offset && high == 0 && f.num.holds(product)
	}
	a, b, scale := int64(v), int64(f.offset), int64(f.scale)
	d := a - b
	if (a^b)&(a^d) < 0 || !f.num.holds(uint64(d)) {
		return 0, false
	}
	product := d * scale
	overflown := d != 0 && (product/d != scale || d == -1 && scale == math.MinInt64)
	return uint64(product), !overflown && f.num.holds(uint64(product))
}

// exact returns a widened number as an integer of any size.
func (s scalar) exact(v uint64) *big.Int {
	if s.class == signed {
		return big.NewInt(int64(v))
	}
	return new(big.Int).SetUint64(v)
}

// holds reports whether a whole number, widened with the type's own sign, is within the type's
// range.
func (s scalar) holds(v uint64) bool {
	shift := 64 - 8*s.size
	if s.class == signed {
		return int64(v)<<shift>>shift == int64(v)
	}
	return v<<shift>>shift == v
}

func (f scaleOffsetWhole) decodeInPlace(buf []byte) ([]byte, error) {
	if _, err := (pair{f.num, f.num}).count(buf, buf); err != nil {
		return nil, err
	}
	var block [blockLen]uint64
	for rest := buf; len(rest) > 0; {
		n := min(len(rest)/f.num.size, blockLen)
		part := rest[:n*f.num.size]
		loadInts(block[:n], part, f.num)
		for i, v := range block[:n] {
			out, ok := f.decode(v)
			if !ok {
				return nil, fmt.Errorf("%w: expected a multiple of the scale %v that decodes to "+
					"type %s with offset %v, found %v",
					compress.ErrCorrupt, f.num.exact(f.scale), f.num, f.num.exact(f.offset),
					f.num.exact(v))
			}
			block[i] = out
		}
		storeInts(part, block[:n], f.num)
		rest = rest[len(part):]
	}
	return buf, nil
}

// decode is v / scale + offset, or not ok where v is not a multiple, or either is beyond the type.
func (f scaleOffsetWhole) decode(v uint64) (uint64, bool) {
	if f.num.class == unsigned {
		q := v / f.scale
		sum := q + f.offset
		return sum, v%f.scale == 0 && sum >= q && f.num.holds(sum)
	}
	a, b, offset := int64(v), int64(f.scale), int64(f.offset)
	q := a / b
	// the lowest 64-bit number is its own negative
	if a%b != 0 || !f.num.holds(uint64(q)) || q == a && b == -1 && a != 0 {
		return 0, false
	}
	sum := q + offset
	overflown := (q^sum)&(offset^sum) < 0
	return uint64(sum), !overflown && f.num.holds(uint64(sum))
}

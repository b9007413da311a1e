package dtype

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// Spell returns the fill_value that stands for an element of type t, as zarr-python 3 writes it.
// Format 2 has no NaN with a sign or a payload: such a NaN is an error there. In format 3 any NaN
// but the plain one is its bit pattern. So is every float of one byte, a type that zarr-python
// lacks. A Struct is an object of its fields in format 3. The spelling reads as the same bytes.
func (f FillFormat) Spell(t Type, element []byte) (pyjson.Value, error) {
	if int64(len(element)) != t.Size && t.Kind != Object {
		return pyjson.Value{}, fmt.Errorf("dtype: fill value of %s: expected %d bytes, found %d",
			t.NumPy(), t.Size, len(element))
	}
	if t.Kind == Invalid {
		return pyjson.Value{}, unspelled(int(f), "invalid type")
	}
	v := speller{f}.element(t, element)
	if back, err := f.Element(t, v); err != nil || !bytes.Equal(back, element) {
		return pyjson.Value{}, unspelled(int(f), fmt.Sprintf("fill value %x of type %s",
			element[:min(len(element), 16)], t.NumPy()))
	}
	return v, nil
}

// speller turns bytes into fill values by the rules of a format. What has no spelling becomes some
// value that reads as others.
type speller struct{ format FillFormat }

func (s speller) element(t Type, data []byte) pyjson.Value {
	switch t.Kind {
	case Bool:
		return pyjson.BoolOf(data[0] != 0)
	case Int, Datetime, Timedelta:
		return pyjson.IntOf(t.Order.signed(data))
	case Uint:
		return pyjson.UintOf(t.Order.unsigned(data))
	case Float:
		return s.float(t, data)
	case Complex:
		return s.pair(Type{Kind: Float, Size: t.Size / 2, Order: t.Order}, data)
	case Bytes:
		return base64Of(bytes.TrimRight(data, "\x00"))
	case Unicode:
		return pyjson.StringOf(t.Order.text(data))
	case Object:
		if s.format == FillV2 {
			v, _ := pyjson.Parse(data) // other text reads as something else
			return v
		}
		if t.Name != "bytes" {
			return pyjson.StringOf(string(data))
		}
	case Struct:
		if s.format == FillV3 {
			return s.members(t, data)
		}
	case Extension:
		return s.extension(t, data)
	}
	return base64Of(data)
}

func base64Of(data []byte) pyjson.Value {
	return pyjson.StringOf(base64.StdEncoding.EncodeToString(data))
}

func (s speller) members(t Type, data []byte) pyjson.Value {
	return pyjson.ObjectOf(func(yield func(string, pyjson.Value) bool) {
		for _, f := range t.Fields {
			if !yield(f.Name, s.element(f.Type, data[f.Offset:][:f.Type.Size])) {
				return
			}
		}
	})
}

func (s speller) pair(part Type, data []byte) pyjson.Value {
	return pyjson.ArrayOf(s.element(part, data[:part.Size]), s.element(part, data[part.Size:]))
}

func (s speller) float(t Type, data []byte) pyjson.Value {
	switch t.Size {
	case 8:
		return s.number(math.Float64frombits(t.Order.unsigned(data)), t.Order.unsigned(data), 8,
			t.Order.unsigned(data) == quietNaN)
	case 16:
		return s.number(x87Value(data, t.Order), 0, 16, true)
	}
	return s.small(t, smallFloats[ieeeNames[t.Size]], data)
}

func (s speller) extension(t Type, data []byte) pyjson.Value {
	if _, ok := smallInts[t.Name]; ok {
		if t.isUnsigned() {
			return pyjson.UintOf(t.Order.unsigned(data))
		}
		return pyjson.IntOf(t.Order.signed(data))
	}
	if component, ok := strings.CutPrefix(t.Name, complexPrefix); ok {
		return s.pair(Type{Kind: Extension, Name: component, Size: t.Size / 2, Order: t.Order},
			data)
	}
	return s.small(t, smallFloats[t.Name], data)
}

// small spells a number of a small format. Format 3 has one of a byte as its bit pattern, which
// every reader of such types takes. zarrs takes numbers only if it was built to.
func (s speller) small(t Type, format floatFormat, data []byte) pyjson.Value {
	code := t.Order.unsigned(data)
	if s.format == FillV3 && t.Size == 1 {
		return bitPattern(code, t.Size)
	}
	return s.number(format.value(code), code, t.Size, code == format.nan)
}

// bitPattern is format 3's "0x…" of a number of size bytes.
func bitPattern(code uint64, size int64) pyjson.Value {
	return pyjson.StringOf(fmt.Sprintf("0x%0*x", 2*size, code))
}

// number spells a number of size bytes, whose bits are its code.
func (s speller) number(value float64, code uint64, size int64, plainNaN bool) pyjson.Value {
	switch {
	case math.IsNaN(value) && !plainNaN && s.format == FillV3:
		return bitPattern(code, size)
	case math.IsNaN(value):
		return pyjson.StringOf("NaN")
	case math.IsInf(value, 1):
		return pyjson.StringOf("Infinity")
	case math.IsInf(value, -1):
		return pyjson.StringOf("-Infinity")
	}
	return pyjson.FloatOf(value)
}

// value returns the number of a code. All formats are exact in a float64.
func (f floatFormat) value(code uint64) float64 {
	sign := 1.0
	if bit := uint64(1) << (f.exp + f.man); !f.unsigned && code&bit != 0 {
		if f.oneZero && code == f.nan {
			return math.NaN()
		}
		sign, code = -1, code&^bit
	}
	switch {
	case code <= f.top:
	case f.hasInf && code == f.over:
		return math.Copysign(math.Inf(1), sign)
	default:
		return math.NaN()
	}
	e, fraction := int(code>>f.man), float64(code&(1<<f.man-1))
	if e > 0 || f.unsigned { // a normal number has a leading 1
		fraction += float64(uint64(1) << f.man)
	} else {
		e = 1
	}
	return sign * math.Ldexp(fraction, e-f.bias-f.man)
}

// x87Value returns the float64 of an x87 number, which is the number if that fits.
func x87Value(data []byte, o Order) float64 {
	if o == Big {
		data = slices.Clone(data)
		slices.Reverse(data)
	}
	mantissa, exponent := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint16(data[8:])
	sign := 1.0
	if exponent>>15 != 0 {
		sign = -1
	}
	if exponent &= 0x7fff; exponent == 0x7fff {
		if mantissa == 1<<63 {
			return math.Inf(int(sign))
		}
		return math.NaN()
	}
	return sign * math.Ldexp(float64(mantissa), int(exponent)-16383-63)
}

package dtype

import (
	"errors"
	"fmt"
	"math"
)

// Floats returns what makes float64 numbers of elements of the type: it appends those of stored to
// dst. Only real numbers of up to 8 bytes and booleans are numbers.
func (t Type) Floats() (func(dst []float64, stored []byte) []float64, error) {
	one := t.float()
	if one == nil {
		return nil, fmt.Errorf("elements of type %s are not numbers: %w", t.Descr(),
			errors.ErrUnsupported)
	}
	return func(dst []float64, stored []byte) []float64 {
		for ; int64(len(stored)) >= t.Size; stored = stored[t.Size:] {
			dst = append(dst, one(stored))
		}
		return dst
	}, nil
}

// float returns what makes a number of one element; nil: the type has no such numbers.
func (t Type) float() func(b []byte) float64 {
	bits := t.Order.bits(t.Size)
	switch {
	case bits == nil:
		return nil
	case t.Kind == Int:
		shift := 64 - 8*t.Size
		return func(b []byte) float64 { return float64(int64(bits(b)<<shift) >> shift) }
	case t.Kind == Uint, t.Kind == Bool:
		return func(b []byte) float64 { return float64(bits(b)) }
	case t.Kind == Float && t.Size == 8:
		return func(b []byte) float64 { return math.Float64frombits(bits(b)) }
	case t.Kind == Float && t.Size == 4:
		return func(b []byte) float64 { return float64(math.Float32frombits(uint32(bits(b)))) }
	case t.Kind == Float && t.Size == 2:
		return func(b []byte) float64 { return half(uint16(bits(b))) }
	}
	return nil
}

// half returns the number of an IEEE 754 half: a sign, 5 bits of exponent with bias 15, and 10 of
// mantissa.
func half(bits uint16) float64 {
	sign := 1.0
	if bits>>15 != 0 {
		sign = -1
	}
	exponent, mantissa := int(bits>>10&31), float64(bits&1023)
	switch exponent {
	case 0:
		return sign * math.Ldexp(mantissa, -24)
	case 31:
		if mantissa != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+mantissa, exponent-25)
}

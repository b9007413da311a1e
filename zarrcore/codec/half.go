package codec

import "math"

// halfToFloat widens an IEEE 754 binary16 number; the payload of a NaN is kept, as NumPy keeps it.
func halfToFloat(h uint16) float32 {
	sign := uint32(h>>15) << 31
	exp := uint32(h >> 10 & 0x1f)
	frac := uint32(h & 0x3ff)
	switch {
	case exp == 0x1f:
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	case exp != 0:
		return math.Float32frombits(sign | (exp+127-15)<<23 | frac<<13)
	}
	// Zero and subnormals: frac counts units of 2^-24, which float32 holds exactly.
	v := float32(frac) * (1.0 / (1 << 24))
	return math.Float32frombits(math.Float32bits(v) | sign)
}

// floatToHalf rounds to the nearest binary16 number, ties to even. It starts from float64: by way
// of float32 it would round twice.
func floatToHalf(v float64) uint16 {
	bits := math.Float64bits(v)
	sign := uint16(bits >> 48 & 0x8000)
	abs := math.Abs(v)
	switch {
	case abs != abs:
		frac := uint16(bits >> 42 & 0x3ff)
		if frac == 0 {
			frac = 0x200
		}
		return sign | 0x7c00 | frac
	case abs >= 65520: // halfway between the largest number and the next power of two
		return sign | 0x7c00
	case abs < 1.0/(1<<14): // subnormal: units of 2^-24; a carry into the exponent comes out right
		return sign | uint16(math.RoundToEven(abs*(1<<24)))
	}
	const drop = 52 - 10
	b := math.Float64bits(abs) - (1023-15)<<52
	b += 1<<(drop-1) - 1 + b>>drop&1
	return sign | uint16(b>>drop)
}

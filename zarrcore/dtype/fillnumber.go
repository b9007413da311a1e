package dtype

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// integer reads an integer of so many bits, two's complement, stored in t.Size bytes. A string of
// digits is read too, as zarr-python does, and in formats 1 and 2 a boolean.
func (fl filler) integer(t Type, v pyjson.Value, bits int) ([]byte, error) {
	signed, isSigned := v.Int64()
	unsigned, isUnsigned := v.Uint64()
	if v.Kind() == pyjson.String {
		var errSigned, errUnsigned error
		signed, errSigned = strconv.ParseInt(strings.TrimSpace(v.Text()), 10, 64)
		unsigned, errUnsigned = strconv.ParseUint(strings.TrimSpace(v.Text()), 10, 64)
		isSigned, isUnsigned = errSigned == nil, errUnsigned == nil
	}
	if b, ok := v.Bool(); ok && fl.lenient {
		unsigned, isUnsigned = oneIf(b), true
		signed, isSigned = int64(unsigned), true
	}
	if t.isUnsigned() {
		if isUnsigned && unsigned <= math.MaxUint64>>(64-bits) {
			return t.Order.put(unsigned, t.Size), nil
		}
		return nil, mismatch(t, fmt.Sprintf("an integer from 0 to 2^%d-1", bits), v)
	}
	if isSigned && signed>>(bits-1) == signed>>63 {
		return t.Order.put(uint64(signed), t.Size), nil
	}
	return nil, mismatch(t, fmt.Sprintf("an integer from -2^%d to 2^%d-1", bits-1, bits-1), v)
}

func (t Type) isUnsigned() bool {
	return t.Kind == Uint || t.Kind == Extension && strings.HasPrefix(t.Name, "u")
}

// ieeeNames are the names of IEEE formats in smallFloats by their sizes.
var ieeeNames = map[int64]string{2: "float16", 4: "float32"}

// float reads a number of an IEEE type, or of the x87 one.
func (fl filler) float(t Type, v pyjson.Value) ([]byte, error) {
	if format, ok := smallFloats[ieeeNames[t.Size]]; ok {
		return fl.small(t, format, v)
	}
	number, err := fl.number(t, v, 8)
	switch {
	case err != nil:
		return nil, err
	case t.Size == 16:
		return extended(number.float(), t.Order), nil
	}
	return t.Order.put(number.float(), 8), nil
}

// extension reads a number of a type that NumPy has not.
func (fl filler) extension(t Type, v pyjson.Value) ([]byte, error) {
	if bits, ok := smallInts[t.Name]; ok {
		return fl.integer(t, v, bits)
	}
	component, isComplex := strings.CutPrefix(t.Name, complexPrefix)
	if !isComplex {
		return fl.small(t, smallFloats[t.Name], v)
	}
	part := Type{Kind: Extension, Name: component, Size: t.Size / 2, Order: t.Order}
	return fl.complex(t, part, v)
}

// complex reads [real, imaginary], and in formats 1 and 2 also a real number.
func (fl filler) complex(t, part Type, v pyjson.Value) ([]byte, error) {
	parts := v.Elems()
	if fl.lenient && v.Kind() == pyjson.Number {
		re, err := fl.component(part, v)
		return fit(re, t.Size), err
	}
	if len(parts) != 2 {
		return nil, mismatch(t, "a list of the real and the imaginary part", v)
	}
	re, err := fl.component(part, parts[0])
	if err != nil {
		return nil, err
	}
	im, err := fl.component(part, parts[1])
	return append(re, im...), err
}

// component reads one part of a complex number.
func (fl filler) component(part Type, v pyjson.Value) ([]byte, error) {
	if part.Kind == Float {
		return fl.float(part, v)
	}
	return fl.small(part, smallFloats[part.Name], v)
}

// small reads a number of a small format.
func (fl filler) small(t Type, format floatFormat, v pyjson.Value) ([]byte, error) {
	number, err := fl.number(t, v, format.size())
	if err != nil {
		return nil, err
	}
	if number.isNaN && !format.hasNaN || number.isInf && !format.hasInf {
		return nil, mismatch(t, "a finite number", v)
	}
	return t.Order.put(format.code(number), format.size()), nil
}

// number is what a fill value says: a bit pattern, or NaN, or else a value.
type number struct {
	isBits, isNaN, isInf bool // isInf only if infinity is meant, not for large numbers
	bits                 uint64
	value                float64
}

// quietNaN is the float64 without sign and payload; Go's math.NaN has a payload.
const quietNaN = 0x7ff8000000000000

// float returns the bits of n as a float64.
func (n number) float() uint64 {
	switch {
	case n.isBits:
		return n.bits
	case n.isNaN:
		return quietNaN
	}
	return math.Float64bits(n.value)
}

// number reads a JSON number or, as zarr-python does, its text as a string, or one of the three
// names. In format 3 it also reads the bit pattern "0x…" of a number of size bytes, and in formats
// 1 and 2 a boolean.
func (fl filler) number(t Type, v pyjson.Value, size int64) (number, error) {
	text := string(v.Raw())
	if v.Kind() == pyjson.String {
		text = strings.TrimSpace(v.Text())
	}
	if b, ok := v.Bool(); ok && fl.lenient {
		return number{value: float64(oneIf(b))}, nil
	}
	if n, ok := special(text); ok {
		return n, nil
	}
	digits, isHex := strings.CutPrefix(text, "0x")
	if isHex && !fl.lenient && t.Size != 16 && int64(len(digits)) <= 2*size {
		if bits, err := strconv.ParseUint(digits, 16, 64); err == nil {
			return number{isBits: true, bits: bits}, nil
		}
	}
	if value, ok := parseFloat(text); ok {
		return number{value: value}, nil
	}
	return number{}, mismatch(t, "a number", v)
}

// special reads the names of what JSON has no number for, spelled as Python's float takes them.
func special(text string) (number, bool) {
	switch strings.TrimPrefix(strings.ToLower(text), "+") {
	case "nan":
		return number{isNaN: true}, true
	case "inf", "infinity":
		return number{isInf: true, value: math.Inf(1)}, true
	case "-inf", "-infinity":
		return number{isInf: true, value: math.Inf(-1)}, true
	}
	return number{}, false
}

// maxDigits bounds the text of a float.
const maxDigits = 4096

// parseFloat reads a decimal number; what is too large is infinite, as in Python. The number of a
// smaller format is this float64, rounded again: so do all other readers of Zarr, and what a
// missing chunk holds must be the same in all of them.
func parseFloat(text string) (float64, bool) {
	if len(text) > maxDigits || strings.Trim(text, "0123456789+-.eE") != "" {
		return 0, false
	}
	value, err := strconv.ParseFloat(text, 64)
	return value, err == nil || math.IsInf(value, 0)
}

// code returns the bits of n in format f, rounded half to even.
func (f floatFormat) code(n number) uint64 {
	switch {
	case n.isBits:
		return n.bits
	case n.isNaN:
		return f.nan
	}
	var code uint64
	if abs := math.Abs(n.value); f.unsigned {
		code = f.powerOfTwo(n.value)
	} else if math.IsInf(abs, 1) {
		code = f.over
	} else {
		code = f.magnitude(abs)
	}
	if !math.Signbit(n.value) || f.unsigned || f.oneZero && code == 0 {
		return code
	}
	return code | 1<<(f.exp+f.man)
}

// magnitude returns the code of a finite number from 0 up.
//
// The number is q steps of 2^(e-man), e its exponent or, among the subnormal numbers, the lowest
// one. Where rounding makes q reach the next power of two, the sum below carries into the exponent.
func (f floatFormat) magnitude(abs float64) uint64 {
	e := 1 - f.bias
	if abs > 0 {
		e = max(e, math.Ilogb(abs))
	}
	if e+f.bias > 1<<f.exp { // also keeps the sum from overflowing
		return f.over
	}
	q := math.RoundToEven(math.Ldexp(abs, f.man-e))
	code := uint64(e+f.bias)<<f.man + uint64(q) - 1<<f.man
	if code > f.top {
		return f.over
	}
	return code
}

// powerOfTwo returns the code in a format that has powers of two alone: halves round up, and
// negative numbers are NaN, as in ml_dtypes; zero is the lowest.
func (f floatFormat) powerOfTwo(value float64) uint64 {
	switch {
	case value < 0 || math.IsInf(value, 1):
		return f.nan
	case value == 0:
		return 0
	}
	e := math.Ilogb(value)
	if math.Ldexp(value, -e) >= 1.5 {
		e++
	}
	if e+f.bias > int(f.top) {
		return f.over
	}
	return uint64(max(e+f.bias, 0))
}

// extended returns the x87 number of a float64, given as its bits, and 6 bytes of padding: 15 bits
// of exponent, then 64 of mantissa with the leading 1 that other formats leave out.
func extended(bits uint64, o Order) []byte {
	value := math.Float64frombits(bits)
	exponent, mantissa := uint16(0x7fff), 1<<63|bits<<11 // infinity or NaN
	if value == 0 {
		exponent, mantissa = 0, 0
	} else if !math.IsInf(value, 0) && !math.IsNaN(value) {
		fraction, e := math.Frexp(math.Abs(value))
		exponent, mantissa = uint16(e-1+16383), uint64(math.Ldexp(fraction, 64))
	}
	exponent |= uint16(bits >> 63 << 15)
	out := binary.LittleEndian.AppendUint64(nil, mantissa)
	out = fit(binary.LittleEndian.AppendUint16(out, exponent), 16)
	if o == Big {
		slices.Reverse(out)
	}
	return out
}

package netcdf

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// A Form makes the elements of a file of those of an array, one by one.
type Form struct {
	In, Out int64 // bytes of an element of the array, and of the file

	// Convert writes to dst the elements of src. dst may be src if In and Out are the same.
	Convert func(dst, src []byte)
}

// utf8Form makes UTF-8 of UTF-32, in as many bytes. Both are padded with NUL.
func utf8Form(width int64, big bool) *Form {
	order := orderOf(big)
	return &Form{In: width, Out: width, Convert: func(dst, src []byte) {
		for at := int64(0); at+width <= int64(len(src)); at += width {
			toUTF8(dst[at:at+width], src[at:at+width], order)
		}
	}}
}

func orderOf(big bool) binary.ByteOrder {
	if big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// toUTF8 makes one text, which ends before its padding. A character takes four bytes at most, so
// that dst never overtakes src.
func toUTF8(dst, src []byte, order binary.ByteOrder) {
	length := unpadded(src, order)
	text := dst[:0]
	for i := 0; i < length; i += 4 {
		text = utf8.AppendRune(text, rune(order.Uint32(src[i:])))
	}
	clear(dst[len(text):])
}

// unpadded returns the bytes of a text of UTF-32 before its padding.
func unpadded(src []byte, order binary.ByteOrder) int {
	length := len(src)
	for length > 0 && order.Uint32(src[length-4:]) == 0 {
		length -= 4
	}
	return length
}

// small are the floating-point numbers of one or two bytes that float32 can say: the bits of their
// exponents and mantissas, and the bias.
var small = map[string]struct{ exponent, mantissa, bias int }{
	"float16": {5, 10, 15}, "bfloat16": {8, 7, 127},
	"float8_e5m2": {5, 2, 15}, "float8_e4m3": {4, 3, 7}, "float8_e3m4": {3, 4, 3},
}

// widening makes float32, little-endian, of floating-point numbers of one or two bytes. It is nil
// for any other type.
func widening(t dtype.Type) *Form {
	name := t.Name
	if t.Kind == dtype.Float && t.Size == 2 {
		name = "float16"
	}
	f, ok := small[name]
	if !ok || t.Kind != dtype.Float && t.Kind != dtype.Extension {
		return nil
	}
	wide := make([]uint32, 1<<(8*t.Size))
	for code := range wide {
		wide[code] = widened(code, f.exponent, f.mantissa, f.bias)
	}
	order := orderOf(t.Order == dtype.Big)
	return &Form{In: t.Size, Out: 4, Convert: func(dst, src []byte) {
		for i := range len(src) / int(t.Size) {
			code := uint16(src[i*int(t.Size)])
			if t.Size == 2 {
				code = order.Uint16(src[2*i:])
			}
			binary.LittleEndian.PutUint32(dst[4*i:], wide[code])
		}
	}}
}

// widened returns the bits of the float32 that a code stands for. The mantissa of a NaN stays.
func widened(code, exponentBits, mantissaBits, bias int) uint32 {
	sign := uint32(code>>(exponentBits+mantissaBits)) << 31
	exponent := code >> mantissaBits & (1<<exponentBits - 1)
	mantissa := code & (1<<mantissaBits - 1)
	switch exponent {
	case 1<<exponentBits - 1:
		return sign | 0xff<<23 | uint32(mantissa)<<(23-mantissaBits)
	case 0:
		return sign | math.Float32bits(float32(math.Ldexp(float64(mantissa), 1-bias-mantissaBits)))
	}
	return sign | uint32(exponent-bias+127)<<23 | uint32(mantissa)<<(23-mantissaBits)
}

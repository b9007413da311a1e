package dtype

import "strings"

// floatFormat is a small binary floating point format: sign, exponent, mantissa.
type floatFormat struct {
	exp, man int    // bits
	bias     int    // of the exponent
	top      uint64 // code of the largest finite number
	over     uint64 // code of what is larger: infinity, NaN or top
	nan      uint64 // code of NaN, if there is one
	hasNaN   bool
	hasInf   bool
	unsigned bool // e8m0fnu: a power of two, no sign and no zero
	oneZero  bool // no negative zero: its code is NaN
}

// size returns the bytes of one number; formats of less than a byte take the low bits of one.
func (f floatFormat) size() int64 {
	bits := f.exp + f.man
	if !f.unsigned {
		bits++
	}
	return int64(bits+7) / 8
}

// ieee returns the IEEE 754 format: the highest exponent holds infinity and NaN, and NaN is the
// quiet one without sign and payload, as the core specification says.
func ieee(exp, man int) floatFormat {
	inf := uint64(1<<exp-1) << man
	return floatFormat{exp: exp, man: man, bias: 1<<(exp-1) - 1, top: inf - 1, over: inf,
		nan: inf | 1<<(man-1), hasNaN: true, hasInf: true}
}

// fnuz returns a format of finite numbers, one zero, and NaN in the place of negative zero.
func fnuz(exp, man, bias int) floatFormat {
	sign := uint64(1) << (exp + man)
	return floatFormat{exp: exp, man: man, bias: bias, top: sign - 1, over: sign, nan: sign,
		hasNaN: true, oneZero: true}
}

// finite returns a format of finite numbers alone, where the largest stands for all above it.
func finite(exp, man, bias int) floatFormat {
	top := uint64(1)<<(exp+man) - 1
	return floatFormat{exp: exp, man: man, bias: bias, top: top, over: top}
}

// smallFloats are the formats by the names of their types: zarr-extensions' registry,
// and float8_e4m3fn as in tensorstore.
var smallFloats = map[string]floatFormat{
	"float16":            ieee(5, 10),
	"float32":            ieee(8, 23),
	"bfloat16":           ieee(8, 7),
	"float8_e3m4":        ieee(3, 4),
	"float8_e4m3":        ieee(4, 3),
	"float8_e5m2":        ieee(5, 2),
	"float8_e4m3fn":      {exp: 4, man: 3, bias: 7, top: 0x7e, over: 0x7f, nan: 0x7f, hasNaN: true},
	"float8_e4m3b11fnuz": fnuz(4, 3, 11),
	"float8_e4m3fnuz":    fnuz(4, 3, 8),
	"float8_e5m2fnuz":    fnuz(5, 2, 16),
	"float8_e8m0fnu": {exp: 8, bias: 127, top: 0xfe, over: 0xff, nan: 0xff, hasNaN: true,
		unsigned: true},
	"float6_e2m3fn": finite(2, 3, 1),
	"float6_e3m2fn": finite(3, 2, 3),
	"float4_e2m1fn": finite(2, 1, 1),
}

// smallInts are the bits of the integers that do not fill the byte they are stored in.
var smallInts = map[string]int{"int2": 2, "int4": 4, "uint2": 2, "uint4": 4}

const complexPrefix = "complex_"

// extensionType returns the type of a name that NumPy has no type for.
func extensionType(name string) (Type, bool) {
	t := Type{Kind: Extension, Name: name}
	if _, ok := smallInts[name]; ok {
		t.Size = 1
		return t, true
	}
	component, isComplex := strings.CutPrefix(name, complexPrefix)
	format, ok := smallFloats[component]
	if !ok || !isComplex && (name == "float16" || name == "float32") {
		return Type{}, false
	}
	t.Size = format.size()
	if t.Size > 1 {
		t.Order = Little
	}
	if isComplex {
		t.Size *= 2
	}
	return t, true
}

package hdf5

import (
	"encoding/binary"
	"slices"
)

// Type is a datatype: the size of an element, and the datatype message that describes it
// (IV.A.2.d).
type Type struct {
	size       int
	message    []byte
	isVariable bool   // VarString
	committed  string // the name under which the file has it as a type of its own; "": it has not
}

// Size returns the bytes of an element.
func (t Type) Size() int64 { return int64(t.size) }

// The classes of datatypes, each with the version of its message.
const (
	classInt      = 0x10
	classFloat    = 0x11
	classString   = 0x13
	classOpaque   = 0x15
	classCompound = 0x36
	classRef      = 0x17
	classEnum     = 0x38
	classVar      = 0x19
	classArray    = 0x3a
)

// newType returns a type whose message has these bit fields and properties.
func newType(class byte, bits0, bits1 byte, size int, properties ...byte) Type {
	message := []byte{class, bits0, bits1, 0}
	message = binary.LittleEndian.AppendUint32(message, uint32(size))
	return Type{size: size, message: append(message, properties...)}
}

// Int returns the type of whole numbers of size bytes.
func Int(size int, signed, big bool) Type { return NarrowInt(size, 8*size, signed, big) }

// NarrowInt returns the type of whole numbers that are the low bits of size bytes.
func NarrowInt(size, bits int, signed, big bool) Type {
	const isSigned = 1 << 3
	flags := order(big)
	if signed {
		flags |= isSigned
	}
	return newType(classInt, flags, 0, size, 0, 0, byte(bits), byte(bits>>8))
}

// order returns the bit for the byte order of a number.
func order(big bool) byte {
	if big {
		return 1
	}
	return 0
}

// Layout of a floating-point number in bits, from the least significant one.
type floatBits struct {
	size              int // bytes
	sign              byte
	exponent, expBits byte
	mantissaBits      byte
	bias              uint32
	explicit          bool // the first bit of the mantissa is stored
}

// floats are the numbers with an infinity, NaNs and subnormal numbers, as HDF5 converts them.
var floats = map[string]floatBits{
	"float16":     {2, 15, 10, 5, 10, 15, false},
	"float32":     {4, 31, 23, 8, 23, 127, false},
	"float64":     {8, 63, 52, 11, 52, 1023, false},
	"x87":         {16, 79, 64, 15, 64, 16383, true},
	"bfloat16":    {2, 15, 7, 8, 7, 127, false},
	"float8_e5m2": {1, 7, 2, 5, 2, 15, false},
	"float8_e4m3": {1, 7, 3, 4, 3, 7, false},
	"float8_e3m4": {1, 7, 4, 3, 4, 3, false},
}

// Float returns the type of floating-point numbers of that name: float16, float32, float64,
// bfloat16 and so on, and x87 for the extended format in 16 bytes. ok is false if HDF5 cannot
// describe them.
func Float(name string, big bool) (t Type, ok bool) {
	f, ok := floats[name]
	if !ok {
		return Type{}, false
	}
	const implied = 2 << 4 // the mantissa's first bit is not stored
	flags := order(big)
	if !f.explicit {
		flags |= implied
	}
	precision := f.sign + 1
	properties := []byte{0, 0, precision, 0, f.exponent, f.expBits, 0, f.mantissaBits}
	properties = binary.LittleEndian.AppendUint32(properties, f.bias)
	return newType(classFloat, flags, f.sign, f.size, properties...), true
}

const (
	nullTerminated = 0
	nullPadded     = 1
	utf8Text       = 1 << 4
)

// Text returns the type of UTF-8 text in size bytes, padded with NUL.
func Text(size int) Type { return newType(classString, nullPadded|utf8Text, 0, size) }

// ByteString returns the type of byte strings of size bytes, padded with NUL.
func ByteString(size int) Type { return newType(classString, nullPadded, 0, size) }

// Word returns the type of an ASCII text of size bytes, which ends before the first NUL, if there
// is one. The names that the dimension scales need must be of it, with a NUL.
func Word(size int) Type { return newType(classString, nullTerminated, 0, size) }

// VarString is the type of UTF-8 text of any length. Only attributes have it.
var VarString = variable()

func variable() Type {
	const isString, isUTF8 = 1, 1
	t := newType(classVar, isString, isUTF8, referenceToHeap, Word(1).message...)
	t.isVariable = true
	return t
}

// VarWord is the type of words of any length as a list of their characters, as MATLAB has names
// of fields. Only attributes have it.
var VarWord = variableWord()

func variableWord() Type {
	t := newType(classVar, 0, 0, referenceToHeap, Word(1).message...)
	t.isVariable = true
	return t
}

// Opaque returns the type of size bytes that mean nothing to HDF5.
func Opaque(size int) Type { return newType(classOpaque, 0, 0, size) }

// Field is a member of a compound type.
type Field struct {
	Name   string
	Offset int
	Type   Type
	Shape  []int64 // nil: one element
}

// Compound returns the type of elements of size bytes that have fields.
func Compound(size int, fields []Field) Type {
	t := newType(classCompound, byte(len(fields)), byte(len(fields)>>8), size)
	for _, f := range fields {
		t.message = append(append(t.message, f.Name...), 0)
		// As many bytes as the size takes.
		for n, offset := size, f.Offset; n > 0; n, offset = n>>8, offset>>8 {
			t.message = append(t.message, byte(offset))
		}
		t.message = append(t.message, f.Type.arrayOf(f.Shape).message...)
	}
	return t
}

// Complex returns the type of complex numbers of two floats, as h5py has it.
func Complex(part Type) Type {
	return Compound(
		2*part.size,
		[]Field{{Name: "r", Type: part}, {Name: "i", Offset: part.size, Type: part}},
	)
}

// arrayOf returns the type of an array of that shape.
func (t Type) arrayOf(shape []int64) Type {
	if shape == nil {
		return t
	}
	size, properties := t.size, []byte{byte(len(shape))}
	for _, n := range shape {
		size *= int(n)
		properties = binary.LittleEndian.AppendUint32(properties, uint32(n))
	}
	return newType(classArray, 0, 0, size, append(properties, t.message...)...)
}

// Enum returns the type of whole numbers of the type base that have names. The first is 0, the next
// 1, and so on.
func Enum(base Type, names ...string) Type {
	t := newType(classEnum, byte(len(names)), byte(len(names)>>8), base.size, base.message...)
	for _, name := range names {
		t.message = append(append(t.message, name...), 0)
	}
	for i := range names {
		value := make([]byte, base.size)
		value[0] = byte(i)
		t.message = append(t.message, value...)
	}
	return t
}

// Bool returns the type of booleans in a byte, as h5py has it.
func Bool() Type { return Enum(Int(1, true, false), "FALSE", "TRUE") }

// Committed returns the type as one that the root group of the file has under a name. The netCDF
// library reads compound and enumerated types only so.
func (t Type) Committed(name string) Type {
	t.committed = name
	return t
}

var (
	// reference is to an object of the file, and references are a list of them.
	reference     = newType(classRef, 0, 0, 8)
	references    = newType(classVar, 0, 0, referenceToHeap, reference.message...)
	int32Type     = Int(4, true, false)
	referenceUses = Compound(16, []Field{
		{Name: "dataset", Type: reference}, {Name: "dimension", Offset: 8, Type: int32Type}})
)

// equal reports whether two types are the same.
func (t Type) equal(u Type) bool {
	return t.committed == u.committed && slices.Equal(t.message, u.message)
}

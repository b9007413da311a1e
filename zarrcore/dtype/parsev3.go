package dtype

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// ParseV3 reads the data_type of a document of format 3: a name, an object of name and
// configuration, or tensorstore's bare list of a struct's fields. The type is
// little-endian until WithOrder says otherwise.
func ParseV3(v pyjson.Value) (Type, error) {
	return parse(v, parseV3)
}

func parseV3(v pyjson.Value) (Type, error) {
	name := v
	switch v.Kind() {
	case pyjson.Array:
		return parseFields(v.Elems(), parseV3)
	case pyjson.Object:
		name = v.Get("name")
	}
	if name.Kind() != pyjson.String {
		return Type{}, fmt.Errorf("expected a data type's name, found %s", excerpt(v))
	}
	config := pyjson.Value{}
	if v.Kind() == pyjson.Object {
		config = v.Get("configuration")
	}
	return parseNamed(name.Text(), config)
}

// parseNamed reads the type of a name and its configuration.
func parseNamed(name string, config pyjson.Value) (Type, error) {
	if t, ok := namedType(name); ok {
		return t, nil
	}
	switch name {
	case "raw_bytes":
		return lengthType(Raw, 1, name, config)
	case "null_terminated_bytes":
		return lengthType(Bytes, 1, name, config)
	case "fixed_length_utf32":
		return lengthType(Unicode, 4, name, config)
	case "numpy.datetime64":
		return configuredTime(Datetime, name, config)
	case "numpy.timedelta64":
		return configuredTime(Timedelta, name, config)
	case "struct", "structured":
		return parseStruct(name, config)
	}
	return rawBits(name)
}

// coreTypes are the types of fixed size that NumPy has too.
var coreTypes = map[string]Type{
	"bool":            scalar(Bool, 1, 1, NoOrder),
	"int8":            scalar(Int, 1, 1, NoOrder),
	"int16":           scalar(Int, 2, 2, Little),
	"int32":           scalar(Int, 4, 4, Little),
	"int64":           scalar(Int, 8, 8, Little),
	"uint8":           scalar(Uint, 1, 1, NoOrder),
	"uint16":          scalar(Uint, 2, 2, Little),
	"uint32":          scalar(Uint, 4, 4, Little),
	"uint64":          scalar(Uint, 8, 8, Little),
	"float16":         scalar(Float, 2, 2, Little),
	"float32":         scalar(Float, 4, 4, Little),
	"float64":         scalar(Float, 8, 8, Little),
	"complex64":       scalar(Complex, 8, 4, Little),
	"complex128":      scalar(Complex, 16, 8, Little),
	"complex_float32": scalar(Complex, 8, 4, Little),
	"complex_float64": scalar(Complex, 16, 8, Little),

	"string":                {Kind: Object, Name: "string"},
	"bytes":                 {Kind: Object, Name: "bytes"},
	"variable_length_bytes": {Kind: Object, Name: "bytes"}, // zarr-python's name
	"binary":                {Kind: Object, Name: "bytes"}, // zarrs' old name
}

// namedType returns the type of a name that needs no configuration.
func namedType(name string) (Type, bool) {
	if t, ok := coreTypes[name]; ok {
		return t, true
	}
	return extensionType(name)
}

// VlenNames are the names in version 3 of the types whose elements have no fixed size.
var VlenNames = namesOf(Object)

// namesOf returns the core names of the types of a kind.
func namesOf(k Kind) (names []string) {
	for name, t := range coreTypes {
		if t.Kind == k {
			names = append(names, name)
		}
	}
	return names
}

// rawBits reads "r8", "r16", …: opaque elements of so many bits.
func rawBits(name string) (Type, error) {
	digits, ok := strings.CutPrefix(name, "r")
	bits, err := strconv.ParseUint(digits, 10, 32)
	if !ok || err != nil || bits%8 != 0 || digits[0] == '0' || digits[0] == '+' {
		return Type{}, unsupported(name)
	}
	return checked(scalar(Raw, int64(bits/8), 1, NoOrder), name)
}

// lengthType reads the types that are configured by {"length_bytes": n}, in units of unit bytes.
func lengthType(kind Kind, unit int64, name string, config pyjson.Value) (Type, error) {
	length := config.Get("length_bytes")
	n, ok := length.Int64()
	if !ok || n%unit != 0 {
		return Type{}, fmt.Errorf("%s: expected length_bytes as a multiple of %d, found %s", name,
			unit, excerpt(length))
	}
	return checked(scalar(kind, n, unit, Little), name)
}

// configuredTime reads {"unit": "us", "scale_factor": 10}.
func configuredTime(kind Kind, name string, config pyjson.Value) (Type, error) {
	scale := int64(1)
	if factor := config.Get("scale_factor"); factor.Exists() {
		scale, _ = factor.Int64()
	}
	unit := config.Get("unit").Text()
	if unit == "generic" && scale > 1 {
		return Type{}, scaledGeneric(fmt.Sprintf("%s of %d %s", name, scale, unit))
	}
	t, ok := timeType(kind, unit, scale, Little)
	if !ok {
		return Type{}, fmt.Errorf("%s: expected a unit of %v and a scale_factor, found %s", name,
			timeUnits, excerpt(config))
	}
	return t, nil
}

// parseStruct reads {"fields": […]}: objects in "struct", pairs in the older "structured".
// Both forms are read in both.
func parseStruct(name string, config pyjson.Value) (Type, error) {
	fields := config.Get("fields")
	if fields.Kind() != pyjson.Array {
		return Type{}, fmt.Errorf("%s: expected fields, found %s", name, excerpt(config))
	}
	return parseFields(fields.Elems(), parseV3)
}

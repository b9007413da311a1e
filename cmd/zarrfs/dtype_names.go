package main

import (
	"fmt"
	"strings"
)

// numpyNames are the names that NumPy 2 has for types on a 64-bit Linux, beside those of format 3.
// Each has the spelling that NumPy uses in headers of .npy files. The names of bytes and texts
// without a length stand for the Zarr types of any length.
var numpyNames = map[string]string{
	"?": "|b1", "bool_": "|b1",
	"b": "|i1", "byte": "|i1", "B": "|u1", "ubyte": "|u1",
	"h": "<i2", "short": "<i2", "H": "<u2", "ushort": "<u2",
	"i": "<i4", "intc": "<i4", "I": "<u4", "uintc": "<u4",
	"l": "<i8", "q": "<i8", "p": "<i8", "int": "<i8", "int_": "<i8", "long": "<i8", "longlong": "<i8", "intp": "<i8",
	"L": "<u8", "Q": "<u8", "P": "<u8", "uint": "<u8", "ulong": "<u8", "ulonglong": "<u8", "uintp": "<u8",
	"e": "<f2", "half": "<f2", "f": "<f4", "single": "<f4", "d": "<f8", "double": "<f8", "float": "<f8", "float_": "<f8",
	"F": "<c8", "csingle": "<c8", "D": "<c16", "cdouble": "<c16", "complex": "<c16", "complex_": "<c16",
	"M": "<M8", "datetime64": "<M8", "m": "<m8", "timedelta64": "<m8",
	"U": "string", "str": "string", "str_": "string", "unicode": "string", "S": "bytes", "bytes_": "bytes",
}

// unstorable are names that NumPy has and Zarr has not, and what to do.
var unstorable = map[string]string{
	"O": objectHint, "object": objectHint, "object_": objectHint, "|O": objectHint,
	"g": longHint, "longdouble": longHint, "float128": longHint, "<f16": longHint,
	"G": longHint, "clongdouble": longHint, "complex256": longHint, "<c32": longHint,
	"V": voidHint, "void": voidHint,
}

const (
	objectHint = "Python objects are not a type of Zarr; for texts take string, for bytes take bytes"
	longHint   = "Zarr has no floating-point numbers of more than 64 bits; take float64 or complex128"
	voidHint   = "raw bytes need a length, such as V16"
)

// structure returns how the header of a .npy file spells a structure of fields without names, as in
// "f4,i4". NumPy calls them f0, f1 and so on.
func structure(fields []string) string {
	var all []string
	for i, field := range fields {
		all = append(all, fmt.Sprintf("('f%d', '%s')", i, numpySpelling(strings.TrimSpace(field))))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// numpySpelling returns how the header of a .npy file spells a type that has a name of NumPy. Other
// texts stay as they are.
func numpySpelling(name string) string {
	if spelled, ok := numpyNames[name]; ok {
		return spelled
	}
	for long, short := range map[string]string{"datetime64[": "<M8[", "timedelta64[": "<m8["} {
		if unit, ok := strings.CutPrefix(name, long); ok {
			return short + unit
		}
	}
	return name
}

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// numpyNames are the names that NumPy 2 has for types on 64-bit Linux, beside those of format 3.
// Each has the spelling that NumPy uses in headers of .npy files. The names of bytes and texts
// without a length stand for the Zarr types of any length.
var numpyNames = map[string]string{
	"?": "|b1", "bool_": "|b1",
	"b": "|i1", "byte": "|i1", "B": "|u1", "ubyte": "|u1",
	"h": "<i2", "short": "<i2", "H": "<u2", "ushort": "<u2",
	"i": "<i4", "intc": "<i4", "I": "<u4", "uintc": "<u4",
	"l": "<i8", "q": "<i8", "p": "<i8", "int": "<i8", "int_": "<i8", "long": "<i8",
	"longlong": "<i8", "intp": "<i8",
	"L": "<u8", "Q": "<u8", "P": "<u8", "uint": "<u8", "ulong": "<u8", "ulonglong": "<u8",
	"uintp": "<u8",
	"e":     "<f2", "half": "<f2", "f": "<f4", "single": "<f4", "d": "<f8", "double": "<f8",
	"float": "<f8", "float_": "<f8",
	"F": "<c8", "csingle": "<c8", "D": "<c16", "cdouble": "<c16", "complex": "<c16",
	"complex_": "<c16",
	"M":        "<M8", "datetime64": "<M8", "m": "<m8", "timedelta64": "<m8",
	"U": "string", "str": "string", "str_": "string", "unicode": "string", "S": "bytes",
	"bytes_": "bytes",
	"a":      "bytes", "c": "|S1",
}

// unstorable are names that NumPy has and Zarr does not, and what to do.
var unstorable = map[string]string{
	"O": objectHint, "object": objectHint, "object_": objectHint, "|O": objectHint,
	"g": longHint, "longdouble": longHint, "float128": longHint, "<f16": longHint,
	"G": longHint, "clongdouble": longHint, "complex256": longHint, "<c32": longHint,
	"V": voidHint, "void": voidHint,
	"T": stringHint, "StringDType": stringHint, "StringDType()": stringHint,
}

const (
	objectHint = "Python objects are not a type of Zarr; for texts take string, for bytes " +
		"take bytes"
	longHint = "Zarr has no floating-point numbers of more than 64 bits; take float64 or " +
		"complex128"
	voidHint   = "raw bytes need a length, such as V16"
	stringHint = "texts of any length are the type string in Zarr; take that"
	emptyHint  = "an element needs at least one byte; " +
		"for byte strings of any length take bytes, for texts string"
	shapeHint = "zarr-python 3 cannot read elements with a shape; " +
		"take the type alone, and add the lengths to --shape"
	fieldHint = "zarr-python 3 cannot read fields with a shape; make an array for each field, " +
		"or give each value a field, as in i4,f8,f8"
)

var (
	emptyName  = regexp.MustCompile(`^[|<>=]?[SUVa]0$`)
	shapedName = regexp.MustCompile(`^(\([0-9, ]*\)|[0-9]+)\s*[|<>=?A-Za-z]`)
	bytesName  = regexp.MustCompile(`^[|<>=]?a([0-9]+)$`)
)

// instead returns what to use in place of a type that NumPy has and Zarr does not, or "" for other
// types.
func instead(name string) string {
	switch {
	case unstorable[name] != "":
		return unstorable[name]
	case emptyName.MatchString(name):
		return emptyHint
	case strings.HasPrefix(name, "["):
		return ""
	}
	fields := fieldsOf(name)
	if len(fields) == 1 && shapedName.MatchString(name) {
		return shapeHint
	}
	for _, field := range fields {
		if why := unstorable[field]; why != "" {
			return why
		}
		switch {
		case emptyName.MatchString(field):
			return emptyHint
		case shapedName.MatchString(field):
			return fieldHint
		}
	}
	return ""
}

// fieldsOf splits a structure such as "f4,(2,3)i4" at the commas between its fields.
func fieldsOf(name string) []string {
	var fields []string
	depth, start := 0, 0
	for i, c := range name {
		switch c {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth == 0 {
				fields = append(fields, strings.TrimSpace(name[start:i]))
				start = i + 1
			}
		}
	}
	return append(fields, strings.TrimSpace(name[start:]))
}

// hasUnits reports whether all dates and durations of a type have a unit.
func hasUnits(t dtype.Type) bool {
	return t.Unit != "generic" &&
		!slices.ContainsFunc(t.Fields, func(f dtype.Field) bool { return !hasUnits(f.Type) })
}

// structure returns how the header of a .npy file spells a structure of fields without names, as in
// "f4,i4". NumPy calls them f0, f1 and so on.
func structure(fields []string) string {
	var all []string
	for i, field := range fields {
		all = append(all, fmt.Sprintf("('f%d', '%s')", i, numpySpelling(field)))
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
	if length := bytesName.FindStringSubmatch(name); length != nil {
		return "|S" + length[1]
	}
	return name
}

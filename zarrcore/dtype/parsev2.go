package dtype

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// ParseV2 reads the dtype of a document of format 1 or 2: a NumPy typestr such as "<f4", or a list
// of [name, type] or [name, type, shape]. It also reads the name of a type that NumPy lacks, as
// tensorstore writes ("bfloat16"; little-endian).
//
// Byte orders are not required where they mean nothing ("<u1", ">S3"), and "|", "=" or none is
// read as little-endian where one is needed. Names such as "float32" are read too.
func ParseV2(v pyjson.Value) (Type, error) {
	return parse(v, parseV2)
}

// maxText bounds the text of a type: in memory a struct's fields take some fifteen times as much.
const maxText = 1 << 20

// parse reads a type by the rules of a format, and says in errors which room they come from.
func parse(v pyjson.Value, format func(pyjson.Value) (Type, error)) (Type, error) {
	if len(v.Raw()) > maxText {
		return Type{}, fmt.Errorf("dtype: expected a type of at most %d bytes, found %d: %w",
			maxText, len(v.Raw()), errors.ErrUnsupported)
	}
	t, err := format(v)
	if err != nil {
		return Type{}, fmt.Errorf("dtype: %w", err)
	}
	return t, nil
}

func parseV2(v pyjson.Value) (Type, error) {
	switch v.Kind() {
	case pyjson.String:
		return parseTypestr(v.Text())
	case pyjson.Array:
		return parseFields(v.Elems(), parseV2)
	}
	return Type{}, fmt.Errorf("expected a typestr or a list of fields, found %s", excerpt(v))
}

// excerpt returns the beginning of v's text, for messages.
func excerpt(v pyjson.Value) string {
	if !v.Exists() {
		return "nothing"
	}
	raw := v.Raw()
	if len(raw) <= 60 {
		return string(raw)
	}
	return strings.ToValidUTF8(string(raw[:60]), "") + "…"
}

// unsupported says that a type is not read; and why, if it is known.
func unsupported(spelling string) error {
	if spelling == "optional" || spelling == "zarrs.optional" {
		return fmt.Errorf("type %q, whose elements may be missing, is not read: %w", spelling,
			errors.ErrUnsupported)
	}
	return fmt.Errorf("unknown type %.60q: %w", spelling, errors.ErrUnsupported)
}

// parseFields reads a struct's fields, each a pair or, with a shape, a triple; parse reads their
// types.
func parseFields(elems []pyjson.Value, parse func(pyjson.Value) (Type, error)) (Type, error) {
	fields := make([]Field, len(elems))
	for i, elem := range elems {
		f, err := parseField(elem, parse)
		if err != nil {
			return Type{}, err
		}
		fields[i] = f
	}
	return newStruct(fields)
}

// parseField reads [name, type], [name, type, shape] or {"name": …, "data_type": …}.
func parseField(v pyjson.Value, parse func(pyjson.Value) (Type, error)) (f Field, err error) {
	name, typ, shape := v.Get("name"), v.Get("data_type"), pyjson.Value{}
	if parts := v.Elems(); len(parts) == 2 || len(parts) == 3 {
		name, typ = parts[0], parts[1]
		if len(parts) == 3 {
			shape = parts[2]
		}
	}
	if name.Kind() != pyjson.String || !typ.Exists() {
		return f, fmt.Errorf("struct: expected a field of a name and a type, found %s", excerpt(v))
	}
	f.Name = name.Text()
	if f.Shape, err = parseShape(shape); err != nil {
		return f, fmt.Errorf("struct field %q: %w", f.Name, err)
	}
	if f.Type, err = parse(typ); err != nil {
		return f, fmt.Errorf("struct field %q: %w", f.Name, err)
	}
	return f, nil
}

// parseShape reads a subarray's shape: a list of lengths, or one length. An empty list is not a
// shape.
func parseShape(v pyjson.Value) ([]int64, error) {
	lengths := v.Elems()
	switch v.Kind() {
	case pyjson.Invalid:
		return nil, nil
	case pyjson.Number:
		lengths = []pyjson.Value{v}
	}
	var shape []int64
	for _, length := range lengths {
		n, ok := length.Int64()
		if !ok || n < 0 {
			return nil, fmt.Errorf("expected a shape of lengths, found %s", excerpt(v))
		}
		shape = append(shape, n)
	}
	if v.Kind() != pyjson.Array && v.Kind() != pyjson.Number {
		return nil, fmt.Errorf("expected a shape of lengths, found %s", excerpt(v))
	}
	return shape, nil
}

// typestr is a typestr taken apart: order, kind letter, count, and what follows.
type typestr struct {
	order  Order
	letter byte
	count  int64 // -1 if there is none
	suffix string
}

func splitTypestr(s string) (parts typestr, ok bool) {
	parts.order = Little
	if s != "" && strings.IndexByte("<>|=", s[0]) >= 0 {
		if s[0] == '>' {
			parts.order = Big
		}
		s = s[1:]
	}
	if s == "" {
		return parts, false
	}
	parts.letter, s = s[0], s[1:]
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	parts.count, parts.suffix = -1, s[digits:]
	if digits > 0 {
		n, err := strconv.ParseInt(s[:digits], 10, 64)
		if err != nil {
			return parts, false
		}
		parts.count = n
	}
	return parts, true
}

// numbers lists the sizes of the kinds of numbers by their letters.
var numbers = map[byte]struct {
	kind  Kind
	sizes []int64
}{
	'b': {Bool, []int64{1}},
	'i': {Int, []int64{1, 2, 4, 8}},
	'u': {Uint, []int64{1, 2, 4, 8}},
	'f': {Float, []int64{2, 4, 8, 16}},
	'c': {Complex, []int64{8, 16, 32}},
}

// parseTypestr reads "<f4", "|S3", "<M8[10us]", … or the name of a type.
func parseTypestr(s string) (Type, error) {
	if t, ok := namedType(s); ok && t.Kind != Object {
		return t, nil
	}
	parts, ok := splitTypestr(s)
	if !ok {
		return Type{}, unsupported(s)
	}
	if parts.letter == 'M' || parts.letter == 'm' {
		return parts.time(s)
	}
	if parts.suffix != "" {
		return Type{}, unsupported(s)
	}
	if number, ok := numbers[parts.letter]; ok && slices.Contains(number.sizes, parts.count) {
		unit := parts.count
		if number.kind == Complex {
			unit /= 2
		}
		return scalar(number.kind, parts.count, unit, parts.order), nil
	}
	return parts.sized(s)
}

// sized reads the types of any size, and the one without.
func (parts typestr) sized(s string) (Type, error) {
	if parts.letter != 'O' && parts.count < 0 {
		return Type{}, unsupported(s)
	}
	switch parts.letter {
	case 'S':
		return checked(scalar(Bytes, parts.count, 1, parts.order), s)
	case 'V':
		return checked(scalar(Raw, parts.count, 1, parts.order), s)
	case 'U':
		return checked(scalar(Unicode, 4*min(parts.count, maxSize), 4, parts.order), s)
	case 'O': // old NumPy wrote the size of a pointer
		if parts.count == -1 || parts.count == 4 || parts.count == 8 {
			return Type{Kind: Object, Name: "object"}, nil
		}
	}
	return Type{}, unsupported(s)
}

// timeUnits are NumPy's units of time.
var timeUnits = []string{"Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as",
	"generic"}

// time reads the suffix of "M8[10us]"; without a suffix the unit is generic.
func (parts typestr) time(s string) (Type, error) {
	kind := Datetime
	if parts.letter == 'm' {
		kind = Timedelta
	}
	text, open := strings.CutPrefix(parts.suffix, "[")
	text, closed := strings.CutSuffix(text, "]")
	unit := strings.TrimLeft(text, "0123456789")
	scale := int64(1)
	if digits := text[:len(text)-len(unit)]; digits != "" {
		n, err := strconv.ParseInt(digits, 10, 32)
		if err != nil {
			return Type{}, unsupported(s)
		}
		scale = n
	}
	if parts.suffix == "" {
		unit, open, closed = "generic", true, true
	}
	if unit == "generic" && scale > 1 {
		return Type{}, scaledGeneric(s)
	}
	t, ok := timeType(kind, unit, scale, parts.order)
	if parts.count != 8 || !open || !closed || !ok {
		return Type{}, unsupported(s)
	}
	return t, nil
}

// scaledGeneric says that a type counts in steps of no unit, of which NumPy loads no array.
func scaledGeneric(spelling string) error {
	return fmt.Errorf("type %s, whose unit is generic and has a scale, is not read: %w", spelling,
		errors.ErrUnsupported)
}

// timeType returns the Datetime or Timedelta of a unit and a scale, which NumPy keeps in 32 bits.
func timeType(kind Kind, unit string, scale int64, o Order) (Type, bool) {
	if unit == "\u03bcs" || unit == "\u00b5s" { // the Greek letter mu, the micro sign
		unit = "us"
	}
	ok := slices.Contains(timeUnits, unit) && scale >= 1 && scale < 1<<31 &&
		(unit != "generic" || scale == 1)
	return Type{Kind: kind, Size: 8, Order: o, Unit: unit, Scale: scale}, ok
}

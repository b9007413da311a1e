package dtype

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// FillFormat is how documents of a format write fill values.
type FillFormat uint8

// The formats. That of format 1 is FillV2.
const (
	FillV2 FillFormat = 2
	FillV3 FillFormat = 3
)

// Element returns the element of type t that a fill_value stands for, in t's byte order.
//
// In FillV2 an absent value, null, 0 and "" are the zero element of every type. As zarr-python 2
// does, it also reads numbers as strings or booleans, and byte strings that are not base64. Strings
// and raw bytes of another length are cut or padded. Of an Object it is the fill_value's own JSON,
// on one line: what that means is up to its codec.
//
// In FillV3 an absent value and null are the zero element, though the format does not allow them.
// Of an Object it is the string's UTF-8, or the bytes.
func (f FillFormat) Element(t Type, v pyjson.Value) ([]byte, error) {
	return filler{lenient: f == FillV2}.fill(t, v)
}

// filler turns fill values into bytes by the rules of a format.
type filler struct {
	lenient bool // format 1 and 2
}

// mismatch is the error of a fill value that t cannot have.
func mismatch(t Type, want string, v pyjson.Value) error {
	return fmt.Errorf("%.60s: expected %s, found %s", t.NumPy(), want, excerpt(v))
}

// fill is element, with an error that says where it comes from.
func (fl filler) fill(t Type, v pyjson.Value) ([]byte, error) {
	data, err := fl.element(t, v)
	if err != nil {
		return nil, fmt.Errorf("dtype: fill value: %w", err)
	}
	return data, nil
}

// element returns the bytes of one element.
func (fl filler) element(t Type, v pyjson.Value) ([]byte, error) {
	if t.Kind == Object && fl.lenient {
		return objectV2(v), nil
	}
	if fl.isZero(t, v) {
		return make([]byte, t.Size), nil
	}
	switch t.Kind {
	case Bool:
		return fl.boolean(t, v)
	case Int, Uint:
		return fl.integer(t, v, int(8*t.Size))
	case Float:
		return fl.float(t, v)
	case Complex:
		return fl.complex(t, Type{Kind: Float, Size: t.Size / 2, Order: t.Order}, v)
	case Bytes, Raw:
		return fl.bytes(t, v)
	case Unicode:
		return fl.unicode(t, v)
	case Datetime, Timedelta:
		return fl.time(t, v)
	case Struct:
		return fl.structure(t, v)
	case Extension:
		return fl.extension(t, v)
	case Object:
		return fl.object(t, v)
	}
	return nil, mismatch(t, "a known type", v)
}

// isZero reports whether v stands for the zero element whatever t is. In format 3 the literals
// do so only where they cannot be meant otherwise.
func (fl filler) isZero(t Type, v pyjson.Value) bool {
	switch v.Kind() {
	case pyjson.Invalid, pyjson.Null:
		return true
	case pyjson.String:
		return v.Text() == "" && (fl.lenient || t.isText())
	case pyjson.Number:
		n, ok := v.Int64()
		return ok && n == 0 && (t.isText() || t.Kind == Struct || fl.lenient && t.Kind == Complex)
	}
	return false
}

// isText reports whether t's elements are strings of some sort.
func (t Type) isText() bool {
	return t.Kind == Bytes || t.Kind == Unicode || t.Kind == Raw || t.Kind == Object
}

func (fl filler) boolean(t Type, v pyjson.Value) ([]byte, error) {
	if b, ok := v.Bool(); ok {
		return t.Order.put(oneIf(b), 1), nil
	}
	if n, ok := v.Int64(); ok && (n == 0 || n == 1) {
		return t.Order.put(uint64(n), 1), nil
	}
	return nil, mismatch(t, "true or false", v)
}

func oneIf(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// bytes reads base64, or in format 3 a list of bytes.
func (fl filler) bytes(t Type, v pyjson.Value) ([]byte, error) {
	data, ok := fl.binary(v)
	if !ok && fl.lenient && t.Kind == Bytes && v.Kind() == pyjson.String {
		data, ok = []byte(v.Text()), true
	}
	short := fl.lenient || t.Kind == Bytes
	long := fl.lenient
	n := int64(len(data))
	if !ok || n < t.Size && !short || n > t.Size && !long {
		return nil, mismatch(t, fmt.Sprintf("base64 of %d bytes", t.Size), v)
	}
	return fit(data, t.Size), nil
}

// binary decodes base64 or a list of bytes.
func (fl filler) binary(v pyjson.Value) ([]byte, bool) {
	switch v.Kind() {
	case pyjson.String:
		data, err := base64.StdEncoding.DecodeString(v.Text())
		return data, err == nil
	case pyjson.Array:
		var data []byte
		for _, elem := range v.Elems() {
			n, ok := elem.Int64()
			if !ok || n < 0 || n > 255 {
				return nil, false
			}
			data = append(data, byte(n))
		}
		return data, true
	}
	return nil, false
}

// fit cuts data to size bytes or pads it with zeros.
func fit(data []byte, size int64) []byte {
	out := make([]byte, size)
	copy(out, data)
	return out
}

// unicode reads a string as UTF-32, padded with NUL.
func (fl filler) unicode(t Type, v pyjson.Value) ([]byte, error) {
	text := v.Text()
	if v.Kind() != pyjson.String || !fl.lenient && int64(utf8.RuneCountInString(text)) > t.Size/4 {
		return nil, mismatch(t, fmt.Sprintf("a string of at most %d characters", t.Size/4), v)
	}
	var out []byte
	for _, r := range text {
		if int64(len(out)) >= t.Size {
			break
		}
		out = t.Order.appender().AppendUint32(out, uint32(r))
	}
	return fit(out, t.Size), nil
}

func (fl filler) time(t Type, v pyjson.Value) ([]byte, error) {
	if v.Kind() == pyjson.String && v.Text() == "NaT" {
		return t.Order.put(1<<63, 8), nil
	}
	number := t
	number.Kind = Int
	out, err := fl.integer(number, v, 64)
	if err != nil {
		return nil, mismatch(t, `an integer or "NaT"`, v)
	}
	return out, nil
}

// structure reads an object of all fields, or base64 of the element as it is stored.
func (fl filler) structure(t Type, v pyjson.Value) ([]byte, error) {
	if v.Kind() == pyjson.Object {
		return fl.members(t, v)
	}
	data, ok := fl.binary(v)
	if !ok || v.Kind() != pyjson.String || int64(len(data)) != t.Size {
		return nil, mismatch(t, fmt.Sprintf("base64 of %d bytes, or an object of all fields",
			t.Size), v)
	}
	return data, nil
}

// members reads an object of field names and their values.
func (fl filler) members(t Type, v pyjson.Value) ([]byte, error) {
	values := maps.Collect(v.Entries())
	var out []byte
	for _, f := range t.Fields {
		value, ok := values[f.Name]
		if !ok {
			return nil, mismatch(t, fmt.Sprintf("a member %q", f.Name), v)
		}
		data, err := fl.field(f, value)
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", f.Name, err)
		}
		out = append(out, data...)
	}
	for _, f := range t.Fields {
		delete(values, f.Name)
	}
	for name := range values {
		return nil, mismatch(t, fmt.Sprintf("members for fields only, not %q", name), v)
	}
	return out, nil
}

// field reads the value of one field; one with a shape takes the same value in all its places.
func (fl filler) field(f Field, v pyjson.Value) ([]byte, error) {
	data, err := fl.element(f.Type, v)
	if err != nil || f.Shape == nil {
		return data, err
	}
	return slices.Repeat(data, int(f.Size()/f.Type.Size)), nil
}

// objectV2 is the JSON of format 2's fill value of any objects; nothing counts as null.
func objectV2(v pyjson.Value) []byte {
	if !v.Exists() {
		return []byte("null")
	}
	return v.Standard()
}

// object reads format 3's fill value of strings and bytes.
func (fl filler) object(t Type, v pyjson.Value) ([]byte, error) {
	if t.Name == "bytes" {
		if data, ok := fl.binary(v); ok {
			return data, nil
		}
		return nil, mismatch(t, "base64 or a list of bytes", v)
	}
	if v.Kind() != pyjson.String {
		return nil, mismatch(t, "a string", v)
	}
	return []byte(v.Text()), nil
}

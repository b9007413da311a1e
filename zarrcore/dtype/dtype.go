// Package dtype knows the data types of Zarr arrays. It knows how NumPy and documents of format 1,
// 2 and 3 spell them. It also knows the size and the byte order of their elements, and the bytes of
// a fill value.
//
// An element is only ever bytes here. Types whose values this package need not understand,
// as bfloat16 or float8, are therefore supported like all others.
package dtype

import (
	"errors"
	"fmt"
	"slices"
)

// Kind is the family a type belongs to.
type Kind uint8

// The kinds of types. Sizes are in bytes.
const (
	Invalid   Kind = iota // the zero Type
	Bool                  // 1, 00 or 01
	Int                   // 1, 2, 4, 8, two's complement
	Uint                  // 1, 2, 4, 8
	Float                 // 2, 4, 8, IEEE 754; 16, the x87 extended format and padding
	Complex               // 8, 16, 32: two Floats, real and imaginary
	Bytes                 // NUL-padded byte string, NumPy's S
	Unicode               // NUL-padded UTF-32, NumPy's U
	Raw                   // opaque bytes, NumPy's V
	Datetime              // 8, Int since 1970 in Scale Units
	Timedelta             // 8, Int in Scale Units
	Struct                // Fields one after the other, unaligned
	Extension             // a type that NumPy has not, by Name: bfloat16, float8_e4m3, int4, …
	Object                // elements of varying size, decoded by a codec; Size is 0
)

var kindNames = [...]string{"invalid", "bool", "int", "uint", "float", "complex", "bytes",
	"unicode",
	"raw", "datetime", "timedelta", "struct", "extension", "object"}

// String returns the kind's name, for messages.
func (k Kind) String() string { return kindNames[k] }

// Type is a data type. Of the members from Unit on, each belongs to some kinds only.
type Type struct {
	Kind   Kind
	Size   int64 // bytes of one element; 0 only for an Object
	Order  Order
	Unit   string  // of a Datetime or Timedelta: "ns", "D", …, "generic"
	Scale  int64   // of a Datetime or Timedelta: how many Units one step is, at least 1
	Fields []Field // of a Struct
	// of an Extension, its name; of an Object: "object" (format 2), "string" or "bytes"
	Name string
}

// Field is one field of a Struct.
type Field struct {
	Name   string // empty for padding
	Type   Type
	Shape  []int64 // the field is an array of this shape, in C order; nil if it is one Type
	Offset int64   // in bytes from the beginning of the element
}

// maxSize bounds an element, so that a fill value of a hostile document costs little memory.
const maxSize = 64 << 20

// Size returns the bytes that the field takes in the element.
func (f Field) Size() int64 {
	size := f.Type.Size
	for _, n := range f.Shape {
		size *= n
	}
	return size
}

// HasOrder reports whether the bytes of an element depend on a byte order.
func (t Type) HasOrder() bool {
	if t.Kind == Struct {
		return slices.ContainsFunc(t.Fields, func(f Field) bool { return f.Type.HasOrder() })
	}
	return t.Order != NoOrder
}

// WithOrder returns the type in byte order o, which is Little or Big. Types and fields
// without an order stay as they are.
func (t Type) WithOrder(o Order) Type {
	if t.Kind == Struct {
		t.Fields = slices.Clone(t.Fields)
		for i := range t.Fields {
			t.Fields[i].Type = t.Fields[i].Type.WithOrder(o)
		}
	} else if t.Order != NoOrder && o != NoOrder {
		t.Order = o
	}
	return t
}

// scalar returns a type of size bytes whose units of unit bytes stand in order o.
func scalar(kind Kind, size, unit int64, o Order) Type {
	if unit <= 1 {
		o = NoOrder
	}
	return Type{Kind: kind, Size: size, Order: o}
}

// checked returns t if an element of it has an acceptable size; spelling is for the message.
func checked(t Type, spelling string) (Type, error) {
	if t.Size < 1 || t.Size > maxSize {
		return Type{}, fmt.Errorf("type %s of %d bytes, expected 1 to %d: %w", spelling, t.Size,
			maxSize, errors.ErrUnsupported)
	}
	return t, nil
}

// newStruct lays the fields out one after the other. An empty name is padding if the field
// is Raw; otherwise it becomes "f" and the field's number, as in NumPy.
func newStruct(fields []Field) (Type, error) {
	t := Type{Kind: Struct, Fields: fields}
	seen := map[string]bool{}
	for i := range fields {
		f := &fields[i]
		if f.Name == "" && f.Type.Kind != Raw {
			f.Name = fmt.Sprintf("f%d", i)
		}
		if seen[f.Name] && f.Name != "" {
			return Type{}, fmt.Errorf("struct: expected distinct field names, found %q twice",
				f.Name)
		}
		seen[f.Name] = true
		if err := f.check(); err != nil {
			return Type{}, err
		}
		f.Offset = t.Size
		t.Size += f.Size()
		if t.Size > maxSize {
			break
		}
	}
	return checked(t, "struct")
}

// check refuses fields that have no fixed or no acceptable size.
func (f *Field) check() error {
	if f.Type.Kind == Object {
		return fmt.Errorf("struct field %q of type %s: %w", f.Name, f.Type.Name,
			errors.ErrUnsupported)
	}
	size := f.Type.Size
	for _, n := range f.Shape {
		if n < 0 {
			return fmt.Errorf("struct field %q: expected a shape of lengths, found %v", f.Name,
				f.Shape)
		}
		if n > 0 && size > maxSize/n {
			return fmt.Errorf("struct field %q of shape %v, expected at most %d bytes: %w", f.Name,
				f.Shape, maxSize, errors.ErrUnsupported)
		}
		size *= n
	}
	return nil
}

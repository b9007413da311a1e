package dtype

import (
	"errors"
	"fmt"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// SpellV2 returns the dtype of a document of format 2, as NumPy spells it. An Extension is its
// name, as tensorstore writes, which means little-endian; a big-endian one has no spelling. What
// the elements of an Object are, its codec says.
func (t Type) SpellV2() (pyjson.Value, error) {
	switch t.Kind {
	case Struct:
		fields := make([]pyjson.Value, len(t.Fields))
		for i, f := range t.Fields {
			typ, err := f.Type.SpellV2()
			if err != nil {
				return pyjson.Value{}, err
			}
			parts := []pyjson.Value{pyjson.StringOf(f.Name), typ}
			if f.Shape != nil {
				parts = append(parts, pyjson.IntsOf(f.Shape))
			}
			fields[i] = pyjson.ArrayOf(parts...)
		}
		return pyjson.ArrayOf(fields...), nil
	case Extension:
		if t.Order == Big {
			return pyjson.Value{}, unspelled(2, "big-endian "+t.Name)
		}
		return pyjson.StringOf(t.Name), nil
	case Invalid:
		return pyjson.Value{}, unspelled(2, "invalid type")
	}
	return pyjson.StringOf(t.typestr()), nil
}

// SpellV3 returns the data_type of a document of format 3. It does not have the byte order, which
// is the bytes codec's: ByteOrder. Format 3 has no x87 numbers, no arrays as fields of a struct,
// and no padding.
func (t Type) SpellV3() (pyjson.Value, error) {
	switch t.Kind {
	case Bool:
		return pyjson.StringOf("bool"), nil
	case Int, Uint, Complex, Float:
		if t.Size == 16 && t.Kind == Float || t.Size == 32 {
			return pyjson.Value{}, unspelled(3, t.NumPy())
		}
		return pyjson.StringOf(fmt.Sprint(t.Kind.String(), 8*t.Size)), nil
	case Bytes:
		return t.lengthSpelled("null_terminated_bytes"), nil
	case Unicode:
		return t.lengthSpelled("fixed_length_utf32"), nil
	case Raw:
		return t.lengthSpelled("raw_bytes"), nil
	case Datetime, Timedelta:
		unit := pyjson.Empty.With("unit", pyjson.StringOf(t.Unit)).With("scale_factor",
			pyjson.IntOf(t.Scale))
		return named("numpy."+t.Kind.String()+"64", unit), nil
	case Struct:
		return t.structSpelled()
	case Extension:
		return pyjson.StringOf(t.Name), nil
	case Object:
		if t.Name == "string" {
			return pyjson.StringOf(t.Name), nil
		}
		if t.Name == "bytes" {
			// as zarr-python, which reads no other name for it
			return pyjson.StringOf("variable_length_bytes"), nil
		}
	}
	return pyjson.Value{}, unspelled(3, t.NumPy())
}

func (t Type) lengthSpelled(name string) pyjson.Value {
	return named(name, pyjson.Empty.With("length_bytes", pyjson.IntOf(t.Size)))
}

// structSpelled writes the type "struct" of the registry of extensions.
func (t Type) structSpelled() (pyjson.Value, error) {
	fields := make([]pyjson.Value, len(t.Fields))
	for i, f := range t.Fields {
		typ, err := f.Type.SpellV3()
		switch {
		case err != nil:
			return pyjson.Value{}, err
		case f.Shape != nil:
			return pyjson.Value{},
				unspelled(3, fmt.Sprintf("struct field %q of shape %v", f.Name, f.Shape))
		case f.Name == "":
			return pyjson.Value{}, unspelled(3, "padding in a struct")
		}
		fields[i] = pyjson.Empty.With("name", pyjson.StringOf(f.Name)).With("data_type", typ)
	}
	return named("struct", pyjson.Empty.With("fields", pyjson.ArrayOf(fields...))), nil
}

// ByteOrder returns the one byte order of all that has one in an element, NoOrder if nothing has.
// Format 3 can say no more: a Struct whose fields differ in it is an error.
func (t Type) ByteOrder() (Order, error) {
	if t.Kind != Struct {
		return t.Order, nil
	}
	found := NoOrder
	for _, f := range t.Fields {
		o, err := f.Type.ByteOrder()
		if err != nil {
			return NoOrder, err
		}
		if o != NoOrder && found != NoOrder && o != found {
			return NoOrder, unspelled(3, "struct of both byte orders")
		}
		if o != NoOrder {
			found = o
		}
	}
	return found, nil
}

func unspelled(format int, what string) error {
	return fmt.Errorf("dtype: format %d has no %.60s: %w", format, what, errors.ErrUnsupported)
}

// named writes a data type of a name and a configuration.
func named(name string, config pyjson.Value) pyjson.Value {
	return pyjson.Empty.With("name", pyjson.StringOf(name)).With("configuration", config)
}

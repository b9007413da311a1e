package dtype

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zarrfs/zarrfs/layout/npy"
)

// ParseDescr reads the Python literal that describes the type in the header of a .npy file: what
// Descr writes, and all that NumPy writes for types of fixed size. Opaque bytes stay opaque,
// whatever Extension they may have come from; titles of fields are refused.
func ParseDescr(descr string) (Type, error) {
	literal, err := npy.ParseLiteral(descr)
	if err != nil {
		return Type{}, fmt.Errorf("dtype: %w", err)
	}
	t, err := parseLiteral(literal)
	if err != nil {
		return Type{}, fmt.Errorf("dtype: %w", err)
	}
	return t, nil
}

func parseLiteral(literal npy.Literal) (Type, error) {
	switch literal.Kind {
	case npy.String:
		if strings.TrimLeft(literal.Text, "|<>=") == "O" {
			return Type{}, fmt.Errorf("arrays of Python objects (|O) cannot be stored: convert "+
				"the array with a.astype(str) or a.astype(float): %w", errors.ErrUnsupported)
		}
		return parseTypestr(literal.Text)
	case npy.List:
		fields := make([]Field, len(literal.Items))
		for i, item := range literal.Items {
			f, err := parseLiteralField(item)
			if err != nil {
				return Type{}, err
			}
			fields[i] = f
		}
		return newStruct(fields)
	}
	return Type{}, fmt.Errorf("descr %.60s: %w", literal.Source, errors.ErrUnsupported)
}

// parseLiteralField reads ('name', type) or ('name', type, shape).
func parseLiteralField(literal npy.Literal) (f Field, err error) {
	parts := literal.Items
	if literal.Kind != npy.TupleOf || len(parts) < 2 || len(parts) > 3 ||
		parts[0].Kind != npy.String {
		return f, fmt.Errorf("expected a field of a name, a type and maybe a shape, found %.60s",
			literal.Source)
	}
	f.Name = parts[0].Text
	if len(parts) == 3 {
		if f.Shape, err = npy.ShapeOf(parts[2]); err != nil {
			return f, fmt.Errorf("field %q: %w", f.Name, err)
		}
	}
	if f.Type, err = parseLiteral(parts[1]); err != nil {
		return f, fmt.Errorf("field %q: %w", f.Name, err)
	}
	return f, nil
}

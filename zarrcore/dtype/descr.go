package dtype

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

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

// Descr returns the Python literal that describes the type in the header of a .npy file, as
// NumPy writes it: `'<f4'`, or `[('a', '<i4'), ('b', '|S3', (2,))]`.
//
// An Extension is opaque bytes there ('<V2'), as when NumPy saves an array of ml_dtypes: no
// NumPy without that module could load it otherwise. Narrow integers are those of a byte.
func (t Type) Descr() string {
	if t.Kind != Struct {
		return repr(t.descrString())
	}
	words := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		words[i] = "(" + repr(f.Name) + ", " + f.Type.Descr()
		if f.Shape != nil {
			words[i] += ", " + npy.Tuple(f.Shape)
		}
		words[i] += ")"
	}
	return "[" + strings.Join(words, ", ") + "]"
}

func (t Type) descrString() string {
	if t.isNarrow() {
		return t.withNarrow().typestr()
	}
	if t.Kind == Extension && t.Order == NoOrder {
		t.Order = Little // ml_dtypes says so even of single bytes
	}
	return t.typestr()
}

// repr returns the Python literal of a string, as Python's repr writes it.
func repr(s string) string {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	var out strings.Builder
	out.WriteRune(quote)
	for _, r := range s {
		out.WriteString(reprRune(r, quote))
	}
	out.WriteRune(quote)
	return out.String()
}

func reprRune(r, quote rune) string {
	switch {
	case r == quote || r == '\\':
		return `\` + string(r)
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case unicode.IsPrint(r):
		return string(r)
	case r <= 0xff:
		return fmt.Sprintf(`\x%02x`, r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

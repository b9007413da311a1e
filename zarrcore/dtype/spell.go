package dtype

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/zarrfs/zarrfs/layout/npy"
)

// NumPy returns the type as NumPy spells it, for people and for JSON: a typestr such as
// "<f4", "<U5" or "<M8[10us]", for a Struct the JSON text of its list of fields, and for an
// Extension its name.
func (t Type) NumPy() string {
	switch t.Kind {
	case Struct:
		var out strings.Builder
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)      // otherwise "<f4" would be "\u003cf4"
		_ = encoder.Encode(t.fieldList()) // strings and integers alone: cannot fail
		return strings.TrimSuffix(out.String(), "\n")
	case Extension:
		return t.Name
	}
	return t.typestr()
}

// fieldList returns what ParseV2 would read.
func (t Type) fieldList() any {
	if t.Kind != Struct {
		return t.NumPy()
	}
	list := make([]any, len(t.Fields))
	for i, f := range t.Fields {
		parts := []any{f.Name, f.Type.fieldList()}
		if f.Shape != nil {
			parts = append(parts, f.Shape)
		}
		list[i] = parts
	}
	return list
}

// letters are the typestr letters of the kinds.
var letters = map[Kind]string{Bool: "b", Int: "i", Uint: "u", Float: "f", Complex: "c", Bytes: "S",
	Unicode: "U",
	Raw:     "V", Datetime: "M", Timedelta: "m", Struct: "V", Extension: "V", Object: "O"}

// typestr returns the typestr; of a Struct, that of the bytes it consists of.
func (t Type) typestr() string {
	head := t.Order.String() + letters[t.Kind]
	switch t.Kind {
	case Object:
		return head
	case Unicode:
		return fmt.Sprint(head, t.Size/4)
	case Datetime, Timedelta:
		return head + "8" + t.timeSuffix()
	}
	return fmt.Sprint(head, t.Size)
}

func (t Type) timeSuffix() string {
	switch {
	case t.Unit == "generic":
		return ""
	case t.Scale == 1:
		return "[" + t.Unit + "]"
	}
	return fmt.Sprintf("[%d%s]", t.Scale, t.Unit)
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

package dtype

import (
	"encoding/json"
	"fmt"
	"strings"
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

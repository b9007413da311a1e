package pyjson

import (
	"bytes"
	"errors"
)

// ParseBeginning is Parse for the first bytes of a document. If a longer text that begins with them
// may be a document, and they alone are not one, it returns an absent value.
func ParseBeginning(data []byte) (Value, error) {
	v, err := Parse(data)
	var syntax *SyntaxError
	endsEarly := errors.As(err, &syntax) && syntax.Offset >= len(data)
	if endsEarly || bytes.HasPrefix(byteOrderMark, data) {
		return Value{}, nil
	}
	return v, err
}

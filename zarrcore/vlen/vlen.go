// Package vlen holds decoded elements that have no fixed size (strings, byte strings, lists of
// numbers, values of JSON) and spells them: as a line of JSON each, and as the fixed-width strings
// that NumPy has.
package vlen

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// Kind says what the elements are.
type Kind uint8

// The kinds of elements. A line of JSON is a string, base64 in a string, a list of numbers, or the
// value itself.
const (
	Text Kind = iota + 1 // UTF-8
	Binary
	List // numbers of one type, one after the other
	JSON // a value of strict JSON without white space
)

// String returns the kind in words, for messages.
func (k Kind) String() string {
	return [...]string{"nothing", "strings", "byte strings", "lists of numbers",
		"values of JSON"}[k]
}

// A Span is where an element's bytes lie.
type Span struct{ Off, Len uint32 }

// Elements are the elements of one chunk, in C order. They never change.
type Elements struct {
	Kind  Kind
	Item  dtype.Type // of a List's numbers
	Data  []byte     // what Spans point into; it may hold more
	Spans []Span     // one for each element, within Data
}

// spanBytes is the memory of one Span.
const spanBytes = 8

// Bytes is the memory that the elements take.
func (e *Elements) Bytes() int64 { return int64(cap(e.Data)) + spanBytes*int64(cap(e.Spans)) }

// Len is the number of elements.
func (e *Elements) Len() int64 { return int64(len(e.Spans)) }

// At returns element i as it is in Data.
func (e *Elements) At(i int64) []byte {
	s := e.Spans[i]
	return e.Data[s.Off : s.Off+s.Len : s.Off+s.Len]
}

// AppendLine appends element i as a line: its JSON and a line feed.
func (e *Elements) AppendLine(dst []byte, i int64) []byte {
	switch b := e.At(i); e.Kind {
	case Text:
		dst = AppendString(dst, b)
	case Binary:
		dst = append(base64.StdEncoding.AppendEncode(append(dst, '"'), b), '"')
	case List:
		dst = appendList(dst, b, e.Item)
	case JSON:
		dst = append(dst, b...)
	}
	return append(dst, '\n')
}

// LineLen is the number of bytes that AppendLine appends for element i.
func (e *Elements) LineLen(i int64) int64 {
	switch b := e.At(i); e.Kind {
	case Text:
		return stringLen(b) + 1
	case Binary:
		return int64(base64.StdEncoding.EncodedLen(len(b))) + 3
	case List:
		var room [256]byte
		return int64(len(appendList(room[:0], b, e.Item))) + 1
	default:
		return int64(len(b)) + 1
	}
}

// Unit is the bytes that fixed-width strings have for each unit of width: a character of 4 or a
// byte. It is 0 for lists, which are not strings. Values of JSON have the unit of text, and Width
// says which of them are strings.
func (k Kind) Unit() int64 {
	switch k {
	case Text, JSON:
		return 4
	case Binary:
		return 1
	}
	return 0
}

// Width is how many units of width element i needs: characters or bytes. It is -1 where the element
// is not a string.
func (e *Elements) Width(i int64) int64 {
	switch b := e.At(i); e.Kind {
	case Text:
		return int64(utf8.RuneCount(b))
	case Binary:
		return int64(len(b))
	case JSON:
		if b[0] == '"' {
			return int64(utf8.RuneCount(text(b)))
		}
	}
	return -1
}

// PutFixed writes element i over dst as one of NumPy's fixed-width strings, cut or padded with NUL:
// UTF-32 (little-endian) or bytes. dst is as long as a whole number of units.
func (e *Elements) PutFixed(dst []byte, i int64) {
	b := e.At(i)
	if e.Kind == JSON {
		b = text(b)
	}
	if e.Kind == Binary {
		clear(dst[copy(dst, b):])
		return
	}
	for len(dst) > 0 && len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		binary.LittleEndian.PutUint32(dst, uint32(r))
		dst, b = dst[4:], b[n:]
	}
	clear(dst)
}

// AppendFixed appends the element that one of NumPy's fixed-width strings says: what PutFixed
// writes. NULs at its end are padding.
func (k Kind) AppendFixed(dst, fixed []byte) ([]byte, error) {
	if k == Binary {
		return append(dst, bytes.TrimRight(fixed, "\x00")...), nil
	}
	for len(fixed) >= 4 && binary.LittleEndian.Uint32(fixed[len(fixed)-4:]) == 0 {
		fixed = fixed[:len(fixed)-4]
	}
	start := len(dst)
	for ; len(fixed) >= 4; fixed = fixed[4:] {
		r := binary.LittleEndian.Uint32(fixed)
		if r > utf8.MaxRune || !utf8.ValidRune(rune(r)) {
			return dst, fmt.Errorf("%w: expected characters of Unicode, found %#x", ErrLine, r)
		}
		dst = utf8.AppendRune(dst, rune(r))
	}
	if k == JSON {
		return AppendString(dst[:start:start], dst[start:]), nil
	}
	return dst, nil
}

// text returns the text of a string of JSON, nothing for any other value.
func text(raw []byte) []byte {
	v, err := pyjson.Parse(raw)
	if err != nil {
		return nil
	}
	return []byte(v.Text())
}

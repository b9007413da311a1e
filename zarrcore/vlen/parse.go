package vlen

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// ErrLine is wrapped by the error for a line that is not an element of its kind.
var ErrLine = errors.New("not an element of this array")

// AppendElement appends the element that a line says, without its line feed, as AppendLine writes
// it: items are those of lists. White space around the value, and between the parts of one, means
// nothing. Bare NaN and infinities, which Python writes, are what they say in lists of floats.
func (k Kind) AppendElement(dst, line []byte, item dtype.Type) ([]byte, error) {
	if k == Text && isPlain(line) {
		return append(dst, line[1:len(line)-1]...), nil
	}
	if !utf8.Valid(line) {
		return dst, fmt.Errorf("%w: expected UTF-8, found %.40q", ErrLine, line)
	}
	v, err := pyjson.Parse(line)
	if err != nil {
		return dst, fmt.Errorf("%w: %s; a line is %s", ErrLine, inLine(err), k.spelled())
	}
	switch {
	case k == JSON:
		return append(dst, v.Standard()...), nil
	case k == List && v.Kind() == pyjson.Array:
		return appendItems(dst, v, item)
	case k == Text && v.Kind() == pyjson.String && !hasHalves(v.Raw()):
		return append(dst, v.Text()...), nil
	case k == Binary && v.Kind() == pyjson.String:
		out, err := base64.StdEncoding.AppendDecode(dst, []byte(v.Text()))
		if err != nil {
			return dst, fmt.Errorf("%w: expected base64, found %.40q", ErrLine, v.Text())
		}
		return out, nil
	}
	return dst, fmt.Errorf("%w: expected %s, found %.40q", ErrLine, k.line(), v.Raw())
}

// inLine is the text of an error of one line of JSON, whose number there says nothing.
func inLine(err error) string {
	var e *pyjson.SyntaxError
	if !errors.As(err, &e) {
		return err.Error()
	}
	return fmt.Sprintf("column %d: expected %s, found %s", e.Column, e.Expected, e.Found)
}

// spelled says how a line of the kind looks.
func (k Kind) spelled() string {
	return [...]string{"nothing", "a string in double quotes", "base64 in double quotes",
		"a list of numbers, such as [1, 2]", "a value of JSON"}[k]
}

// line says what a line of the kind holds.
func (k Kind) line() string {
	return [...]string{"nothing", "a string that UTF-8 can say", "a string of base64",
		"a list of numbers", "a value"}[k]
}

// isPlain reports whether a line is a string without white space around it whose bytes are its
// text.
func isPlain(line []byte) bool {
	if len(line) < 2 || line[0] != '"' || line[len(line)-1] != '"' {
		return false
	}
	text := line[1 : len(line)-1]
	for _, c := range text {
		if isSpecial(c) {
			return false
		}
	}
	return utf8.Valid(text)
}

// hasHalves reports whether a valid string of JSON, in UTF-8, has half of a surrogate pair in it.
func hasHalves(raw []byte) bool {
	for {
		at := bytes.IndexByte(raw, '\\')
		if at < 0 {
			return false
		}
		if raw = raw[at+1:]; raw[0] != 'u' {
			raw = raw[1:]
			continue
		}
		r := codeUnit(raw[1:])
		raw = raw[5:]
		if !utf16.IsSurrogate(r) {
			continue
		}
		if !bytes.HasPrefix(raw, []byte(`\u`)) ||
			utf16.DecodeRune(r, codeUnit(raw[2:])) == utf8.RuneError {
			return true
		}
		raw = raw[6:]
	}
}

// codeUnit reads four hexadecimal digits.
func codeUnit(digits []byte) (r rune) {
	for _, c := range digits[:4] {
		r = r<<4 | rune(strings.IndexByte("0123456789abcdef", c|0x20))
	}
	return r
}

// appendItems appends the numbers of a list.
func appendItems(dst []byte, list pyjson.Value, t dtype.Type) ([]byte, error) {
	for v := range list.Elements() {
		bits, ok := bitsFor(v, t)
		if !ok {
			return dst, fmt.Errorf("%w: expected a number of type %s, found %.40q", ErrLine,
				t.NumPy(), v.Raw())
		}
		dst = appendBits(dst, bits, t)
	}
	return dst, nil
}

// bitsFor returns the bits of a number, if it is one that the type has. Floats are rounded, whole
// numbers are not.
func bitsFor(v pyjson.Value, t dtype.Type) (uint64, bool) {
	switch t.Kind {
	case dtype.Bool:
		b, ok := v.Bool()
		if b {
			return 1, ok
		}
		return 0, ok
	case dtype.Uint:
		n, ok := v.Uint64()
		return n, ok && (t.Size == 8 || n>>(8*t.Size) == 0)
	case dtype.Int:
		n, ok := v.Int64()
		unused := 64 - 8*t.Size
		return uint64(n), ok && n<<unused>>unused == n
	}
	f, ok := floatOf(v)
	if t.Size == 4 {
		return uint64(math.Float32bits(float32(f))), ok
	}
	return math.Float64bits(f), ok
}

// floatOf reads a number, or the words for those that JSON has not.
func floatOf(v pyjson.Value) (float64, bool) {
	switch v.Text() {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	return v.Float64()
}

// appendBits appends a number in the order of its type: what bitsOf reads.
func appendBits(dst []byte, bits uint64, t dtype.Type) []byte {
	var word [8]byte
	if t.Order == dtype.Big {
		binary.BigEndian.PutUint64(word[:], bits)
		return append(dst, word[8-t.Size:]...)
	}
	binary.LittleEndian.PutUint64(word[:], bits)
	return append(dst, word[:t.Size]...)
}

package pyjson

import (
	"bytes"
	"fmt"
)

const (
	// MaxSize is the length in bytes of the longest document that Parse takes.
	MaxSize = 64 << 20
	// MaxDepth is how deep arrays and objects may be nested.
	MaxDepth = 1000
)

// SyntaxError says where a document stops being one that Parse takes.
type SyntaxError struct {
	Offset       int // in bytes, from 0
	Line, Column int // from 1; the column counts bytes
	Expected     string
	Found        string
}

// Error says where, what was expected and what was found.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d (byte %d): expected %s, found %s", e.Line, e.Column,
		e.Offset, e.Expected, e.Found)
}

// Parse validates a document and returns its one value. The value refers to data, which must not
// change afterwards. A UTF-8 byte order mark before the document is ignored. Bytes that are not
// UTF-8 are taken within strings, and read as U+FFFD.
func Parse(data []byte) (Value, error) {
	p := &parser{data: data}
	if len(data) > MaxSize {
		return Value{}, fmt.Errorf("expected a JSON document of at most %d bytes, found %d bytes",
			MaxSize, len(data))
	}
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return Value{}, p.fail(0, "UTF-8 text", "a UTF-16 byte order mark")
	}
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		p.pos = 3
	}
	p.space()
	start := p.pos
	if err := p.value(); err != nil {
		return Value{}, err
	}
	end := p.pos
	if p.space(); p.pos < len(data) {
		return Value{}, p.expected("the end of the document")
	}
	return Value{data[start:end:end]}, nil
}

// parser validates a document by recursive descent.
type parser struct {
	data  []byte
	pos   int
	depth int
	keys  []uint32 // where the keys of the objects now open begin, innermost object last
	seen  []uint32 // hash table of one object's keys, see duplicates.go
}

// value validates one value, which begins at pos.
func (p *parser) value() error {
	switch c := p.peek(); c {
	case '{':
		return p.nested(p.object)
	case '[':
		return p.nested(p.array)
	case '"':
		return p.str()
	case 't':
		return p.literal("true")
	case 'f':
		return p.literal("false")
	case 'n':
		return p.literal("null")
	case 'N':
		return p.literal("NaN")
	case 'I':
		return p.literal("Infinity")
	default:
		if c == '-' || isDigit(c) {
			return p.number()
		}
	}
	return p.expected("a value")
}

// nested validates an array or an object one level deeper.
func (p *parser) nested(container func() error) error {
	if p.depth++; p.depth > MaxDepth {
		return p.fail(p.pos, fmt.Sprintf("at most %d levels of nesting", MaxDepth), "more")
	}
	p.pos++
	err := container()
	p.depth--
	return err
}

func (p *parser) array() error {
	if p.space(); p.peek() == ']' {
		p.pos++
		return nil
	}
	for {
		p.space()
		if err := p.value(); err != nil {
			return err
		}
		p.space()
		switch p.peek() {
		case ',':
			p.pos++
		case ']':
			p.pos++
			return nil
		default:
			return p.expected("',' or ']'")
		}
	}
}

func (p *parser) object() error {
	outer := len(p.keys)
	defer func() { p.keys = p.keys[:outer] }()
	if p.space(); p.peek() == '}' {
		p.pos++
		return nil
	}
	for {
		if err := p.member(); err != nil {
			return err
		}
		switch p.peek() {
		case ',':
			p.pos++
		case '}':
			p.pos++
			return p.refuseDuplicates(p.keys[outer:])
		default:
			return p.expected("',' or '}'")
		}
	}
}

// member validates `"key": value` and the white space around it.
func (p *parser) member() error {
	p.space()
	if p.peek() != '"' {
		return p.expected("a key in double quotes")
	}
	p.keys = append(p.keys, uint32(p.pos)) // MaxSize fits
	if err := p.str(); err != nil {
		return err
	}
	if p.space(); p.peek() != ':' {
		return p.expected("':'")
	}
	p.pos++
	p.space()
	if err := p.value(); err != nil {
		return err
	}
	p.space()
	return nil
}

func (p *parser) literal(word string) error {
	switch rest := p.data[p.pos:]; {
	case bytes.HasPrefix(rest, []byte(word)):
	case bytes.HasPrefix([]byte(word), rest): // the document ends within the word
		p.pos = len(p.data)
		fallthrough
	default:
		return p.expected("a value")
	}
	p.pos += len(word)
	return nil
}

// str validates a string, from its opening to its closing quote.
func (p *parser) str() error {
	for p.pos++; ; p.pos++ {
		if p.pos == len(p.data) {
			return p.expected("a closing '\"'")
		}
		switch c := p.data[p.pos]; {
		case c == '"':
			p.pos++
			return nil
		case c == '\\':
			if err := p.escape(); err != nil {
				return err
			}
		case c < ' ':
			return p.expected("an escape sequence for a control character")
		}
	}
}

// escape validates an escape sequence and leaves pos at its last byte.
func (p *parser) escape() error {
	p.pos++
	switch p.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
		for range 4 {
			if p.pos++; !isHex(p.peek()) {
				return p.expected("four hexadecimal digits after \\u")
			}
		}
		return nil
	}
	return p.expected("one of \"\\/bfnrtu after a backslash")
}

func (p *parser) number() error {
	if p.peek() == '-' {
		if p.pos++; p.peek() == 'I' {
			return p.literal("Infinity")
		}
	}
	if p.peek() == '0' {
		p.pos++
	} else if !p.digits() {
		return p.expected("a digit")
	}
	if p.peek() == '.' {
		if p.pos++; !p.digits() {
			return p.expected("a digit after the decimal point")
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.pos++
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		if !p.digits() {
			return p.expected("a digit in the exponent")
		}
	}
	return nil
}

// digits skips digits and reports whether there was one.
func (p *parser) digits() bool {
	start := p.pos
	for isDigit(p.peek()) {
		p.pos++
	}
	return p.pos > start
}

// peek returns the byte at pos, 0 at the end. A NUL in the document is not a token, so the two need
// no distinction here.
func (p *parser) peek() byte {
	if p.pos < len(p.data) {
		return p.data[p.pos]
	}
	return 0
}

func (p *parser) space() { p.pos = skipSpace(p.data, p.pos) }

// expected is the error for an unwelcome byte at pos.
func (p *parser) expected(what string) error {
	if p.pos >= len(p.data) {
		return p.fail(len(p.data), what, "the end of the document")
	}
	return p.fail(p.pos, what, fmt.Sprintf("%q", rune(p.data[p.pos])))
}

func (p *parser) fail(at int, expected, found string) error {
	before := p.data[:at]
	return &SyntaxError{
		Offset:   at,
		Line:     bytes.Count(before, []byte("\n")) + 1,
		Column:   at - bytes.LastIndexByte(before, '\n'),
		Expected: expected,
		Found:    found,
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

package npy

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// LiteralKind says what a Literal is.
type LiteralKind uint8

// The kinds of Python literals that headers are made of.
const (
	Invalid LiteralKind = iota // the zero Literal
	String
	Int
	Bool
	None
	TupleOf
	List
	Dict
)

// String returns the kind's Python name.
func (k LiteralKind) String() string {
	return [...]string{"nothing", "str", "int", "bool", "None", "tuple", "list", "dict"}[k]
}

// Literal is a parsed Python literal.
type Literal struct {
	Kind   LiteralKind
	Text   string    // of a String, its value
	Int    int64     // of an Int, its value; of a Bool, 0 or 1
	Items  []Literal // of a TupleOf or List; of a Dict, keys and values in turn
	Source string    // the text it was parsed from
}

// maxDepth bounds nesting; data types nest a handful of levels.
const maxDepth = 64

// ParseLiteral parses one Python literal and the white space around it: plain
// strings, 64-bit decimal integers, True, False, None, tuples, lists and dicts.
// It evaluates nothing.
func ParseLiteral(text string) (Literal, error) {
	p := literalParser{text: text}
	value, err := p.value(0)
	if err != nil {
		return Literal{}, err
	}
	p.space()
	if p.at < len(text) {
		return Literal{}, p.unexpected("the end")
	}
	return value, nil
}

// literalParser walks over text; at is the next byte.
type literalParser struct {
	text string
	at   int
}

func (p *literalParser) unexpected(want string) error {
	found := "the end"
	if p.at < len(p.text) {
		found = strconv.Quote(p.text[p.at:min(p.at+20, len(p.text))])
	}
	return fmt.Errorf("python literal: expected %s at byte %d, found %s", want, p.at, found)
}

func (p *literalParser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n\f", p.text[p.at]) >= 0 {
		p.at++
	}
}

// take steps over c, if it comes next after white space.
func (p *literalParser) take(c byte) bool {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *literalParser) value(depth int) (Literal, error) {
	if depth > maxDepth {
		return Literal{}, p.unexpected(fmt.Sprintf("at most %d levels", maxDepth))
	}
	p.space()
	start := p.at
	value, err := p.bare(depth)
	value.Source = p.text[start:p.at]
	return value, err
}

// bare parses a value without noting its source.
func (p *literalParser) bare(depth int) (Literal, error) {
	switch {
	case p.take('('):
		return p.tuple(depth)
	case p.take('['):
		items, _, err := p.items(']', depth)
		return Literal{Kind: List, Items: items}, err
	case p.take('{'):
		return p.dict(depth)
	case p.at < len(p.text) && (p.text[p.at] == '\'' || p.text[p.at] == '"'):
		text, err := p.str()
		return Literal{Kind: String, Text: text}, err
	}
	return p.word()
}

// tuple parses what follows "(": a tuple, or one value in parentheses.
func (p *literalParser) tuple(depth int) (Literal, error) {
	items, comma, err := p.items(')', depth)
	if err == nil && len(items) == 1 && !comma {
		return items[0], nil
	}
	return Literal{Kind: TupleOf, Items: items}, err
}

// items parses values up to the closing bracket; comma reports whether one closed the list.
func (p *literalParser) items(end byte, depth int) (items []Literal, comma bool, err error) {
	for !p.take(end) {
		if len(items) > 0 && !comma {
			return nil, false, p.unexpected("a comma or " + string(end))
		}
		item, err := p.value(depth + 1)
		if err != nil {
			return nil, false, err
		}
		items = append(items, item)
		comma = p.take(',')
	}
	return items, comma, nil
}

// dict parses what follows "{".
func (p *literalParser) dict(depth int) (Literal, error) {
	dict := Literal{Kind: Dict}
	for comma := true; !p.take('}'); comma = p.take(',') {
		if !comma {
			return dict, p.unexpected("a comma or }")
		}
		key, err := p.value(depth + 1)
		if err != nil {
			return dict, err
		}
		if !p.take(':') {
			return dict, p.unexpected("a colon")
		}
		value, err := p.value(depth + 1)
		if err != nil {
			return dict, err
		}
		dict.Items = append(dict.Items, key, value)
	}
	return dict, nil
}

// word parses an integer or a name.
func (p *literalParser) word() (Literal, error) {
	start := p.at
	for p.at < len(p.text) && isWordByte(p.text[p.at], p.at == start) {
		p.at++
	}
	word := p.text[start:p.at]
	switch word {
	case "True":
		return Literal{Kind: Bool, Int: 1}, nil
	case "False":
		return Literal{Kind: Bool}, nil
	case "None":
		return Literal{Kind: None}, nil
	}
	n, err := strconv.ParseInt(word, 10, 64)
	digits := strings.TrimLeft(word, "+-")
	if err != nil || len(digits) > 1 && digits[0] == '0' {
		p.at = start
		return Literal{}, p.unexpected("a literal")
	}
	return Literal{Kind: Int, Int: n}, nil
}

func isWordByte(c byte, first bool) bool {
	letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	return letter || first && (c == '-' || c == '+')
}

// str parses a quoted string.
func (p *literalParser) str() (string, error) {
	quote := p.text[p.at]
	p.at++
	var out strings.Builder
	for p.at < len(p.text) {
		c := p.text[p.at]
		switch {
		case c == quote:
			p.at++
			return out.String(), nil
		case c == '\n' || c == '\r':
			return "", p.unexpected("a closing quote")
		case c == '\\':
			if err := p.escape(&out); err != nil {
				return "", err
			}
		default:
			out.WriteByte(c)
			p.at++
		}
	}
	return "", p.unexpected("a closing quote")
}

// simpleEscapes are the escapes of one letter.
var simpleEscapes = map[byte]byte{
	'\\': '\\', '\'': '\'', '"': '"', 'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r',
	't': '\t', 'v': '\v',
}

// escapeDigits are the hexadecimal digits that follow \x, \u and \U.
var escapeDigits = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// escape parses a backslash and what belongs to it. Octal and \N{…} are refused:
// Python's repr writes neither.
func (p *literalParser) escape(out *strings.Builder) error {
	if p.at+1 >= len(p.text) {
		return p.unexpected("an escape")
	}
	letter := p.text[p.at+1]
	if c, ok := simpleEscapes[letter]; ok {
		out.WriteByte(c)
		p.at += 2
		return nil
	}
	digits, ok := escapeDigits[letter]
	if !ok || p.at+2+digits > len(p.text) {
		return p.unexpected("an escape")
	}
	code, err := strconv.ParseUint(p.text[p.at+2:p.at+2+digits], 16, 32)
	if err != nil || !utf8.ValidRune(rune(code)) || code > utf8.MaxRune {
		return p.unexpected("a character's hexadecimal code")
	}
	out.WriteRune(rune(code))
	p.at += 2 + digits
	return nil
}

package pyjson

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Standard returns v as strict JSON without white space, members in their order and numbers as they
// are written. The bare tokens NaN, Infinity and -Infinity become strings, as Zarr writes them in
// fill values, and bytes that are not UTF-8 become U+FFFD.
func (v Value) Standard() []byte {
	p := printer{limit: -1}
	p.print(v.raw)
	return p.out
}

// Compact returns what Standard returns, except that the bare tokens stay as they are.
func (v Value) Compact() []byte {
	p := printer{limit: -1, bare: true}
	p.print(v.raw)
	return p.out
}

// Indented returns what Standard returns, with each element and member on its own line, indented by
// its depth. A large document that would more than double by its white space is returned without
// it.
func (v Value) Indented(indent string) []byte {
	p := printer{pretty: true, indent: indent, limit: 2*len(v.raw) + 64<<10}
	if !p.print(v.raw) {
		return v.Standard()
	}
	return p.out
}

// Python returns v as Python's json.dumps(v, indent=…) writes it: laid out as Indented does, the
// bare tokens as they are, and characters outside ASCII as escape sequences. Numbers and escape
// sequences stay as they are written.
func (v Value) Python(indent string) []byte {
	p := printer{pretty: true, indent: indent, python: true, limit: 2*len(v.raw) + 64<<10}
	if !p.print(v.raw) {
		p = printer{python: true, limit: -1}
		p.print(v.raw)
	}
	return p.out
}

// printer writes validated text again.
type printer struct {
	out    []byte
	pretty bool // each element and member on a line of its own
	spaced bool // on one line, with a space behind each comma and colon
	indent string
	limit  int  // give up when out is longer; -1: never
	depth  int  // of the value within its document
	keep   bool // scalars stay as they are written
	python bool // as Value.Python says
	bare   bool // the tokens NaN, Infinity and -Infinity stay as they are

	numbers bool // strings of these names become the tokens
}

// print writes b, which is one value; it reports whether out stayed within its limit. It goes token
// by token, not value by value, so its time does not depend on the depth.
func (p *printer) print(b []byte) bool {
	p.out = make([]byte, 0, len(b)+len(b)/8)
	for i := skipSpace(b, 0); i < len(b); i = skipSpace(b, i) {
		switch b[i] {
		case '{', '[':
			i = p.open(b, i)
		case '}', ']':
			p.depth--
			p.newline()
			p.out = append(p.out, b[i])
			i++
		case ',':
			p.out = append(p.out, ',')
			p.newline()
			p.space(p.spaced)
			i++
		case ':':
			p.out = append(p.out, ':')
			p.space(p.pretty || p.spaced)
			i++
		default:
			end := valueEnd(b, i)
			if raw := b[i:end]; p.numbers && !isKey(b, end) && isNonFinite(unquoted(raw)) {
				p.out = append(p.out, unquoted(raw)...)
			} else {
				p.scalar(raw)
			}
			i = end
		}
		if p.limit >= 0 && len(p.out) > p.limit {
			return false
		}
	}
	return true
}

// open writes the beginning of a container, all of it if it is empty, and returns where to go on.
func (p *printer) open(b []byte, i int) int {
	p.out = append(p.out, b[i])
	next := skipSpace(b, i+1)
	if b[next] == '}' || b[next] == ']' {
		p.out = append(p.out, b[next])
		return next + 1
	}
	p.depth++
	p.newline()
	return next
}

// scalar writes anything but an array or object, keys too.
func (p *printer) scalar(raw []byte) {
	if p.keep {
		p.out = append(p.out, raw...)
		return
	}
	if p.python {
		p.out = AppendASCII(p.out, raw)
		return
	}
	if isNonFinite(raw) && !p.bare {
		p.out = append(append(append(p.out, '"'), raw...), '"')
		return
	}
	p.out = append(p.out, replaceInvalid(raw)...)
}

func (p *printer) newline() {
	if p.pretty {
		p.out = append(p.out, '\n')
		p.out = append(p.out, strings.Repeat(p.indent, p.depth)...)
	}
}

func (p *printer) space(wanted bool) {
	if wanted {
		p.out = append(p.out, ' ')
	}
}

// AppendASCII appends text with what is not ASCII as escape sequences of UTF-16, and bytes that are
// not UTF-8 as U+FFFD's.
func AppendASCII(out, text []byte) []byte {
	for _, r := range string(text) {
		switch {
		case r < utf8.RuneSelf:
			out = append(out, byte(r))
		case r <= 0xffff:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		}
	}
	return out
}

// Package terminal writes text so that none of its characters can change how a terminal shows other
// text, or begin a line of a log. The author of a store chooses its names, attributes and paths.
package terminal

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isPlain reports whether a terminal shows a character as itself and goes on to the next cell. It
// does not do so for controls (C0, DEL and C1), nor for separators of lines and paragraphs, nor for
// characters that format text. Marks that change its direction are among the latter.
func isPlain(r rune) bool {
	return ' ' <= r && r < 0x7f || r > 0x9f && !unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// Line returns s with each character that is not plain, tabs and the ends of lines too, as an
// escape of Go: \n, \x1b, \u202e. A byte that is not UTF-8 is \xff.
func Line(s string) string { return escape(s, "", inGo) }

// Text is Line for text of several lines: it keeps the ends of lines and tabs.
func Text(s string) string { return escape(s, "\n\t", inGo) }

// JSON returns the same document, with each character that is not plain as an escape of JSON. What
// is between strings stays. A byte that is not UTF-8 becomes U+FFFD.
func JSON(doc string) string { return escape(doc, "\n\t\r", inJSON) }

func escape(s, keep string, in func(b *strings.Builder, r rune, raw string)) string {
	var b strings.Builder
	done := 0
	for at := 0; at < len(s); {
		r, n := utf8.DecodeRuneInString(s[at:])
		if invalid := r == utf8.RuneError && n == 1; invalid || !isPlain(r) &&
			!strings.ContainsRune(keep, r) {
			b.WriteString(s[done:at])
			in(&b, r, s[at:at+n])
			done = at + n
		}
		at += n
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// inGo writes a character, which is raw in the text, as an escape of Go.
func inGo(b *strings.Builder, r rune, raw string) {
	switch {
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\t':
		b.WriteString(`\t`)
	case r == '\r':
		b.WriteString(`\r`)
	case len(raw) == 1:
		fmt.Fprintf(b, `\x%02x`, raw[0])
	case r <= 0xffff:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\U%08x`, r)
	}
}

// inJSON writes a character as an escape of JSON, in which those beyond U+FFFF are two.
func inJSON(b *strings.Builder, r rune, _ string) {
	if r <= 0xffff {
		fmt.Fprintf(b, `\u%04x`, r)
		return
	}
	r -= 0x10000
	fmt.Fprintf(b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
}

// writer makes what is written through it safe.
type writer struct {
	w    io.Writer
	safe func(string) string
	rest []byte // the beginning of a character that a Write has cut
}

// NewWriter returns a writer of text to w, as Text has it. What is written to it is written at
// once, except a character that is cut.
func NewWriter(w io.Writer) io.Writer { return &writer{w: w, safe: Text} }

// NewJSONWriter returns a writer of JSON to w, as JSON has it.
func NewJSONWriter(w io.Writer) io.Writer { return &writer{w: w, safe: JSON} }

// Write writes p, and what an earlier one has left of a character.
func (w *writer) Write(p []byte) (int, error) {
	text := append(w.rest, p...)
	whole := len(text) - cut(text)
	w.rest = append([]byte(nil), text[whole:]...)
	if _, err := io.WriteString(w.w, w.safe(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// cut returns how many bytes at the end of p are the beginning of a character, of which the rest is
// missing.
func cut(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if tail := p[len(p)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return n
			}
			return 0
		}
	}
	return 0
}

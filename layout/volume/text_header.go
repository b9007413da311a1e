package volume

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// textLen is the length of the headers that are text, in bytes. Comments fill what is left.
const textLen = 4096

// direction returns a vector of n numbers: step at position at, and otherwise zero.
func direction(step float64, at, n int) []string {
	v := make([]string, n)
	for i := range v {
		v[i] = "0"
	}
	v[at] = decimal(step)
	return v
}

func has(axes []Axis, is func(Axis) bool) bool {
	for _, a := range axes {
		if is(a) {
			return true
		}
	}
	return false
}

// each returns what text says of each axis, a space before each.
func each(axes []Axis, text func(Axis) string) string {
	return " " + strings.Join(fieldsOf(axes, text), " ")
}

func fieldsOf(axes []Axis, text func(Axis) string) []string {
	all := make([]string, len(axes))
	for i, a := range axes {
		all[i] = text(a)
	}
	return all
}

// decimal returns the shortest text that reads as f.
func decimal(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// plain returns s without what would end a line.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

// lines is a header of lines of text.
type lines struct{ bytes.Buffer }

// add adds a line that the header must have.
func (h *lines) add(line string) { h.WriteString(line + "\n") }

// some adds a line if there is room for it.
func (h *lines) some(line string) {
	if h.Len()+len(line)+16 <= textLen {
		h.add(line)
	}
}

// filled returns the header, filled up to its length by a comment that begins with mark, and with
// end behind that.
func (h *lines) filled(mark, end string) ([]byte, error) {
	left := textLen - h.Len() - len(mark) - 1 - len(end)
	if left < 0 {
		return nil, fmt.Errorf("a header of %d bytes: %w", h.Len(), ErrNot)
	}
	h.add(mark + strings.Repeat("-", left))
	h.WriteString(end)
	return h.Bytes(), nil
}

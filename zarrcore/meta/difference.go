package meta

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// immutable is the error for a member that may not change. It names the first value in it that
// differs, and shows that.
func immutable(member string, stored, posted pyjson.Value) error {
	for range pathMost {
		where, a, b := firstDifference(stored, posted)
		if where == "" {
			break
		}
		member, stored, posted = member+where, a, b
	}
	expected, found := whole(stored), whole(posted)
	return &Error{
		Member:   member,
		Expected: around(expected, found) + ", which cannot be changed",
		Found:    around(found, expected),
		Kind:     ErrInvalid,
	}
}

// pathMost is how deep an error looks into a member.
const pathMost = 8

// firstDifference returns where in two values the first difference is, and what they have there. It
// returns "" if they differ as a whole: in their kind, or in how many elements a list has.
func firstDifference(stored, posted pyjson.Value) (where string, a, b pyjson.Value) {
	switch {
	case stored.Kind() != posted.Kind():
	case stored.Kind() == pyjson.Object:
		for key, value := range stored.Entries() {
			if other := posted.Get(key); !pyjson.Equal(value, other) {
				return "." + key, value, other
			}
		}
		for key, value := range posted.Entries() {
			if !stored.Get(key).Exists() {
				return "." + key, pyjson.Value{}, value
			}
		}
	case stored.Kind() == pyjson.Array && stored.Len() == posted.Len():
		others := posted.Elems()
		for i, value := range stored.Elems() {
			if !pyjson.Equal(value, others[i]) {
				return fmt.Sprintf("[%d]", i), value, others[i]
			}
		}
	}
	return "", stored, posted
}

// whole returns a value as it is written, on one line.
func whole(v pyjson.Value) string {
	if !v.Exists() {
		return "nothing"
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(v.Raw()), "\uFFFD")), " ")
}

// around returns a text with no more of it than its beginning, and what is near the first place
// where it differs from another one.
func around(text, other string) string {
	const most, before, start = 60, 10, 20 // in bytes
	if len(text) <= most {
		return text
	}
	differs := 0
	for differs < min(len(text), len(other)) && text[differs] == other[differs] {
		differs++
	}
	from := runeAt(text, min(differs-before, len(text)-(most-start)))
	if from <= start {
		return text[:runeAt(text, most)] + "…"
	}
	to := runeAt(text, from+most-start)
	end := "…"
	if to == len(text) {
		end = ""
	}
	return text[:runeAt(text, start)] + "…" + text[from:to] + end
}

// runeAt returns the last place up to i where a character begins, or the text ends.
func runeAt(text string, i int) int {
	for i = min(i, len(text)); i > 0 && i < len(text) && !utf8.RuneStart(text[i]); i-- {
	}
	return max(i, 0)
}

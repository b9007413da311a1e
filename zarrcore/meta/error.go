package meta

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// Error says which member of a document cannot be used, and why. It wraps ErrInvalid or
// errors.ErrUnsupported, and the cause where there is one.
type Error struct {
	Member          string // such as "codecs[1].name", "" for the document as a whole
	Expected, Found string // empty if Cause says it
	Kind            error  // ErrInvalid or errors.ErrUnsupported
	Cause           error  // what another package says, or nil
}

// Error says which member, what was expected and what was found.
func (e *Error) Error() string {
	text := fmt.Sprintf("expected %s, found %s", e.Expected, e.Found)
	if e.Cause != nil {
		text = strings.TrimPrefix(e.Cause.Error(), "dtype: ") // the member says it
	}
	if e.Member == "" {
		return text
	}
	return e.Member + ": " + text
}

// Unwrap returns the kind of error and its cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}

// invalid is the error for a member that is not what it must be.
func invalid(member, expected string, found pyjson.Value) error {
	return &Error{Member: member, Expected: expected, Found: show(found), Kind: ErrInvalid}
}

// unsupported is the error for a member that asks for something unknown.
func unsupported(member, expected string, found pyjson.Value) error {
	return &Error{Member: member, Expected: expected, Found: show(found),
		Kind: errors.ErrUnsupported}
}

// because is the error of another package about a member.
func because(member string, cause error) error {
	kind := ErrInvalid
	if errors.Is(cause, errors.ErrUnsupported) {
		kind = errors.ErrUnsupported
	}
	return &Error{Member: member, Kind: kind, Cause: cause}
}

// show returns a value as it is written, for an error message: on one line, and not much of it.
func show(v pyjson.Value) string {
	const most = 60
	if !v.Exists() {
		return "nothing"
	}
	raw := v.Raw()
	if len(raw) > 4*most { // Fields below looks at all of it
		raw = raw[:4*most]
	}
	line := bytes.Join(bytes.Fields(bytes.ToValidUTF8(raw, []byte("\uFFFD"))), []byte(" "))
	if len(line) <= most {
		return string(line)
	}
	cut := most
	for !utf8.RuneStart(line[cut]) {
		cut--
	}
	return string(line[:cut]) + "…"
}

// knownNames lists the names that an extension point knows, for an error message.
func knownNames[V any](registry map[string]V) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(registry)) {
		names = append(names, strconv.Quote(name))
	}
	return enumerate(names, "or")
}

// enumerate joins names to a text: "a, b or c".
func enumerate(names []string, last string) string {
	n := len(names) - 1
	if n == 0 {
		return names[0]
	}
	return strings.Join(names[:n], ", ") + " " + last + " " + names[n]
}

// firstError keeps the first of several errors, so that reading can go on after it.
type firstError struct{ err error }

func (f *firstError) note(err error) {
	if f.err == nil {
		f.err = err
	}
}

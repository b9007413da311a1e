package meta

import (
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// Python writes NaN and the infinities as bare tokens, which jq takes, and R's jsonlite and
// JavaScript do not. So they are shown as strings. A member of the document has JSON pointers of
// the attributes that are numbers in truth, and a copy of the document brings them back. It is an
// object with must_understand false, which readers of format 3 pass over.
const (
	nonFiniteMember = "zarrfs_non_finite"
	pointersMember  = "pointers"
	toAttributes    = "/attributes" // begins each pointer
)

// strict returns a document as strict JSON.
func strict(root pyjson.Value) []byte {
	if found := root.Get("attributes").NonFinite(); len(found) > 0 {
		list := make([]pyjson.Value, len(found))
		for i, pointer := range found {
			list[i] = pyjson.StringOf(toAttributes + pointer)
		}
		root = root.With(nonFiniteMember, pyjson.Empty.
			With(pointersMember, pyjson.ArrayOf(list...)).
			With("must_understand", pyjson.BoolOf(false)))
	}
	return append(root.Indented(indent), '\n')
}

// WithNumbers returns a document as one is shown, with the attributes that stand for non-finite
// numbers as bare tokens.
func WithNumbers(doc []byte) []byte {
	root, err := pyjson.Parse(doc)
	if err != nil || !root.Get(nonFiniteMember).Exists() {
		return doc
	}
	var pointers []string
	for pointer := range root.Get(nonFiniteMember).Get(pointersMember).Elements() {
		if rest, ok := strings.CutPrefix(pointer.Text(), toAttributes); ok {
			pointers = append(pointers, rest)
		}
	}
	changes := []member{{nonFiniteMember, pyjson.Value{}}}
	if attributes := root.Get("attributes"); attributes.Exists() {
		changes = append(changes, member{"attributes", attributes.WithNonFinite(pointers)})
	}
	return changed(doc, changes...)
}

// sameAttributes reports whether posted attributes, or one of them, mean what is stored. If any of
// the posted ones are non-finite numbers, the document says which, and a string is no such number.
// Otherwise it may come from a program that knows only what is shown.
func sameAttributes(stored, posted pyjson.Value, exact bool) bool {
	if exact {
		return pyjson.EqualNumbers(stored, posted)
	}
	return pyjson.Equal(stored, posted)
}

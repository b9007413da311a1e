package meta

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

const indent = "  " // of documents that are written anew

// verbatim returns a document as it is stored if every JSON parser takes it, else as strict JSON.
func verbatim(doc []byte, root pyjson.Value) []byte {
	if json.Valid(doc) && utf8.Valid(doc) {
		return doc
	}
	return append(root.Indented(indent), '\n')
}

// join makes one document of an array's or group's own and of its attributes, which may be absent.
func join(root, attributes pyjson.Value) []byte {
	if attributes.Exists() {
		members := without(root, "attributes") // no version before 3 has such a member
		root = pyjson.ObjectOf(func(yield func(string, pyjson.Value) bool) {
			for key, value := range members.Entries() {
				if !yield(key, value) {
					return
				}
			}
			yield("attributes", attributes)
		})
	}
	return append(root.Indented(indent), '\n')
}

// without returns an object with one member left out.
func without(object pyjson.Value, dropped string) pyjson.Value {
	return pyjson.ObjectOf(func(yield func(string, pyjson.Value) bool) {
		for key, value := range object.Entries() {
			if key != dropped && !yield(key, value) {
				return
			}
		}
	})
}

// made is the value of JSON text written in this package.
func made(text string) pyjson.Value {
	v, err := pyjson.Parse([]byte(text))
	if err != nil {
		return pyjson.Value{} // not with the texts of this package, which the tests hold
	}
	return v
}

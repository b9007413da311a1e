package meta

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

const indent = "  " // of documents that are written again

// verbatim returns a document as it is stored if every JSON parser takes it, otherwise as strict
// JSON.
func verbatim(doc []byte, root pyjson.Value) []byte {
	if json.Valid(doc) && utf8.Valid(doc) {
		return doc
	}
	return strict(root)
}

// join makes one document of an array's or group's own and of its attributes, which may be absent.
func join(root, attributes pyjson.Value) []byte {
	if attributes.Exists() {
		// no version before 3 has such a member
		root = root.Without("attributes").With("attributes", attributes)
	}
	return strict(root)
}

// made is the value of JSON text written in this package.
func made(text string) pyjson.Value {
	v, err := pyjson.Parse([]byte(text))
	if err != nil {
		return pyjson.Value{} // not with the texts of this package, which the tests hold
	}
	return v
}

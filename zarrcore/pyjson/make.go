package pyjson

import (
	"bytes"
	"encoding/json"
	"iter"
)

// ObjectOf makes an object of the given members, whose values are copied as they are written. The caller sees to it that no
// key comes twice.
func ObjectOf(members iter.Seq2[string, Value]) Value {
	raw := []byte{'{'}
	for key, value := range members {
		if len(raw) > 1 {
			raw = append(raw, ',')
		}
		raw = append(raw, Quote(key)...)
		raw = append(raw, ':')
		raw = append(raw, value.raw...)
	}
	return Value{append(raw, '}')}
}

// Quote returns a string as JSON writes it.
func Quote(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(s) // a string in memory: cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

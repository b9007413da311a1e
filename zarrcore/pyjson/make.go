package pyjson

import (
	"bytes"
	"encoding/json"
	"iter"
	"math"
	"strconv"
)

// ObjectOf makes an object of the given members, whose values are copied as they are written. The
// caller sees to it that no key comes twice.
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

// Empty is an object without members, for With.
var Empty = Value{[]byte("{}")}

// With returns an object with one member set to a value: in its place, or as the last one if there
// is none of that key.
func (v Value) With(key string, value Value) Value {
	found := false
	return ObjectOf(func(yield func(string, Value) bool) {
		for k, old := range v.Entries() {
			if k == key {
				found, old = true, value
			}
			if !yield(k, old) {
				return
			}
		}
		if !found {
			yield(key, value)
		}
	})
}

// Without returns an object without the member of that key.
func (v Value) Without(key string) Value {
	return ObjectOf(func(yield func(string, Value) bool) {
		for k, value := range v.Entries() {
			if k != key && !yield(k, value) {
				return
			}
		}
	})
}

// ArrayOf makes an array of the given values, which are copied as they are written.
func ArrayOf(elements ...Value) Value {
	raw := []byte{'['}
	for i, e := range elements {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(raw, e.raw...)
	}
	return Value{append(raw, ']')}
}

// StringOf makes a string.
func StringOf(s string) Value { return Value{Quote(s)} }

// IntOf makes a number.
func IntOf(n int64) Value { return Value{strconv.AppendInt(nil, n, 10)} }

// UintOf makes a number.
func UintOf(n uint64) Value { return Value{strconv.AppendUint(nil, n, 10)} }

// FloatOf makes a number, as Python writes it; NaN and the infinities are bare tokens.
func FloatOf(f float64) Value {
	switch {
	case math.IsNaN(f):
		return Value{[]byte("NaN")}
	case math.IsInf(f, 1):
		return Value{[]byte("Infinity")}
	case math.IsInf(f, -1):
		return Value{[]byte("-Infinity")}
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return Value{strconv.AppendFloat(nil, f, 'e', -1, 64)}
	}
	raw := strconv.AppendFloat(nil, f, 'f', -1, 64)
	if bytes.IndexByte(raw, '.') < 0 {
		raw = append(raw, ".0"...)
	}
	return Value{raw}
}

// BoolOf makes a boolean.
func BoolOf(b bool) Value { return Value{strconv.AppendBool(nil, b)} }

// IntsOf makes an array of numbers.
func IntsOf(all []int64) Value {
	raw := []byte{'['}
	for i, n := range all {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = strconv.AppendInt(raw, n, 10)
	}
	return Value{append(raw, ']')}
}

// Quote returns a string as JSON writes it.
func Quote(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(s) // a string in memory: cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

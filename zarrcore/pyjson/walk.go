package pyjson

import "iter"

// The functions of this file walk through text that Parse has validated, so they look for ends
// only, and need no checks.

// Len returns the number of elements of an array or members of an object, 0 for anything else.
func (v Value) Len() int {
	n := 0
	for range v.children() {
		n++
	}
	return n
}

// Elems returns the elements of an array, nil for anything else.
func (v Value) Elems() []Value {
	var all []Value
	for e := range v.Elements() {
		all = append(all, e)
	}
	return all
}

// Elements runs through the elements of an array without holding them all.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != Array {
			return
		}
		for _, e := range v.children() {
			if !yield(e) {
				return
			}
		}
	}
}

// Entries runs through the members of an object without holding them all.
func (v Value) Entries() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != Object {
			return
		}
		for key, value := range v.children() {
			if !yield(text(key), value) {
				return
			}
		}
	}
}

// Get returns the member of that key, or the zero Value if v has none or is not an object. Each
// call walks through the object.
func (v Value) Get(key string) Value {
	if v.Kind() != Object {
		return Value{}
	}
	for k, value := range v.children() {
		if sameText(k, key) {
			return value
		}
	}
	return Value{}
}

// children runs through the members of an object, keys as they are written with their quotes, or
// through the elements of an array, keys nil.
func (v Value) children() iter.Seq2[[]byte, Value] {
	return func(yield func([]byte, Value) bool) {
		kind, b := v.Kind(), v.raw
		if kind != Array && kind != Object {
			return
		}
		for i := skipSpace(b, 1); b[i] != ']' && b[i] != '}'; {
			var key []byte
			if kind == Object {
				end := stringEnd(b, i)
				key = b[i:end]
				i = skipSpace(b, skipSpace(b, end)+1) // over the colon
			}
			end := valueEnd(b, i)
			if !yield(key, Value{b[i:end:end]}) {
				return
			}
			if i = skipSpace(b, end); b[i] == ',' {
				i = skipSpace(b, i+1)
			}
		}
	}
}

// skipSpace returns the offset of the first byte at or after i that is not white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// stringEnd returns the offset behind the string whose opening quote is at i.
func stringEnd(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// valueEnd returns the offset behind the value that begins at i.
func valueEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		return containerEnd(b, i)
	}
	for i < len(b) && b[i] != ',' && b[i] != ']' && b[i] != '}' && !isSpace(b[i]) {
		i++
	}
	return i
}

// containerEnd returns the offset behind the array or object that begins at i.
func containerEnd(b []byte, i int) int {
	for depth := 0; ; {
		switch b[i] {
		case '"':
			i = stringEnd(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
}

// Package pyjson reads JSON as Python writes it.
//
// Zarr's metadata is mostly written by Python's json module, which goes beyond RFC 8259: numbers
// may be the bare tokens NaN, Infinity and -Infinity, and a string may hold half of a surrogate
// pair ("\ud800"). This package takes both. Where JSON's readers disagree it is strict: keys are
// compared exactly as written, and a key that occurs twice in one object is an error.
//
// A document is validated once, by Parse, and then stays a slice of bytes: a Value is the stretch
// of source text it was written as, and its children are found again when they are asked for. So a
// document needs hardly more memory than its own bytes, however many values it holds. Numbers keep
// all their digits, and members keep their order.
package pyjson

// Kind is the sort of JSON value that a Value holds.
type Kind uint8

// The kinds of values. Invalid is the kind of the zero Value, which stands for an absent one.
const (
	Invalid Kind = iota
	Null
	Bool
	Number // also the bare tokens NaN, Infinity and -Infinity
	String
	Array
	Object
)

// String returns the kind's name as an error message would say it.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "a boolean"
	case Number:
		return "a number"
	case String:
		return "a string"
	case Array:
		return "an array"
	case Object:
		return "an object"
	}
	return "nothing"
}

// Value is one value of a parsed document, or the zero Value where there is none. It refers to the
// document's bytes, which must not change while it is used. Asking a Value of the wrong kind gives
// a zero answer, never a panic.
type Value struct {
	raw []byte // the value's own text, validated, without surrounding white space
}

// Kind says what sort of value v is. Valid JSON shows it by its first byte.
func (v Value) Kind() Kind {
	if len(v.raw) == 0 {
		return Invalid
	}
	switch v.raw[0] {
	case '{':
		return Object
	case '[':
		return Array
	case '"':
		return String
	case 't', 'f':
		return Bool
	case 'n':
		return Null
	}
	return Number
}

// Exists reports whether v is a value of the document, even null, rather than the zero Value.
func (v Value) Exists() bool { return len(v.raw) > 0 }

// Raw returns v as the document writes it. The bytes are the document's own and must not be
// changed.
func (v Value) Raw() []byte { return v.raw }

// Bool returns a boolean's value; ok is false if v is not one.
func (v Value) Bool() (b, ok bool) {
	if v.Kind() != Bool {
		return false, false
	}
	return v.raw[0] == 't', true
}

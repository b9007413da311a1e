package pyjson

import (
	"bytes"
	"math/big"
)

// maxEqualDepth bounds Equal, whose time grows with the depth: values nested deeper are equal only
// if they are spelled alike.
const maxEqualDepth = 64

// Equal reports whether two values mean the same, however they are spelled: members may be in any
// order, numbers are compared by their value, strings by their text. A bare NaN or Infinity equals
// the string of that name, as which Standard shows it. Two absent values are equal.
func Equal(a, b Value) bool { return equal(a, b, maxEqualDepth) }

func equal(a, b Value, depth int) bool {
	if bytes.Equal(a.raw, b.raw) {
		return true
	}
	if !a.Exists() || !b.Exists() {
		return false
	}
	if depth == 0 {
		return bytes.Equal(a.Standard(), b.Standard())
	}
	switch {
	case a.isText() && b.isText():
		return a.asText() == b.asText()
	case a.Kind() != b.Kind():
		return false
	case a.Kind() == Number:
		return sameNumber(string(a.raw), string(b.raw))
	case a.Kind() == Array:
		return equalElements(a.Elems(), b.Elems(), depth-1)
	case a.Kind() == Object:
		return equalMembers(a, b, depth-1)
	}
	return false // of the literals each has one spelling
}

// isText reports whether Standard shows v as a string.
func (v Value) isText() bool {
	return v.Kind() == String || v.Kind() == Number && bytes.ContainsAny(v.raw, "NI")
}

func (v Value) asText() string {
	if v.Kind() == String {
		return v.Text()
	}
	return string(v.raw)
}

// maxExponent bounds the numbers that are compared by their value.
const maxExponent = 4096

// sameNumber compares two finite numbers. Those of huge exponents are equal only if they are
// spelled alike.
func sameNumber(a, b string) bool {
	x, okX := exact(a)
	y, okY := exact(b)
	// -0.0 is not 0.0
	return okX && okY && x.Cmp(y) == 0 && (x.Sign() != 0 || a[0] == '-' == (b[0] == '-'))
}

// exact reads a number of reasonable length.
func exact(s string) (*big.Rat, bool) {
	if len(s) > maxExponent {
		return nil, false
	}
	if at := bytes.IndexAny([]byte(s), "eE"); at >= 0 {
		digits := bytes.TrimLeft([]byte(s[at+1:]), "+-0")
		if len(digits) > 4 || len(digits) == 4 && string(digits) > "4096" {
			return nil, false
		}
	}
	return new(big.Rat).SetString(s)
}

func equalElements(a, b []Value, depth int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !equal(a[i], b[i], depth) {
			return false
		}
	}
	return true
}

func equalMembers(a, b Value, depth int) bool {
	others := map[string]Value{}
	for key, value := range b.Entries() {
		others[key] = value
	}
	n := 0
	for key, value := range a.Entries() {
		other, ok := others[key]
		if !ok || !equal(value, other, depth) {
			return false
		}
		n++
	}
	return n == len(others)
}

package pyjson

import (
	"math"
	"strconv"
	"strings"
)

// Int64 returns a number's value if it is an integer of that range, however it is written: 3, 3.0
// and 3e0 are the same.
func (v Value) Int64() (int64, bool) {
	negative, magnitude, ok := v.integer()
	if !ok {
		return 0, false
	}
	if negative {
		return -int64(magnitude), magnitude <= 1<<63
	}
	return int64(magnitude), magnitude <= math.MaxInt64
}

// Uint64 returns a number's value if it is an integer of that range, however it is written.
func (v Value) Uint64() (uint64, bool) {
	negative, magnitude, ok := v.integer()
	if !ok || negative && magnitude != 0 {
		return 0, false
	}
	return magnitude, true
}

// Float64 returns a number's nearest float64. NaN, Infinity and -Infinity are what they say, and a
// number too large for a float64 is infinite, as in Python.
func (v Value) Float64() (float64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v.raw), 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

// integer returns a number's sign and magnitude if it is integral and the magnitude fits 64 bits.
func (v Value) integer() (negative bool, magnitude uint64, ok bool) {
	if v.Kind() != Number {
		return false, 0, false
	}
	digits, negative := strings.CutPrefix(string(v.raw), "-")
	if magnitude, err := strconv.ParseUint(digits, 10, 64); err == nil {
		return negative, magnitude, true
	}
	digits, ok = plainDigits(digits)
	if !ok {
		return false, 0, false
	}
	magnitude, err := strconv.ParseUint(digits, 10, 64)
	return negative, magnitude, err == nil
}

// plainDigits writes a number like 12.50e3 as plain digits, 12500; ok is false if it has a fraction
// or more digits than any 64-bit integer.
func plainDigits(s string) (digits string, ok bool) {
	exponent := 0
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		var err error
		// out of range: its sign is what counts
		if exponent, err = strconv.Atoi(s[at+1:]); err != nil {
			exponent = clampedExponent(s[at+1:])
		}
		s = s[:at]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	fraction = strings.TrimRight(fraction, "0")
	digits = strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0", true
	}
	zeros := exponent - len(fraction)
	if zeros < 0 { // a whole number of tens may still be cut
		trimmed := strings.TrimRight(digits, "0")
		if len(digits)-len(trimmed) < -zeros {
			return "", false
		}
		return digits[:len(digits)+zeros], true
	}
	if zeros > 20 {
		return "", false
	}
	return digits + strings.Repeat("0", zeros), true
}

// clampedExponent stands for an exponent too large for an int: no document has as many digits.
func clampedExponent(s string) int {
	if strings.HasPrefix(s, "-") {
		return -MaxSize * 2
	}
	return MaxSize * 2
}

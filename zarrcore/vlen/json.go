package vlen

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// short are the characters that JSON may write as a backslash and a letter.
var short = [0x80]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// isSpecial reports whether a byte of a string has to be escaped.
func isSpecial(c byte) bool { return c < 0x20 || c == '"' || c == '\\' }

// AppendString appends a string of valid UTF-8 as Python's json.dumps writes it with
// ensure_ascii=False.
func AppendString(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i, c := range s {
		if !isSpecial(c) {
			continue
		}
		dst = append(dst, s[start:i]...)
		if short[c] != 0 {
			dst = append(dst, '\\', short[c])
		} else {
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		start = i + 1
	}
	return append(append(dst, s[start:]...), '"')
}

// stringLen is the number of bytes that AppendString appends.
func stringLen(s []byte) int64 {
	n := int64(len(s)) + 2
	for _, c := range s {
		switch {
		case !isSpecial(c):
		case short[c] != 0:
			n++
		default:
			n += 5
		}
	}
	return n
}

// IsListable reports whether numbers of a type can be the items of a List.
func IsListable(t dtype.Type) bool {
	switch t.Kind {
	case dtype.Bool, dtype.Int, dtype.Uint:
		return true
	case dtype.Float:
		return t.Size == 4 || t.Size == 8
	}
	return false
}

// appendList appends numbers as a list of JSON: floats with as few digits as tell them apart, and
// always as floats. NaN and the infinities, which JSON has not, are strings as in Zarr's fill
// values.
func appendList(dst, b []byte, t dtype.Type) []byte {
	dst = append(dst, '[')
	for size := int(t.Size); len(b) >= size; b = b[size:] {
		if dst[len(dst)-1] != '[' {
			dst = append(dst, ',')
		}
		dst = appendNumber(dst, bitsOf(b, t), t)
	}
	return append(dst, ']')
}

// bitsOf returns the bits of the number that b begins with.
func bitsOf(b []byte, t dtype.Type) uint64 {
	var word [8]byte
	if t.Order == dtype.Big {
		copy(word[8-t.Size:], b[:t.Size])
		return binary.BigEndian.Uint64(word[:])
	}
	copy(word[:], b[:t.Size])
	return binary.LittleEndian.Uint64(word[:])
}

func appendNumber(dst []byte, bits uint64, t dtype.Type) []byte {
	switch t.Kind {
	case dtype.Bool:
		return strconv.AppendBool(dst, bits != 0)
	case dtype.Uint:
		return strconv.AppendUint(dst, bits, 10)
	case dtype.Int:
		shift := 64 - 8*t.Size
		return strconv.AppendInt(dst, int64(bits<<shift)>>shift, 10)
	}
	if t.Size == 4 {
		return appendFloat(dst, float64(math.Float32frombits(uint32(bits))), 32)
	}
	return appendFloat(dst, math.Float64frombits(bits), 64)
}

func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'g', -1, bits)
	if bytes.ContainsAny(dst[start:], ".e") {
		return dst
	}
	return append(dst, ".0"...)
}

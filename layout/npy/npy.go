// Package npy reads and writes the header of NumPy's .npy files, and nothing else of them.
//
// A header is, in order (NEP 1, numpy.lib.format):
//
//	6 bytes  magic "\x93NUMPY"
//	2 bytes  version: 1.0, 2.0 or 3.0
//	2 or 4   length of the rest, little-endian: 2 bytes in version 1.0, otherwise 4
//	rest     a Python dict literal of 'descr', 'fortran_order' and 'shape',
//	         padded with spaces so that the data begins at a multiple of 64,
//	         and closed with a newline; Latin-1, in version 3.0 UTF-8
package npy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Magic is what each .npy file begins with.
const Magic = "\x93NUMPY"

const (
	align = 64 // the data begins at a multiple of this many bytes

	// growthDigits is the room that NumPy keeps for the length of the axis of growth. So appending
	// can rewrite the header in place.
	growthDigits = 21
)

// Header returns the header that NumPy writes before an array of the given
// descr (a Python literal such as `'<f4'`), order and shape.
//
// Like NumPy it takes the lowest version that holds the text: 1.0, or 2.0 for
// a text of more than 65,535 bytes, or 3.0 for one outside Latin-1. NumPy sets fortran only for
// arrays that are not also in C order. Header leaves that to the caller.
func Header(descr string, fortran bool, shape []int64) ([]byte, error) {
	if !utf8.ValidString(descr) {
		return nil, fmt.Errorf("npy: descr %q is not valid UTF-8", descr)
	}
	for _, n := range shape {
		if n < 0 {
			return nil, fmt.Errorf("npy: shape %v has a negative length", shape)
		}
	}
	return wrap(dict(descr, fortran, shape))
}

// dict returns the dict literal, its keys sorted, with the room to grow.
func dict(descr string, fortran bool, shape []int64) string {
	order := "False"
	if fortran {
		order = "True"
	}
	text := "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + Tuple(shape) +
		", }"
	if len(shape) == 0 {
		return text
	}
	growing := shape[0]
	if fortran {
		growing = shape[len(shape)-1]
	}
	return text + strings.Repeat(" ", growthDigits-len(strconv.FormatInt(growing, 10)))
}

// Tuple returns the Python literal of a tuple of integers: `()`, `(3,)`, `(2, 3)`.
func Tuple(items []int64) string {
	if len(items) == 1 {
		return fmt.Sprintf("(%d,)", items[0])
	}
	words := make([]string, len(items))
	for i, n := range items {
		words[i] = strconv.FormatInt(n, 10)
	}
	return "(" + strings.Join(words, ", ") + ")"
}

// Begins reports whether a .npy file begins with b, as far as six bytes say so.
func Begins(b []byte) bool { return len(b) >= len(Magic) && string(b[:len(Magic)]) == Magic }

// wrap puts magic, version and length before text, and the padding after it.
func wrap(text string) ([]byte, error) {
	latin, isLatin := toLatin1(text)
	if !isLatin {
		return wrapVersion(3, 4, []byte(text), math.MaxUint32)
	}
	if header, err := wrapVersion(1, 2, latin, math.MaxUint16); err == nil {
		return header, nil
	}
	return wrapVersion(2, 4, latin, math.MaxUint32)
}

// wrapVersion is wrap for one version, whose length field has lenSize bytes.
func wrapVersion(version byte, lenSize int, text []byte, limit int64) ([]byte, error) {
	before := len(Magic) + 2 + lenSize
	length := len(text) + 1 // with the newline
	padding := align - (before+length)%align
	length += padding
	if int64(length) > limit {
		return nil, fmt.Errorf("npy: header of %d bytes, version %d.0 holds at most %d", length,
			version, limit)
	}
	header := append(make([]byte, 0, before+length), Magic...)
	header = append(header, version, 0)
	if lenSize == 2 {
		header = binary.LittleEndian.AppendUint16(header, uint16(length))
	} else {
		header = binary.LittleEndian.AppendUint32(header, uint32(length))
	}
	header = append(header, text...)
	header = append(header, bytes.Repeat([]byte{' '}, padding)...)
	return append(header, '\n'), nil
}

// toLatin1 encodes text with one byte per character, if it can.
func toLatin1(text string) ([]byte, bool) {
	out := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xff {
			return nil, false
		}
		out = append(out, byte(r))
	}
	return out, true
}

// fromLatin1 decodes one byte per character.
func fromLatin1(b []byte) string {
	runes := make([]rune, len(b))
	for i, c := range b {
		runes[i] = rune(c)
	}
	return string(runes)
}

package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	// maxHeader bounds the text we parse. NumPy itself refuses to load more
	// than 10,000 characters unless told to trust the file.
	maxHeader = 1 << 20
	maxRank   = 64 // of NumPy's arrays
	// shownStart is how many bytes of what is not a .npy file an error shows.
	shownStart = 12
)

// ErrHeader is wrapped by all errors about bytes that are not a .npy header.
// A header that is only cut off is io.ErrUnexpectedEOF instead.
var ErrHeader = errors.New("invalid .npy header")

// Info is what a header says.
type Info struct {
	Descr   string  // the data type, as the Python literal that stands in the header
	Fortran bool    // the first axis varies fastest
	Shape   []int64 // empty for a single element
	Len     int64   // bytes before the array's data
}

// Parse reads the header at the beginning of b, which may hold more, or too little:
// then the error is io.ErrUnexpectedEOF, and Info.Len, if not 0, the bytes that are needed.
//
// It takes what NumPy takes in versions 1.0 to 3.0, in any order of keys and with any spacing. It
// refuses long integers of Python 2 and keys that occur twice.
func Parse(b []byte) (Info, error) {
	text, length, err := headerText(b)
	if err != nil {
		return Info{Len: length}, err
	}
	value, err := ParseLiteral(text)
	if err != nil {
		return Info{}, fmt.Errorf("%w: %w", ErrHeader, err)
	}
	info, err := infoOf(value)
	if err != nil {
		return Info{}, fmt.Errorf("%w: %w", ErrHeader, err)
	}
	info.Len = length
	return info, nil
}

// headerText returns the dict literal and the header's whole length, 0 if that is not known yet.
func headerText(b []byte) (text string, length int64, err error) {
	n := min(len(b), len(Magic))
	if string(b[:n]) != Magic[:n] {
		return "", 0, fmt.Errorf("%w: not a NumPy file: it starts with %q, expected %q; save it "+
			"with numpy.save", ErrHeader, b[:min(len(b), shownStart)], Magic)
	}
	if len(b) < len(Magic)+2 {
		return "", 0, cutOff(int64(len(Magic)+2), b)
	}
	major, minor := b[len(Magic)], b[len(Magic)+1]
	if major < 1 || major > 3 || minor != 0 {
		return "", 0, fmt.Errorf("%w: expected version 1.0, 2.0 or 3.0, found %d.%d", ErrHeader,
			major, minor)
	}
	start, size, err := textBounds(b, major)
	if err != nil {
		return "", 0, err
	}
	length = start + size
	if int64(len(b)) < length {
		return "", length, cutOff(length, b)
	}
	text, err = decodeText(b[start:length], major)
	return text, length, err
}

// textBounds returns where the dict literal begins and how long it is.
func textBounds(b []byte, major byte) (start, size int64, err error) {
	at := len(Magic) + 2
	start = int64(at + 4)
	if major == 1 {
		start = int64(at + 2)
	}
	if int64(len(b)) < start {
		return 0, 0, cutOff(start, b)
	}
	size = int64(binary.LittleEndian.Uint16(b[at:]))
	if major > 1 {
		size = int64(binary.LittleEndian.Uint32(b[at:]))
	}
	if size > maxHeader {
		return 0, 0, fmt.Errorf("%w: expected at most %d bytes, found a length of %d", ErrHeader,
			maxHeader, size)
	}
	return start, size, nil
}

func cutOff(need int64, b []byte) error {
	return fmt.Errorf("npy: expected a header of at least %d bytes, found %d: %w", need, len(b),
		io.ErrUnexpectedEOF)
}

func decodeText(b []byte, major byte) (string, error) {
	if major < 3 {
		return fromLatin1(b), nil
	}
	if !utf8.Valid(b) {
		return "", fmt.Errorf("%w: expected UTF-8 in version 3.0, found other bytes", ErrHeader)
	}
	return string(b), nil
}

// infoOf takes the three values out of the dict.
func infoOf(dict Literal) (Info, error) {
	var info Info
	if dict.Kind != Dict {
		return info, fmt.Errorf("expected a dict, found %s", dict.Kind)
	}
	if len(dict.Items) != 6 {
		return info, fmt.Errorf("expected the keys descr, fortran_order and shape, found %d keys",
			len(dict.Items)/2)
	}
	seen := map[string]bool{}
	for i := 0; i < len(dict.Items); i += 2 {
		key := dict.Items[i]
		if key.Kind != String || seen[key.Text] {
			return info, fmt.Errorf("expected the keys descr, fortran_order and shape once each, "+
				"found %s", key.Source)
		}
		seen[key.Text] = true
		if err := info.set(key.Text, dict.Items[i+1]); err != nil {
			return info, err
		}
	}
	return info, nil
}

func (info *Info) set(key string, value Literal) (err error) {
	switch key {
	case "descr":
		if value.Kind != String && value.Kind != List && value.Kind != TupleOf {
			return fmt.Errorf("descr: expected a string, list or tuple, found %s", value.Kind)
		}
		info.Descr = strings.Clone(value.Source)
	case "fortran_order":
		if value.Kind != Bool {
			return fmt.Errorf("fortran_order: expected True or False, found %s", value.Kind)
		}
		info.Fortran = value.Int != 0
	case "shape":
		info.Shape, err = ShapeOf(value)
	default:
		return fmt.Errorf("expected the keys descr, fortran_order and shape, found %q", key)
	}
	return err
}

// ShapeOf returns the lengths that a tuple of non-negative integers holds, such as "(2, 3)".
func ShapeOf(value Literal) ([]int64, error) {
	if value.Kind != TupleOf || len(value.Items) > maxRank {
		return nil, fmt.Errorf("shape: expected a tuple of at most %d lengths, found %.80s",
			maxRank, value.Source)
	}
	shape := make([]int64, len(value.Items))
	for i, item := range value.Items {
		if item.Kind != Int || item.Int < 0 {
			return nil, fmt.Errorf("shape: expected lengths, found %.80s", value.Source)
		}
		shape[i] = item.Int
	}
	return shape, nil
}

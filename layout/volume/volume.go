// Package volume has the headers of file formats for images and volumes. A header says what the
// bytes of an array are. The bytes follow it, or are in a file beside it, in C order. Each header
// is a pure function of the array's shape, data type and axes, and its length depends on shape and
// type alone. What a format cannot say is left out.
package volume

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrNot says that a format cannot hold an array of that shape and type.
var ErrNot = fmt.Errorf("the format cannot hold such an array: %w", errors.ErrUnsupported)

// Class is what the numbers of an array are.
type Class uint8

// The classes of numbers. A Complex is two floats of half its size.
const (
	Uint Class = iota
	Int
	Float
	Complex
)

// Type is the type of an array's elements.
type Type struct {
	Class Class
	Size  int64 // bytes
	Big   bool  // the byte order is big-endian
}

// bits returns the type as one number: its class and the bits of an element.
func (t Type) bits() string {
	return [...]string{"u", "i", "f", "c"}[t.Class] +
		fmt.Sprint(t.Size*8)
}

// Kind is what an axis runs along.
type Kind uint8

// The kinds of axes.
const (
	Unknown Kind = iota
	Space
	Time
	Channel
)

// Axis is an axis of an array, with what is known of it.
type Axis struct {
	Length int64
	Name   string // "": unknown
	Kind   Kind
	Unit   string // of Step and Start, as the store has it; "": unknown

	// The first element lies at Start, and each next one Step further.
	Step, Start       float64
	HasStep, HasStart bool

	Labels []string // of the elements, of a Channel; nil: unknown
}

// Volume is an array as the headers describe it.
type Volume struct {
	Type Type
	Axes []Axis // the slowest first

	Place Place

	Name string // what the values are, such as "sea surface temperature"; "": unknown
	Unit string // of the values; "": unknown

	// A value is Slope times the number that is stored, plus Offset, where IsPacked is set.
	// Signed integers count as unsigned then if IsUnsigned is set.
	IsPacked, IsUnsigned bool
	Slope, Offset        float64

	// Blank is the number that is stored where there is no value, if HasBlank is set.
	Blank    int64
	HasBlank bool
}

// Count returns the number of elements. It reports false if there are none, or too many to count.
func (v Volume) Count() (n int64, ok bool) {
	n = 1
	for _, a := range v.Axes {
		if a.Length <= 0 || n > math.MaxInt64/a.Length {
			return 0, false
		}
		n *= a.Length
	}
	return n, n <= math.MaxInt64/max(1, v.Type.Size)
}

// Bytes returns the number of bytes of the array.
func (v Volume) Bytes() int64 {
	n, _ := v.Count()
	return n * v.Type.Size
}

// fastest returns the axes, the fastest first, as most formats have them. Axis 0 of a 0-D array is
// one element long.
func (v Volume) fastest() []Axis {
	if len(v.Axes) == 0 {
		return []Axis{{Length: 1}}
	}
	all := slices.Clone(v.Axes)
	slices.Reverse(all)
	return all
}

// complexAs returns the volume with each complex number as two floats along one more axis, the
// fastest, for formats without complex numbers.
func (v Volume) complexAs() Volume {
	if v.Type.Class != Complex {
		return v
	}
	v.Type.Class, v.Type.Size = Float, v.Type.Size/2
	v.Axes = append(slices.Clone(v.Axes), Axis{Length: 2, Name: "complex", Kind: Channel})
	return v
}

// mostAxes returns an error if the volume has no element, or more axes than a format can hold.
func (v Volume) mostAxes(most int) error {
	if _, ok := v.Count(); !ok || len(v.Axes) > most {
		return ErrNot
	}
	return nil
}

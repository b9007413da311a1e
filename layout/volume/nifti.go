package volume

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// The lengths of NIfTI's headers, with the four bytes that say that there is no extension.
const (
	niftiOne = 352
	niftiTwo = 544
)

// niftiTypes are the codes of the data types.
var niftiTypes = map[string]int64{"u8": 2, "i16": 4, "i32": 8, "f32": 16, "c64": 32, "f64": 64,
	"i8": 256, "u16": 512, "u32": 768, "i64": 1024, "u64": 1280, "c128": 1792}

// niftiUnits are the codes of units, by their usual spellings.
var niftiUnits = map[string]int64{"meter": 1, "metre": 1, "m": 1, "millimeter": 2, "millimetre": 2,
	"mm": 2, "micrometer": 3, "micrometre": 3, "micron": 3, "um": 3, "µm": 3, "second": 8, "s": 8,
	"seconds": 8, "millisecond": 16, "ms": 16, "microsecond": 24, "us": 24, "µs": 24}

// NIfTI returns the header of a .nii file: NIfTI-1, or NIfTI-2 where an axis is longer than that
// can say (https://nifti.nimh.nih.gov). The first three axes are those of space there, and the
// fourth is time. An array without some of them has axes of length one in their place, if it is
// known which they are. Values whose slope and offset the header cannot say are an error.
func NIfTI(v Volume) ([]byte, error) {
	if v.IsPacked && v.IsUnsigned && v.Type.Class == Int {
		v.Type.Class = Uint
	}
	code, ok := niftiTypes[v.Type.bits()]
	if err := v.mostAxes(7); err != nil || !ok {
		return nil, ErrNot
	}
	isLong := slices.ContainsFunc(v.Axes, func(a Axis) bool { return a.Length > math.MaxInt16 })
	n := nifti{Volume: v, code: code, axes: niftiAxes(v.fastest())}
	n.space = placed(n.axes[:min(3, len(n.axes))])
	if err := n.checkScaling(isLong); err != nil {
		return nil, err
	}
	if isLong {
		return n.two(), nil
	}
	return n.one(), nil
}

// checkScaling returns an error if a reader would find other values. A slope of zero says there
// that nothing is packed. The numbers of NIfTI-1 have 32 bits: rounding them must change no value
// by half a step or more.
func (n nifti) checkScaling(isLong bool) error {
	slope, offset := n.scaling()
	s, o := float64(float32(slope)), float64(float32(offset))
	switch {
	case slope == 0:
		return fmt.Errorf("a slope of zero means in NIfTI that values are not packed: %w; "+
			"use the part @{scale}", errors.ErrUnsupported)
	case isLong:
		return nil
	case s != 0 && math.Abs(s-slope)*n.Type.most()+math.Abs(o-offset) < math.Abs(slope)/2:
		return nil
	}
	return fmt.Errorf("the values are packed with slope %g and offset %g, and NIfTI-1 has only 32 "+
		"bits for each: %w; use the part @{scale}", slope, offset, errors.ErrUnsupported)
}

// most returns the number of integers, from zero on, that the type tells apart.
func (t Type) most() float64 {
	switch t.Class {
	case Float:
		return map[int64]float64{2: 1 << 11, 4: 1 << 24, 8: 1 << 53}[t.Size]
	case Complex:
		return Type{Class: Float, Size: t.Size / 2}.most()
	}
	return math.Ldexp(1, int(t.Size*8))
}

// nifti is what both headers say.
type nifti struct {
	Volume
	code  int64
	axes  []Axis // the fastest first
	space []Axis // the first three of them, if all of these are of space; otherwise nil
}

// niftiAxes puts axes of length one between those of space and those behind them.
func niftiAxes(axes []Axis) []Axis {
	space := slices.IndexFunc(axes, func(a Axis) bool { return a.Kind != Space })
	if space <= 0 || axes[space].Kind == Unknown {
		return axes
	}
	missing := 3 - space
	if axes[space].Kind == Channel && (space+1 == len(axes)) {
		missing++ // no time either
	}
	if missing <= 0 || len(axes)+missing > 7 {
		return axes
	}
	return slices.Insert(slices.Clone(axes), space, slices.Repeat([]Axis{{Length: 1}}, missing)...)
}

// placed returns axes that are of space, or have the length one in the place of such an axis.
func placed(axes []Axis) []Axis {
	for _, a := range axes {
		if a.Kind != Space && a.Length > 1 || a.Kind == Space && !a.HasStep {
			return nil
		}
	}
	if !has(axes, func(a Axis) bool { return a.Kind == Space }) {
		return nil
	}
	return axes
}

// dims returns the number of axes and their lengths, as eight numbers.
func (n nifti) dims() []int64 {
	dims := []int64{int64(len(n.axes)), 1, 1, 1, 1, 1, 1, 1}
	for i, a := range n.axes {
		dims[i+1] = a.Length
	}
	return dims
}

// steps returns the steps of the axes behind the sign of the orientation, as eight numbers.
func (n nifti) steps() []float64 {
	steps := slices.Repeat([]float64{1}, 8)
	for i, a := range n.axes {
		if a.HasStep {
			steps[i+1] = math.Abs(a.Step)
		}
	}
	return steps
}

// rows returns the three rows that lead from indices to places. The code of it is zero where the
// places are not known. The codes name spaces of the body, and none of them is that of a store. So
// it is that of any other space to which a file is aligned.
func (n nifti) rows() (rows [3][]float64, code int64) {
	for i := range rows {
		rows[i] = make([]float64, 4)
	}
	if n.space == nil {
		return rows, 0
	}
	for i := range rows {
		rows[i][i] = 1
		if i < len(n.space) && n.space[i].HasStep {
			rows[i][i], rows[i][3] = n.space[i].Step, n.space[i].Start
		}
	}
	return rows, 2
}

// units returns the code of the units of space and time. Without a step there is no unit of time:
// the header would say that the step is 1.
func (n nifti) units() (code int64) {
	code = n.unitOfSpace()
	if t, ok := n.time(); ok && t.HasStep && niftiUnits[t.Unit] >= 8 {
		code |= niftiUnits[t.Unit]
	}
	return code
}

// unitOfSpace returns the code of the unit of all axes of space. It is 0 if they differ, or if the
// format does not have it.
func (n nifti) unitOfSpace() (code int64) {
	for _, a := range n.space {
		unit := niftiUnits[a.Unit]
		switch {
		case a.Kind != Space:
		case unit == 0 || unit > 3 || code != 0 && unit != code:
			return 0
		default:
			code = unit
		}
	}
	return code
}

// time returns the axis of time, if it is where the format has it.
func (n nifti) time() (Axis, bool) {
	if len(n.axes) < 4 || n.axes[3].Kind != Time {
		return Axis{}, false
	}
	return n.axes[3], true
}

// scaling returns slope and offset of the values.
func (n nifti) scaling() (slope, offset float64) {
	if !n.IsPacked {
		return 1, 0
	}
	return n.Slope, n.Offset
}

// begin returns where time begins.
func (n nifti) begin() float64 {
	t, _ := n.time()
	return t.Start
}

// one returns the header of NIfTI-1; the numbers are the places of its fields.
func (n nifti) one() []byte {
	f := newFields(niftiOne, n.Type)
	rows, code := n.rows()
	slope, offset := n.scaling()
	f.i32(0, niftiOne-4)
	f.bytes[38] = 'r'
	f.i16(40, n.dims()...)
	f.i16(70, n.code, n.Type.Size*8)
	f.f32(76, n.steps()...)
	f.f32(108, niftiOne, slope, offset)
	f.bytes[123] = byte(n.units())
	f.f32(136, n.begin())
	f.text(148, 80, n.Name)
	f.i16(254, code)
	for i, row := range rows {
		f.f32(280+16*i, row...)
	}
	copy(f.bytes[344:], "n+1\x00")
	return f.bytes
}

// two returns the header of NIfTI-2.
func (n nifti) two() []byte {
	f := newFields(niftiTwo, n.Type)
	rows, code := n.rows()
	slope, offset := n.scaling()
	f.i32(0, niftiTwo-4)
	copy(f.bytes[4:], "n+2\x00\r\n\x1a\n")
	f.i16(12, n.code, n.Type.Size*8)
	f.i64(16, n.dims()...)
	f.f64(104, n.steps()...)
	f.i64(168, niftiTwo)
	f.f64(176, slope, offset)
	f.f64(216, n.begin())
	f.text(240, 80, n.Name)
	f.i32(348, code)
	for i, row := range rows {
		f.f64(400+32*i, row...)
	}
	f.i32(500, n.units())
	return f.bytes
}

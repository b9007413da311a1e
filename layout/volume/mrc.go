package volume

import "math"

// mrcLen is the length of the header of a .mrc file, in bytes.
const mrcLen = 1024

// mrcModes are the codes of the data types.
var mrcModes = map[string]int64{"i8": 0, "i16": 1, "f32": 2, "c64": 4, "u16": 6, "f16": 12}

// mrcUnits are units in ångströms, by their usual spellings.
var mrcUnits = map[string]float64{"angstrom": 1, "Å": 1, "nanometer": 10, "nanometre": 10, "nm": 10,
	"micrometer": 1e4, "micrometre": 1e4, "micron": 1e4, "um": 1e4, "µm": 1e4}

// MRC returns the header of a .mrc file, of version 2014:
// https://www.ccpem.ac.uk/mrc-format/mrc2014/. It is an image, a stack of images, a volume, or a
// stack of volumes.
func MRC(v Volume) ([]byte, error) {
	mode, ok := mrcModes[v.Type.bits()]
	if err := v.mostAxes(4); err != nil || !ok || len(v.Axes) < 2 {
		return nil, ErrNot
	}
	axes := v.fastest()
	sizes, sections, group := []int64{axes[0].Length, axes[1].Length, 1}, int64(1), int64(0)
	if len(axes) > 2 {
		sizes[2], sections = axes[2].Length, axes[2].Length
		if axes[2].Kind == Space {
			group = 1
		}
	}
	if len(axes) > 3 {
		sizes[2], group = sizes[2]*axes[3].Length, 401
	}
	for _, n := range sizes {
		if n > math.MaxInt32 {
			return nil, ErrNot
		}
	}
	f := newFields(mrcLen, v.Type)
	f.i32(0, sizes[0], sizes[1], sizes[2], mode)
	f.i32(28, sizes[0], sizes[1], sections)
	cell, origin := mrcPlace(axes)
	f.f32(40, cell...)
	f.f32(52, 90, 90, 90)
	f.i32(64, 1, 2, 3)
	f.f32(76, 0, -1, -2) // the least, the greatest and the mean value: unknown
	f.i32(88, group)
	f.i32(108, 20140)
	f.f32(196, origin...)
	copy(f.bytes[208:], "MAP ")
	copy(f.bytes[212:], map[bool]string{false: "\x44\x44", true: "\x11\x11"}[v.Type.Big])
	f.f32(216, -1) // the deviation: unknown
	if v.Name != "" {
		f.i32(220, 1)
		f.text(224, 80, plain(v.Name))
	}
	return f.bytes, nil
}

// mrcPlace returns lengths and origin of the volume in ångströms. What is not known is zero.
func mrcPlace(axes []Axis) (cell, origin []float64) {
	cell, origin = make([]float64, 3), make([]float64, 3)
	for i, a := range axes[:min(3, len(axes))] {
		if unit := mrcUnits[a.Unit]; a.Kind == Space && a.HasStep && unit > 0 {
			cell[i] = math.Abs(a.Step) * unit * float64(a.Length)
			origin[i] = a.Start * unit
		}
	}
	return cell, origin
}

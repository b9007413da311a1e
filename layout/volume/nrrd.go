package volume

import (
	"math"
	"strconv"
	"strings"
)

// NRRD returns the header of a .nrrd file, or of a detached .nhdr file where data names the file of
// the bytes: https://teem.sourceforge.net/nrrd/format.html.
func NRRD(v Volume, data string) ([]byte, error) {
	kind, ok := nrrdTypes[v.complexAs().Type.bits()]
	if err := v.complexAs().mostAxes(16); err != nil || !ok {
		return nil, ErrNot
	}
	axes := v.complexAs().fastest()
	h := &lines{}
	h.add("NRRD0005")
	h.add("type: " + kind)
	h.add("dimension: " + strconv.Itoa(len(axes)))
	h.add("sizes:" + each(axes, func(a Axis) string { return strconv.FormatInt(a.Length, 10) }))
	if v.complexAs().Type.Size > 1 {
		h.add("endian: " + map[bool]string{false: "little", true: "big"}[v.Type.Big])
	}
	h.add("encoding: raw")
	if data != "" {
		h.add("data file: " + data)
	}
	end := "\n" // of the header
	if data != "" {
		end = ""
	}
	nrrdPlace(h, axes)
	h.some("kinds:" + each(axes,
		func(a Axis) string { return nrrdKind(a, v.Type.Class == Complex) }))
	if has(axes, func(a Axis) bool { return a.Name != "" }) {
		h.some("labels:" + each(axes, func(a Axis) string { return nrrdQuote(a.Name) }))
	}
	if v.Name != "" {
		h.some("content: " + plain(v.Name))
	}
	if v.Unit != "" {
		h.some("sample units: " + plain(v.Unit))
	}
	return h.filled("# ", end)
}

// nrrdTypes are the names of types.
var nrrdTypes = map[string]string{"i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16",
	"i32": "int32", "u32": "uint32",
	"i64": "int64", "u64": "uint64", "f32": "float", "f64": "double"}

// nrrdPlace adds where the elements lie. All axes of space have directions, or all axes have
// spacings: an axis must not have both.
func nrrdPlace(h *lines, axes []Axis) {
	space := spaceOf(axes)
	bare := func(a Axis) bool { return len(space) == 0 || a.Kind != Space }
	if len(space) > 0 {
		h.some("space dimension: " + strconv.Itoa(len(space)))
		at := 0
		h.some("space directions:" + each(axes, func(a Axis) string {
			if a.Kind != Space {
				return "none"
			}
			at++
			return "(" + strings.Join(direction(a.Step, at-1, len(space)), ",") + ")"
		}))
		if !has(space, func(a Axis) bool { return !a.HasStart }) {
			h.some("space origin: (" +
				strings.Join(fieldsOf(space, func(a Axis) string { return decimal(a.Start) }),
					",") +
				")")
		}
		if has(space, func(a Axis) bool { return a.Unit != "" }) {
			h.some("space units:" + each(space, func(a Axis) string { return nrrdQuote(a.Unit) }))
		}
	}
	if has(axes, func(a Axis) bool { return bare(a) && a.HasStep }) {
		h.some("spacings:" + each(axes,
			func(a Axis) string { return numberIf(bare(a) && a.HasStep, a.Step) }))
	}
	if has(axes, func(a Axis) bool { return bare(a) && a.HasStep && a.HasStart }) {
		h.some("axis mins:" + each(axes, func(a Axis) string {
			return numberIf(bare(a) && a.HasStep && a.HasStart, a.Start)
		}))
		h.some("centers:" + each(axes, func(Axis) string { return "node" }))
	}
	if has(axes, func(a Axis) bool { return bare(a) && a.Unit != "" }) {
		h.some("units:" + each(axes, func(a Axis) string {
			if !bare(a) {
				return `""`
			}
			return nrrdQuote(a.Unit)
		}))
	}
}

// nrrdKind returns the kind of an axis; that of the axis of complex numbers is its own.
func nrrdKind(a Axis, isComplex bool) string {
	switch {
	case isComplex && a.Name == "complex" && a.Kind == Channel:
		return "complex"
	case a.Kind == Space:
		return "space"
	case a.Kind == Time:
		return "time"
	case a.Kind == Channel:
		return "list"
	}
	return "???"
}

// nrrdQuote returns a label.
func nrrdQuote(s string) string {
	return `"` + strings.ReplaceAll(strings.ReplaceAll(plain(s), `\`, `\\`), `"`, `\"`) + `"`
}

// spaceOf returns the axes of space. It returns nil if any of them has no step, or if there are
// other axes than these and those of channels: ITK reads no directions then.
func spaceOf(axes []Axis) (space []Axis) {
	for _, a := range axes {
		switch {
		case a.Kind == Space && a.HasStep:
			space = append(space, a)
		case a.Kind != Channel:
			return nil
		}
	}
	return space
}

func numberIf(is bool, f float64) string {
	if !is || math.IsNaN(f) {
		return "nan"
	}
	return decimal(f)
}

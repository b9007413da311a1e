package volume

import (
	"bytes"
	"strconv"
	"strings"
)

// metaTypes are the names of types.
var metaTypes = map[string]string{"u8": "MET_UCHAR", "i8": "MET_CHAR", "u16": "MET_USHORT",
	"i16": "MET_SHORT", "u32": "MET_UINT", "i32": "MET_INT", "u64": "MET_ULONG_LONG",
	"i64": "MET_LONG_LONG", "f32": "MET_FLOAT", "f64": "MET_DOUBLE",
	"c64": "MET_FLOAT", "c128": "MET_DOUBLE"}

// metaUnits are the units that the format has, by their usual spellings.
var metaUnits = map[string]string{"millimeter": "mm", "millimetre": "mm", "mm": "mm",
	"micrometer": "um", "micrometre": "um", "micron": "um", "um": "um", "µm": "um",
	"centimeter": "cm", "centimetre": "cm", "cm": "cm"}

// MetaImage returns the header of a .mha file, or of a .mhd file where data names the file of the
// bytes: https://itk.org/Wiki/ITK/MetaIO/Documentation. It has a step and an origin for each axis:
// those that are not known are 1 and 0.
func MetaImage(v Volume, data string) ([]byte, error) {
	kind, ok := metaTypes[v.Type.bits()]
	if err := v.mostAxes(10); err != nil || !ok {
		return nil, ErrNot
	}
	axes := v.fastest()
	h := &lines{}
	h.add("ObjectType = Image")
	h.add("NDims = " + strconv.Itoa(len(axes)))
	h.add("BinaryData = True")
	h.add("BinaryDataByteOrderMSB = " + map[bool]string{false: "False", true: "True"}[v.Type.Big])
	h.add("CompressedData = False")
	h.add("TransformMatrix =" + metaDirections(axes))
	h.add("Offset =" + each(axes, func(a Axis) string { return decimal(a.Start) }))
	h.add("ElementSpacing =" + each(axes, metaStep))
	if unit := metaUnit(axes); unit != "" {
		h.add("DistanceUnits = " + unit)
	}
	h.add("DimSize =" + each(axes, func(a Axis) string { return strconv.FormatInt(a.Length, 10) }))
	if v.Type.Class == Complex {
		h.add("ElementNumberOfChannels = 2")
	}
	h.add("ElementType = " + kind)
	return metaEnd(h, data)
}

// metaEnd adds the name of the data, and fills the header up. What follows that name is not read in
// a file of text; otherwise it is data. So the spaces are before the name there.
func metaEnd(h *lines, data string) ([]byte, error) {
	const last = "ElementDataFile = "
	left := textLen - h.Len() - len(last) - 1
	if data == "" {
		data = strings.Repeat(" ", max(0, left-len("LOCAL"))) + "LOCAL"
	}
	if left < len(data) {
		return nil, ErrNot
	}
	h.add(last + data)
	return append(h.Bytes(), bytes.Repeat([]byte("\n"), left-len(data))...), nil
}

// metaStep returns the step without its sign, which is that of the direction.
func metaStep(a Axis) string {
	if !a.HasStep {
		return "1"
	}
	return strings.TrimPrefix(decimal(a.Step), "-")
}

// metaDirections returns a matrix of the directions of the axes.
func metaDirections(axes []Axis) string {
	var text strings.Builder
	for i, a := range axes {
		sign := 1.0
		if a.Step < 0 {
			sign = -1
		}
		text.WriteString(" " + strings.Join(direction(sign, i, len(axes)), " "))
	}
	return text.String()
}

// metaUnit returns the unit that all axes of space have.
func metaUnit(axes []Axis) (unit string) {
	for _, a := range axes {
		switch {
		case a.Kind != Space:
		case unit != "" && metaUnits[a.Unit] != unit:
			return ""
		default:
			unit = metaUnits[a.Unit]
		}
	}
	return unit
}

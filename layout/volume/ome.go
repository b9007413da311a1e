package volume

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
)

// omeRoom is room for the first directory of an .ome.tif file and for its text, in bytes.
const omeRoom = 1 << 16

// omeTypes are the names of types.
var omeTypes = map[string]string{"u8": "uint8", "u16": "uint16", "u32": "uint32", "i8": "int8",
	"i16": "int16", "i32": "int32", "f32": "float", "f64": "double", "c64": "complex",
	"c128": "double-complex"}

// omeUnits are the signs of units of length, and omeTimes those of time, by their usual spellings.
var omeUnits = map[string]string{"angstrom": "Å", "nanometer": "nm", "nanometre": "nm", "nm": "nm",
	"micrometer": "µm", "micrometre": "µm", "micron": "µm", "um": "µm", "µm": "µm",
	"millimeter": "mm", "millimetre": "mm", "mm": "mm", "centimeter": "cm", "centimetre": "cm",
	"cm": "cm", "meter": "m", "metre": "m", "m": "m"}
var omeTimes = map[string]string{
	"second": "s", "seconds": "s", "s": "s", "millisecond": "ms", "ms": "ms", "minute": "min"}

// OMETIFF returns the header of an .ome.tif file: BigTIFF, with OME-XML of the schema of June 2016
// (https://docs.openmicroscopy.org/ome-model/latest/). Axes before the last two whose kinds are not
// known are taken for depth, channels and time, from the last one on.
func OMETIFF(v Volume) ([]byte, error) {
	planes, size, err := v.tiffPlanes()
	kind, ok := omeTypes[v.Type.bits()]
	if err != nil || !ok || len(v.Axes) > 5 || planes > tiffMost {
		return nil, ErrNot
	}
	t := &tiff{Volume: v, planes: planes, size: size, base: omeRoom + tiffEach*planes, big: true}
	text := v.omeXML(kind)
	if len(text) > omeRoom-tiffRoom {
		bare := v
		bare.Axes, bare.Name = slices.Clone(v.Axes), ""
		for i := range bare.Axes {
			bare.Axes[i].Labels = nil
		}
		text = bare.omeXML(kind)
	}
	if len(text) > omeRoom-tiffRoom {
		return nil, ErrNot
	}
	t.images(planes, text, false)
	return t.header(), nil
}

// omeLeading returns the axes before a plane by their letters, and their letters from the fastest
// to the slowest.
func (v Volume) omeLeading() (by map[byte]Axis, order string) {
	by = map[byte]Axis{}
	letters := map[Kind]byte{Space: 'Z', Channel: 'C', Time: 'T'}
	leading := slices.Clone(v.Axes[:len(v.Axes)-2])
	slices.Reverse(leading)
	free := func() byte {
		for _, letter := range []byte("ZCT") {
			isKnown := slices.ContainsFunc(leading,
				func(a Axis) bool { return letters[a.Kind] == letter })
			if _, taken := by[letter]; !taken && !isKnown {
				return letter
			}
		}
		return 'Z' // not reached: there are no more than three axes
	}
	for _, a := range leading {
		letter := letters[a.Kind]
		if _, taken := by[letter]; letter == 0 || taken {
			letter = free()
		}
		by[letter] = a
		order += string(letter)
	}
	for _, letter := range "ZCT" {
		if !strings.ContainsRune(order, letter) {
			order += string(letter)
			by[byte(letter)] = Axis{Length: 1}
		}
	}
	return by, order
}

// omeXML returns the text of the first directory.
func (v Volume) omeXML(kind string) string {
	by, order := v.omeLeading()
	y, x := v.Axes[len(v.Axes)-2], v.Axes[len(v.Axes)-1]
	var text bytes.Buffer
	text.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` +
		`<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06">` + `<Image ID="Image:0"`)
	omeAttribute(&text, "Name", v.Name)
	fmt.Fprintf(&text, `><Pixels ID="Pixels:0" DimensionOrder="XY%s" Type="%s" BigEndian="%t"`,
		order, kind, v.Type.Big)
	for i, a := range []Axis{x, y, by['Z'], by['C'], by['T']} {
		fmt.Fprintf(&text, ` Size%c="%d"`, "XYZCT"[i], a.Length)
	}
	for i, a := range []Axis{x, y, by['Z']} {
		omeStep(&text, "PhysicalSize"+"XYZ"[i:i+1], a, Space, omeUnits)
	}
	omeStep(&text, "TimeIncrement", by['T'], Time, omeTimes)
	text.WriteString(">")
	for i := range by['C'].Length {
		fmt.Fprintf(&text, `<Channel ID="Channel:0:%d" SamplesPerPixel="1"`, i)
		if by['C'].Labels != nil {
			omeAttribute(&text, "Name", by['C'].Labels[i])
		}
		text.WriteString("/>")
	}
	text.WriteString(`<TiffData/></Pixels></Image></OME>`)
	return text.String()
}

// omeStep writes the step of an axis of that kind, if it is known together with one of the units.
func omeStep(text *bytes.Buffer, name string, a Axis, kind Kind, units map[string]string) {
	unit, ok := units[a.Unit]
	if a.Kind == kind && ok && a.Step > 0 {
		fmt.Fprintf(text, ` %s="%s"`, name, decimal(a.Step))
		omeAttribute(text, name+"Unit", unit)
	}
}

// omeAttribute writes an attribute, if there is one.
func omeAttribute(text *bytes.Buffer, name, value string) {
	if value == "" {
		return
	}
	text.WriteString(" " + name + `="`)
	_ = xml.EscapeText(text, []byte(value))
	text.WriteString(`"`)
}

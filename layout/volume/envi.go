package volume

import (
	"fmt"
	"strings"
)

// enviTypes are the codes of the data types.
var enviTypes = map[string]int{"u8": 1, "i16": 2, "i32": 3, "f32": 4, "f64": 5, "c64": 6, "c128": 9,
	"u16": 12, "u32": 13, "i64": 14, "u64": 15}

// ENVI returns the text beside a file of bytes that says that they are an image of ENVI:
// https://www.nv5geospatialsoftware.com/docs/ENVIHeaderFiles.html. The axes before the last two are
// its bands.
func ENVI(v Volume) ([]byte, error) {
	code, ok := enviTypes[v.Type.bits()]
	if err := v.mostAxes(64); err != nil || !ok || len(v.Axes) < 2 {
		return nil, ErrNot
	}
	axes := v.fastest()
	bands, _ := Volume{Axes: v.Axes[:len(v.Axes)-2]}.Count()
	for _, n := range []int64{axes[0].Length, axes[1].Length, bands} {
		if n > 1<<31-1 {
			return nil, ErrNot
		}
	}
	order := 0
	if v.Type.Big {
		order = 1
	}
	h := &lines{}
	h.add("ENVI")
	h.add(fmt.Sprintf("samples = %d\nlines = %d\nbands = %d", axes[0].Length, axes[1].Length,
		bands))
	h.add("header offset = 0\nfile type = ENVI Standard\ninterleave = bsq")
	h.add(fmt.Sprintf("data type = %d\nbyte order = %d", code, order))
	if v.Name != "" {
		h.some("description = {" + enviText(v.Name) + "}")
	}
	if len(axes) == 3 && axes[2].Labels != nil {
		h.some("band names = {" + enviText(strings.Join(axes[2].Labels, ", ")) + "}")
	}
	if place := v.Place.envi(); place != "" {
		h.some("map info = {" + place + "}")
	}
	return h.filled("; ", "")
}

// envi returns a place as ENVI has it: where the corner of the first element lies, and the lengths
// of elements. It is empty for places that are turned. Of reference systems it names those for
// which ENVI has names: WGS 84, and its zones of UTM.
func (p Place) envi() string {
	if !p.Known || p.X[2] != 0 || p.Y[1] != 0 || p.X[1] <= 0 || p.Y[2] >= 0 {
		return ""
	}
	name, more := "Arbitrary", ""
	switch zone := p.EPSG % 100; {
	case p.EPSG == 4326:
		name, more = "Geographic Lat/Lon", ", WGS-84, units=Degrees"
	case zone >= 1 && zone <= 60 && p.EPSG/100 == 326:
		name, more = "UTM", fmt.Sprintf(", %d, North, WGS-84, units=Meters", zone)
	case zone >= 1 && zone <= 60 && p.EPSG/100 == 327:
		name, more = "UTM", fmt.Sprintf(", %d, South, WGS-84, units=Meters", zone)
	}
	return fmt.Sprintf("%s, 1, 1, %s, %s, %s, %s%s", name, decimal(p.X[0]-p.X[1]/2),
		decimal(p.Y[0]-p.Y[2]/2), decimal(p.X[1]), decimal(-p.Y[2]), more)
}

// enviText returns s without what ends a list.
func enviText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '{' || r == '}' {
			return ' '
		}
		return r
	}, plain(s))
}

package volume

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// A TIFF file shows an array as planes: its last two axes are lines and columns, and those before
// are planes, in C order. Each plane is one strip (TIFF 6.0, section 8).

const (
	// tiffRoom is room for the first directory of a .tif file and for its texts, in bytes. tiffEach
	// is room for the directory of each plane.
	tiffRoom = 8192
	tiffEach = 320
	// tiffMost is how many planes have directories.
	tiffMost = 1<<16 - 1
	// classicMost is how long a classic TIFF file can be, in bytes: 4 GiB.
	classicMost = 1 << 32
)

// tiffFormats are the codes of SampleFormat.
var tiffFormats = [...]int64{Uint: 1, Int: 2, Float: 3, Complex: 6}

// tiffPlanes returns the planes of a volume: how many there are, and the bytes of each.
func (v Volume) tiffPlanes() (count, size int64, err error) {
	if err := v.mostAxes(64); err != nil || len(v.Axes) < 2 || v.Type.Size > 16 ||
		v.Type.bits() == "f128" {
		return 0, 0, ErrNot
	}
	lines, columns := v.Axes[len(v.Axes)-2].Length, v.Axes[len(v.Axes)-1].Length
	count, _ = Volume{Axes: v.Axes[:len(v.Axes)-2]}.Count()
	if lines > math.MaxInt32 || columns > math.MaxInt32 {
		return 0, 0, ErrNot
	}
	return count, lines * columns * v.Type.Size, nil
}

// TIFF returns the header of a .tif file. One below 4 GiB is a classic TIFF file. A larger one is
// what ImageJ writes, with a directory of the first plane only, if ImageJ has its type. Otherwise
// it is BigTIFF. A file with a place on Earth is one image, as GeoTIFF has it, and the planes are
// its bands. Others are one image for each plane.
func TIFF(v Volume) ([]byte, error) {
	planes, size, err := v.tiffPlanes()
	if err != nil {
		return nil, err
	}
	isLarge := planes*size > classicMost-tiffRoom-tiffEach*tiffMost
	room := tiffRoom + tiffEach*min(planes, tiffMost)
	if planes > tiffMost && !(isLarge && v.isImageJs()) {
		return nil, ErrNot
	}
	t := &tiff{Volume: v, planes: planes, size: size, base: room, big: isLarge}
	switch {
	case v.Place.Known && planes <= tiffMost:
		t.bands()
	case isLarge && v.isImageJs():
		t.big = false
		t.images(1, v.imageJ(planes), true)
	case t.isOfImageJ():
		t.images(planes, v.imageJ(planes), true)
	default:
		t.images(planes, t.shape(), false)
	}
	return t.header(), nil
}

// isImageJs reports whether ImageJ has the type.
func (v Volume) isImageJs() bool {
	return slices.Contains([]string{"u8", "u16", "f32"}, v.Type.bits())
}

// isOfImageJ reports whether ImageJ has the type and the axes.
func (v Volume) isOfImageJ() bool {
	return v.isImageJs() && (len(v.Axes) < 4 || v.isHyperstack())
}

// shape returns the text by which tifffile knows the shape.
func (t *tiff) shape() string {
	text := []byte(`{"shape": [`)
	for i, a := range t.Axes {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = fmt.Append(text, a.Length)
	}
	return string(append(text, "]}"...))
}

// isHyperstack reports whether the axes are those of ImageJ in its order: time, depth, channels,
// lines and columns.
func (v Volume) isHyperstack() bool {
	rank := -1
	for _, a := range v.Axes[:len(v.Axes)-2] {
		r := map[Kind]int{Unknown: -1, Time: 0, Space: 1, Channel: 2}[a.Kind]
		if r <= rank {
			return false
		}
		rank = r
	}
	return true
}

// imageJ returns the text by which ImageJ knows its files. Planes whose axes it does not have, or
// has in another order, are slices.
func (v Volume) imageJ(planes int64) string {
	var text bytes.Buffer
	fmt.Fprintf(&text, "ImageJ=1.53t\nimages=%d\n", planes)
	if v.isHyperstack() {
		for _, a := range v.Axes[:len(v.Axes)-2] {
			name := map[Kind]string{Time: "frames", Space: "slices", Channel: "channels"}[a.Kind]
			fmt.Fprintf(&text, "%s=%d\n", name, a.Length)
			if a.Kind == Space && a.HasStep {
				fmt.Fprintf(&text, "spacing=%s\n", decimal(a.Step))
			}
			if a.Kind == Time && a.HasStep && niftiUnits[a.Unit] == 8 {
				fmt.Fprintf(&text, "finterval=%s\n", decimal(a.Step))
			}
		}
		if len(v.Axes) > 3 {
			text.WriteString("hyperstack=true\nmode=grayscale\n")
		}
	} else {
		fmt.Fprintf(&text, "slices=%d\n", planes)
	}
	if unit := v.Axes[len(v.Axes)-1].Unit; unit != "" && plain(unit) == unit && len(unit) < 100 {
		fmt.Fprintf(&text, "unit=%s\n",
			map[bool]string{true: "micron", false: unit}[metaUnits[unit] == "um"])
	}
	text.WriteString("loop=false\n")
	return text.String()
}

// tiff is a header that is being made.
type tiff struct {
	Volume
	planes, size int64 // how many planes there are, and the bytes of each
	base         int64 // where the first one begins
	big          bool  // BigTIFF
	directories  [][]tiffTag
}

// tiffTag is an entry of a directory; its values are of one kind.
type tiffTag struct {
	tag    uint16
	short  []uint16
	long   []uint64 // LONG, or LONG8 in BigTIFF
	ratio  []uint32 // pairs
	double []float64
	text   string
}

// images adds directories for the first n planes, of which the first has a text.
func (t *tiff) images(n int64, description string, isUnitSaid bool) {
	for i := range n {
		tags := append(t.plane(1), tiffTag{tag: 273, long: []uint64{uint64(t.base + i*t.size)}},
			tiffTag{tag: 279, long: []uint64{uint64(t.size)}})
		if i == 0 {
			tags = append(tags, tiffTag{tag: 270, text: description})
			tags = append(tags, t.resolution(isUnitSaid)...)
		}
		t.directories = append(t.directories, tags)
	}
}

// bands adds one directory for all planes.
func (t *tiff) bands() {
	offsets, sizes := make([]uint64, t.planes), make([]uint64, t.planes)
	for i := range offsets {
		offsets[i], sizes[i] = uint64(t.base+int64(i)*t.size), uint64(t.size)
	}
	n := int(t.planes)
	tags := append(t.plane(n), tiffTag{tag: 273, long: offsets}, tiffTag{tag: 279, long: sizes})
	if n > 1 {
		tags = append(tags, tiffTag{tag: 284, short: []uint16{2}}, // planes apart
			tiffTag{tag: 338, short: make([]uint16, n-1)}) // what the other bands are is not said
	}
	t.directories = [][]tiffTag{append(tags, t.Place.tags()...)}
}

// plane returns the entries that say what the numbers of a directory of so many bands are.
func (t *tiff) plane(bands int) []tiffTag {
	each := func(n int64) []uint16 { return slices.Repeat([]uint16{uint16(n)}, bands) }
	lines, columns := t.Axes[len(t.Axes)-2].Length, t.Axes[len(t.Axes)-1].Length
	return []tiffTag{{tag: 256, long: []uint64{uint64(columns)}},
		{tag: 257, long: []uint64{uint64(lines)}},
		{tag: 259, short: []uint16{1}}, {tag: 262, short: []uint16{1}},
		{tag: 278, long: []uint64{uint64(lines)}},
		{tag: 258, short: each(t.Type.Size * 8)}, {tag: 277, short: []uint16{uint16(bands)}},
		{tag: 339, short: each(tiffFormats[t.Type.Class])}}
}

// resolution returns how many elements there are in a unit, for the two axes of a plane, if both
// are known. Where the text of the file says the unit of both, the resolution is per that unit.
// Otherwise it is per centimetre (section 8), or without a unit.
func (t *tiff) resolution(isUnitSaid bool) []tiffTag {
	y, x := t.Axes[len(t.Axes)-2], t.Axes[len(t.Axes)-1]
	if !x.HasStep || !y.HasStep || isUnitSaid && x.Unit != y.Unit {
		return nil
	}
	stepX, stepY, unit := math.Abs(x.Step), math.Abs(y.Step), uint16(1) // none
	inX, inY := centimetres[omeUnits[x.Unit]], centimetres[omeUnits[y.Unit]]
	if !isUnitSaid && inX > 0 && inY > 0 {
		stepX, stepY, unit = stepX*inX, stepY*inY, 3
	}
	perX, perY := ratio(1/stepX), ratio(1/stepY)
	if perX == nil || perY == nil {
		return nil
	}
	return []tiffTag{{tag: 282, ratio: perX}, {tag: 283, ratio: perY},
		{tag: 296, short: []uint16{unit}}}
}

// centimetres are the lengths of units.
var centimetres = map[string]float64{"Å": 1e-8, "nm": 1e-7, "µm": 1e-4, "mm": 0.1, "cm": 1,
	"m": 100}

// ratio returns two integers whose quotient is near f, to six digits or more; nil if there are none
// below 2^32.
func ratio(f float64) []uint32 {
	if f < 1 {
		inverse := ratio(1 / f)
		slices.Reverse(inverse)
		return inverse
	}
	denominator := 1e6
	for f*denominator > math.MaxUint32 && denominator > 1 {
		denominator /= 10
	}
	if n := math.Round(f * denominator); n <= math.MaxUint32 {
		return []uint32{uint32(n), uint32(denominator)}
	}
	return nil
}

// header returns the bytes before the first plane.
func (t *tiff) header() []byte {
	w := tiffWriter{order: binary.LittleEndian, big: t.big}
	w.text = "II"
	if t.Type.Big {
		w.order, w.text = binary.BigEndian, "MM"
	}
	w.begin()
	for i, tags := range t.directories {
		w.directory(tags, i == len(t.directories)-1)
	}
	return append(w.out, make([]byte, max(0, t.base-int64(len(w.out))))...)
}

// tiffWriter writes directories, each with its values behind it.
type tiffWriter struct {
	out   []byte
	order binary.ByteOrder
	text  string // of the byte order
	big   bool
}

func (w *tiffWriter) u16(n uint16) { w.out = append(w.out, w.bytes(2, uint64(n))...) }

// word appends an offset or a count.
func (w *tiffWriter) word(n uint64) { w.out = append(w.out, w.bytes(w.wordLen(), n)...) }

func (w *tiffWriter) wordLen() int {
	if w.big {
		return 8
	}
	return 4
}

// bytes returns an integer of so many bytes.
func (w *tiffWriter) bytes(size int, n uint64) []byte {
	b := make([]byte, 8)
	switch size {
	case 2:
		w.order.PutUint16(b, uint16(n))
	case 4:
		w.order.PutUint32(b, uint32(n))
	default:
		w.order.PutUint64(b, n)
	}
	return b[:size]
}

// begin writes what is before the first directory.
func (w *tiffWriter) begin() {
	w.out = append(w.out, w.text...)
	if !w.big {
		w.u16(42)
		w.word(8)
		return
	}
	w.u16(43)
	w.u16(8)
	w.u16(0)
	w.word(16)
}

// directory writes a directory, and the values that do not fit into its entries behind it.
func (w *tiffWriter) directory(tags []tiffTag, isLast bool) {
	slices.SortFunc(tags, func(a, b tiffTag) int { return int(a.tag) - int(b.tag) })
	word := w.wordLen()
	head := 2
	if w.big {
		head = 8
	}
	end := len(w.out) + head + len(tags)*(4+2*word) + word
	var values []byte
	if w.big {
		w.word(uint64(len(tags)))
	} else {
		w.u16(uint16(len(tags)))
	}
	for _, tag := range tags {
		kind, count, data := w.values(tag)
		w.u16(tag.tag)
		w.u16(kind)
		w.word(count)
		if len(data) <= word {
			w.out = append(w.out, append(data, make([]byte, word-len(data))...)...)
			continue
		}
		w.word(uint64(end + len(values)))
		values = append(values, data...)
		values = append(values, make([]byte, -len(values)&7)...)
	}
	next := end + len(values)
	next += -next & 7
	if isLast {
		w.word(0)
	} else {
		w.word(uint64(next))
	}
	w.out = append(w.out, values...)
	w.out = append(w.out, make([]byte, next-len(w.out))...)
}

// values returns the type of the values of an entry (section 2), how many there are, and their
// bytes.
func (w *tiffWriter) values(t tiffTag) (kind uint16, count uint64, data []byte) {
	add := func(size int, n uint64) { data = append(data, w.bytes(size, n)...) }
	switch {
	case t.text != "":
		return 2, uint64(len(t.text) + 1), append([]byte(t.text), 0)
	case t.short != nil:
		for _, n := range t.short {
			add(2, uint64(n))
		}
		return 3, uint64(len(t.short)), data
	case t.ratio != nil:
		for _, n := range t.ratio {
			add(4, uint64(n))
		}
		return 5, uint64(len(t.ratio) / 2), data
	case t.double != nil:
		for _, f := range t.double {
			add(8, math.Float64bits(f))
		}
		return 12, uint64(len(t.double)), data
	}
	kind = 4
	if w.big {
		kind = 16
	}
	for _, n := range t.long {
		add(w.wordLen(), n)
	}
	return kind, uint64(len(t.long)), data
}

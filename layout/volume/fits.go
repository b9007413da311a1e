package volume

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// FITSBlock is the length of the blocks of a FITS file, in bytes. The header is whole blocks. So
// are the data, with zero bytes behind them.
const FITSBlock = 2880

// cardLen is the length of one line of the header, in bytes.
const cardLen = 80

// fitsTypes are the codes of the data types.
var fitsTypes = map[string]int64{"u8": 8, "i16": 16, "i32": 32, "i64": 64, "f32": -32, "f64": -64}

// fitsUnits are the format's names of units, by other usual spellings.
var fitsUnits = map[string]string{"meter": "m", "metre": "m", "millimeter": "mm",
	"millimetre": "mm", "micrometer": "um", "micrometre": "um", "micron": "um", "µm": "um",
	"nanometer": "nm", "nanometre": "nm", "angstrom": "Angstrom", "Å": "Angstrom",
	"second": "s", "seconds": "s", "millisecond": "ms", "microsecond": "us", "µs": "us",
	"degrees_north": "deg", "degrees_east": "deg", "degree": "deg", "degrees": "deg"}

// FITS returns the header of a .fits file of one image, of version 4.0 of the standard:
// https://fits.gsfc.nasa.gov/fits_standard.html. Its numbers are big-endian, and integers of more
// than a byte are signed. Other numbers would need other bytes, so that arrays of those have no
// such file.
func FITS(v Volume) ([]byte, error) {
	v = v.fitsComplex()
	code, ok := fitsTypes[v.Type.bits()]
	if err := v.mostAxes(64); err != nil || !ok || v.Type.Size > 1 && !v.Type.Big {
		return nil, ErrNot
	}
	if v.IsPacked && v.IsUnsigned && v.Type.Class == Int {
		return nil, fmt.Errorf("the values are packed as unsigned integers of %d bytes, and FITS "+
			"has only signed ones: %w", v.Type.Size, errors.ErrUnsupported)
	}
	axes := v.fastest()
	h := cards{}
	h.add("SIMPLE", "T")
	h.integer("BITPIX", code)
	h.integer("NAXIS", int64(len(axes)))
	for i, a := range axes {
		h.integer(fmt.Sprint("NAXIS", i+1), a.Length)
	}
	h.values(v)
	for i, a := range axes {
		h.axis(i+1, a)
	}
	return h.filled(fitsCards(len(axes))), nil
}

// fitsComplex returns the volume with complex numbers as the standard has them (section 8.5): an
// axis of which the first element is the real part, and the second the imaginary one.
func (v Volume) fitsComplex() Volume {
	if v.Type.Class != Complex {
		return v
	}
	v = v.complexAs()
	v.Axes[len(v.Axes)-1] = Axis{Length: 2, Name: "COMPLEX", Start: 1, HasStart: true, Step: 1,
		HasStep: true}
	return v
}

// fitsCards returns how many lines the header of an image has, in whole blocks. There is room for
// all that can be said of an array of so many axes.
func fitsCards(axes int) int {
	const ofImage, ofAxis, inBlock = 9, 6, FITSBlock / cardLen
	return (ofImage + ofAxis*axes + inBlock - 1) / inBlock * inBlock
}

// cards are the lines of a header.
type cards struct{ text strings.Builder }

// add adds a line: a keyword, and its value as text.
func (h *cards) add(keyword, value string) {
	fmt.Fprintf(&h.text, "%-*s", cardLen, fmt.Sprintf("%-8s= %20s", keyword, value))
}

func (h *cards) integer(keyword string, n int64) { h.add(keyword, strconv.FormatInt(n, 10)) }

// real adds a number that is read as the same one.
func (h *cards) real(keyword string, f float64) {
	digits, exponent, has := strings.Cut(strconv.FormatFloat(f, 'G', -1, 64), "E")
	if !strings.Contains(digits, ".") {
		digits += ".0"
	}
	if has {
		digits += "E" + exponent
	}
	h.add(keyword, digits)
}

// word adds a text, unless it is empty or the format cannot say it. Spaces at the end do not count
// there (section 4.2.1).
func (h *cards) word(keyword, s string) {
	quoted := "'" + fmt.Sprintf("%-8s", strings.ReplaceAll(s, "'", "''")) + "'"
	if s == "" || strings.HasSuffix(s, " ") || !isPrinted(s) || len(quoted) > cardLen-10 {
		return
	}
	h.add(keyword, fmt.Sprintf("%-20s", quoted))
}

// isPrinted reports whether all of s are printed characters of ASCII, the only ones that there are.
func isPrinted(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// values adds what the numbers are.
func (h *cards) values(v Volume) {
	if v.IsPacked {
		h.real("BSCALE", v.Slope)
		h.real("BZERO", v.Offset)
	}
	if v.HasBlank && v.Type.holds(v.Blank) {
		h.integer("BLANK", v.Blank)
	}
	h.word("BUNIT", fitsUnit(v.Unit))
	if v.Name != "" && isPrinted(v.Name) && len(v.Name) <= cardLen-8 {
		fmt.Fprintf(&h.text, "%-*s", cardLen, "COMMENT "+v.Name)
	}
}

// holds reports whether n is a number of a type of integers.
func (t Type) holds(n int64) bool {
	switch t.Class {
	case Uint:
		return n >= 0 && (t.Size == 8 || n>>(8*t.Size) == 0)
	case Int:
		unused := 64 - 8*t.Size
		return n<<unused>>unused == n
	}
	return false
}

// axis adds what is known of the axis of that number: its name, and where its elements lie. A start
// without a step is left out: readers would take the step for one.
func (h *cards) axis(number int, a Axis) {
	keyword := func(s string) string { return fmt.Sprint(s, number) }
	if len(a.Name) < 5 || a.Name[4] != '-' { // it would be the name of a projection (WCS, table 1)
		h.word(keyword("CTYPE"), a.Name)
	}
	h.word(keyword("CUNIT"), fitsUnit(a.Unit))
	if !a.HasStep {
		return
	}
	h.real(keyword("CDELT"), a.Step)
	if a.HasStart {
		h.real(keyword("CRPIX"), 1) // the centre of the first element
		h.real(keyword("CRVAL"), a.Start)
	}
}

// fitsUnit returns a unit as the format has it. Those that are not known are left as they are.
func fitsUnit(unit string) string {
	if known, ok := fitsUnits[unit]; ok {
		return known
	}
	return unit
}

// filled returns the header with so many lines. The one that ends it must be in the last block
// (section 3.3.1), and empty ones may come before it.
func (h *cards) filled(lines int) []byte {
	before := max(0, lines*cardLen-FITSBlock-h.text.Len())
	text := h.text.String() + strings.Repeat(" ", before) + "END"
	return fmt.Appendf(nil, "%-*s", lines*cardLen, text)
}

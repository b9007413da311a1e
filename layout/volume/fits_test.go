package volume

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// fitsLines returns the lines of a header that are not empty, and how many there are.
func fitsLines(t *testing.T, v Volume) (said []string, lines int) {
	t.Helper()
	head, err := FITS(v)
	if err != nil || len(head)%FITSBlock != 0 {
		t.Fatalf("%d bytes, %v", len(head), err)
	}
	for at := 0; at < len(head); at += cardLen {
		if line := strings.TrimRight(string(head[at:at+cardLen]), " "); line != "" {
			said = append(said, line)
		}
	}
	return said, len(head) / cardLen
}

func TestFITS(t *testing.T) {
	stack := cube()
	stack.Type, stack.Name, stack.Unit = Type{Int, 2, true}, "a cell's heat", "m s-1"
	stack.IsPacked, stack.Slope, stack.Offset = true, 0.1, -1.0/3*1e-20
	stack.Blank, stack.HasBlank = -32768, true
	stack.Axes[0].Name, stack.Axes[0].Unit = "filter's", "furlong"
	for _, tc := range []struct {
		name string
		v    Volume
		want string
	}{
		{"all that can be said", stack, `SIMPLE  =                    T
BITPIX  =                   16
NAXIS   =                    4
NAXIS1  =                    7
NAXIS2  =                    5
NAXIS3  =                    4
NAXIS4  =                    3
BSCALE  =                  0.1
BZERO   = -3.3333333333333333E-21
BLANK   =               -32768
BUNIT   = 'm s-1   '
COMMENT a cell's heat
CTYPE1  = 'x\      '
CUNIT1  = 'um      '
CDELT1  =                 0.25
CRPIX1  =                  1.0
CRVAL1  =                  0.0
CTYPE2  = 'y       '
CUNIT2  = 'um      '
CDELT2  =                -0.25
CRPIX2  =                  1.0
CRVAL2  =                  1.0
CTYPE3  = 'z       '
CUNIT3  = 'um      '
CDELT3  =                  2.0
CRPIX3  =                  1.0
CRVAL3  =                 10.0
CTYPE4  = 'filter''s'
CUNIT4  = 'furlong '
END`},
		{"a scalar", Volume{Type: Type{Uint, 1, false}}, `SIMPLE  =                    T
BITPIX  =                    8
NAXIS   =                    1
NAXIS1  =                    1
END`},
		{"complex", Volume{Type: Type{Complex, 16, true}, Axes: []Axis{{Length: 1 << 40,
			Start: 7, HasStart: true}}}, `SIMPLE  =                    T
BITPIX  =                  -64
NAXIS   =                    2
NAXIS1  =                    2
NAXIS2  =        1099511627776
CTYPE1  = 'COMPLEX '
CDELT1  =                  1.0
CRPIX1  =                  1.0
CRVAL1  =                  1.0
END`},
		{"steps without a start", Volume{Type: Type{Float, 4, true}, Axes: []Axis{{Length: 2,
			Step: 1e300, HasStep: true}}}, `SIMPLE  =                    T
BITPIX  =                  -32
NAXIS   =                    1
NAXIS1  =                    2
CDELT1  =             1.0E+300
END`},
	} {
		said, _ := fitsLines(t, tc.v)
		if got := strings.Join(said, "\n"); got != tc.want {
			t.Errorf("%s:\n%s\nexpected:\n%s", tc.name, got, tc.want)
		}
	}
}

// TestFITSTypes: an array whose bytes are not those of a FITS file has none.
func TestFITSTypes(t *testing.T) {
	for kind, has := range map[Type]bool{
		{Uint, 1, false}: true, {Uint, 1, true}: true, {Int, 1, false}: false,
		{Uint, 2, true}: false, {Uint, 4, true}: false, {Uint, 8, true}: false,
		{Int, 2, true}: true, {Int, 4, true}: true, {Int, 8, true}: true, {Int, 2, false}: false,
		{Float, 2, true}: false, {Float, 4, true}: true, {Float, 8, true}: true,
		{Float, 4, false}: false, {Complex, 8, true}: true, {Complex, 8, false}: false,
		{Complex, 4, true}: false,
	} {
		if _, err := FITS(Volume{Type: kind, Axes: []Axis{{Length: 5}}}); (err == nil) != has {
			t.Errorf("%v: %v, expected a header: %t", kind, err, has)
		}
	}
}

// TestFITSTexts: a text is said as it is, or not at all.
func TestFITSTexts(t *testing.T) {
	for text, want := range map[string]string{
		"x": "'x       '", "it's": "'it''s   '", " x": "' x      '", "x ": "", " ": "", "": "",
		"é": "", "a\nb": "", "a\x00b": "", "RA---TAN": "", "band-sin": "", "a-b-c": "'a-b-c   '",
		strings.Repeat("n", 68): "'" + strings.Repeat("n", 68) + "'", strings.Repeat("n", 69): "",
		strings.Repeat("'", 34): "'" + strings.Repeat("'", 68) + "'", strings.Repeat("'", 35): "",
	} {
		v := Volume{Type: Type{Uint, 1, false}, Axes: []Axis{{Length: 5, Name: text}}}
		said, _ := fitsLines(t, v)
		got := ""
		for _, line := range said {
			if rest, ok := strings.CutPrefix(line, "CTYPE1  = "); ok {
				got = rest
			}
		}
		if got != want {
			t.Errorf("%q: %s, expected %s", text, got, want)
		}
	}
}

// TestFITSBlank: the number that means "no value" is said of integers, if it is one of theirs.
func TestFITSBlank(t *testing.T) {
	for _, tc := range []struct {
		kind  Type
		blank int64
		is    bool
	}{
		{Type{Uint, 1, false}, 255, true}, {Type{Uint, 1, false}, 256, false},
		{Type{Uint, 1, false}, -1, false}, {Type{Int, 2, true}, -32768, true},
		{Type{Int, 2, true}, 32768, false}, {Type{Int, 4, true}, math.MinInt32, true},
		{Type{Int, 8, true}, math.MinInt64, true}, {Type{Float, 4, true}, 0, false},
	} {
		v := Volume{Type: tc.kind, Axes: []Axis{{Length: 5}}, Blank: tc.blank, HasBlank: true}
		said, _ := fitsLines(t, v)
		got := strings.Contains(strings.Join(said, "\n"), "\nBLANK   = ")
		if got != tc.is {
			t.Errorf("%v, %d: said %t, expected %t", tc.kind, tc.blank, got, tc.is)
		}
	}
}

// TestFITSPacking: slope and offset are said as they are. What CF says of unsigned numbers cannot
// be said.
func TestFITSPacking(t *testing.T) {
	v := Volume{Type: Type{Int, 2, true}, Axes: []Axis{{Length: 5}}, IsPacked: true}
	for _, f := range []float64{1, 0, -2.5, 0.1, 273.15, math.Pi * 1e-300, math.MaxFloat64,
		math.SmallestNonzeroFloat64, 1.0 / 3, 1 << 62} {
		v.Slope, v.Offset = f, -f
		said, _ := fitsLines(t, v)
		for i, want := range []float64{f, -f} {
			_, text, _ := strings.Cut(said[4+i], "= ")
			got, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil || got != want || !strings.Contains(text, ".") {
				t.Errorf("%g is said as %s", want, text)
			}
		}
	}
	v.IsUnsigned = true
	if head, err := FITS(v); err == nil {
		t.Errorf("unsigned: a header of %d bytes", len(head))
	}
	v.Type = Type{Uint, 1, false}
	if _, err := FITS(v); err != nil {
		t.Errorf("bytes, which are unsigned: %v", err)
	}
}

// TestFITSHasRoom: a header of many axes has room for all that is said of them, and its length does
// not depend on it.
func TestFITSHasRoom(t *testing.T) {
	for axes := range 65 {
		v := Volume{Type: Type{Int, 2, true}}
		for range axes {
			v.Axes = append(v.Axes, Axis{Length: 1})
		}
		bare, lines := fitsLines(t, v)
		v.Name, v.Unit, v.IsPacked, v.HasBlank = "a", "K", true, true
		for i := range v.Axes {
			v.Axes[i] = Axis{Length: 1, Name: "n", Unit: "m", Step: 2, Start: 1, HasStep: true,
				HasStart: true}
		}
		full, same := fitsLines(t, v)
		if lines != same || len(full) > lines || full[len(full)-1] != "END" ||
			axes > 0 && len(full) != len(bare)+5+5*axes {
			t.Errorf("%d axes: %d of %d lines, of %d otherwise", axes, len(full), same, lines)
		}
	}
}

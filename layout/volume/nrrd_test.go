package volume

import (
	"errors"
	"strings"
	"testing"
)

// cube is a volume whose axes say all that there is to say.
func cube() Volume {
	return Volume{Type: Type{Class: Uint, Size: 2}, Name: "a \"cell\"\n", Unit: "K", Axes: []Axis{
		{Length: 3, Name: "c", Kind: Channel},
		{Length: 4, Name: "z", Kind: Space, Unit: "um", Step: 2, HasStep: true, Start: 10,
			HasStart: true},
		{Length: 5, Name: "y", Kind: Space, Unit: "um", Step: -0.25, HasStep: true, Start: 1,
			HasStart: true},
		{Length: 7, Name: `x\`, Kind: Space, Unit: "um", Step: 0.25, HasStep: true, Start: 0,
			HasStart: true},
	}}
}

func TestNRRD(t *testing.T) {
	for _, tc := range []struct {
		name, data, want string
		of               func(v *Volume)
	}{
		{"space", "", `NRRD0005
type: uint16
dimension: 4
sizes: 7 5 4 3
endian: little
encoding: raw
space dimension: 3
space directions: (0.25,0,0) (0,-0.25,0) (0,0,2) none
space origin: (0,1,10)
space units: "um" "um" "um"
kinds: space space space list
labels: "x\\" "y" "z" "c"
content: a "cell" ` + `
sample units: K
`, func(*Volume) {}},
		{"time", "", `NRRD0005
type: uint16
dimension: 4
sizes: 7 5 4 3
endian: big
encoding: raw
spacings: 0.25 -0.25 2 nan
axis mins: 0 1 10 nan
centers: node node node node
units: "um" "um" "um" ""
kinds: space space space time
labels: "x\\" "y" "z" "c"
content: a "cell" ` + `
sample units: K
`, func(v *Volume) { v.Axes[0].Kind, v.Type.Big = Time, true }},
		{"bare", "", "NRRD0005\ntype: int8\ndimension: 1\nsizes: 7\nencoding: raw\nkinds: ???\n",
			func(v *Volume) { *v = Volume{Type: Type{Int, 1, false}, Axes: []Axis{{Length: 7}}} }},
		{"scalar", "", "NRRD0005\ntype: double\ndimension: 1\nsizes: 1\nendian: little\n" +
			"encoding: raw\nkinds: ???\n",
			func(v *Volume) { *v = Volume{Type: Type{Float, 8, false}} }},
		{"complex", "a.raw", "NRRD0005\ntype: float\ndimension: 2\nsizes: 2 7\nendian: little\n" +
			"encoding: raw\ndata file: a.raw\nkinds: complex ???\nlabels: \"complex\" \"\"\n",
			func(v *Volume) {
				*v = Volume{Type: Type{Complex, 8, false},
					Axes: []Axis{{Length: 7}}}
			}},
	} {
		v := cube()
		tc.of(&v)
		head, err := NRRD(v, tc.data)
		if err != nil || len(head) != textLen || !strings.HasPrefix(string(head), tc.want+"# -") {
			t.Errorf("%s: %d bytes, %v:\n%.600s\nexpected:\n%s", tc.name, len(head), err, head,
				tc.want)
		}
		if end := strings.HasSuffix(string(head), "-\n\n"); end != (tc.data == "") {
			t.Errorf("%s: an empty line at the end: %t", tc.name, end)
		}
	}
}

// TestRefused: what a format cannot hold has no header, and no header is longer for what its axes
// say.
func TestRefused(t *testing.T) {
	long := cube()
	for i := range long.Axes {
		long.Axes[i].Name = strings.Repeat("name", 1000)
		long.Axes[i].Unit = strings.Repeat("unit", 1000)
	}
	long.Name, long.Unit = strings.Repeat("n", 10000), strings.Repeat("u", 10000)
	bare := Volume{Type: cube().Type}
	for _, a := range cube().Axes {
		bare.Axes = append(bare.Axes, Axis{Length: a.Length})
	}
	for name, header := range headers {
		full, err := header(cube())
		plain, err2 := header(bare)
		much, err3 := header(long)
		if err := errors.Join(err, err2, err3); err != nil || len(full) != len(plain) ||
			len(much) != len(full) {
			t.Errorf("%s: %d, %d and %d bytes, %v", name, len(plain), len(full), len(much), err)
		}
		for what, v := range map[string]Volume{
			"no element": {Type: cube().Type, Axes: []Axis{{Length: 0}, {Length: 5}}},
			"too many elements": {Type: cube().Type,
				Axes: []Axis{{Length: 1 << 40}, {Length: 1 << 40}}},
			"many axes": {Type: cube().Type, Axes: make([]Axis, 70)},
			"a type of 16 bytes": {Type: Type{Float, 16, false},
				Axes: []Axis{{Length: 5}, {Length: 5}}},
		} {
			if head, err := header(v); !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%s of %s: %d bytes, %v", name, what, len(head), err)
			}
		}
	}
}

// headers are the formats in which shape and type give the length of the header.
var headers = map[string]func(Volume) ([]byte, error){
	"nrrd": func(v Volume) ([]byte, error) { return NRRD(v, "") },
	"nhdr": func(v Volume) ([]byte, error) { return NRRD(v, "a.raw") },
	"nii":  NIfTI,
	"mha":  func(v Volume) ([]byte, error) { return MetaImage(v, "") },
	"mhd":  func(v Volume) ([]byte, error) { return MetaImage(v, "a.raw") },
	"mrc":  MRC,
	"fits": func(v Volume) ([]byte, error) {
		v.Type.Class, v.Type.Big = Int, true // it has no other of two bytes
		return FITS(v)
	},
	"envi": ENVI,
	"tif":  TIFF,
	"ome":  OMETIFF,
}

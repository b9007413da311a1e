package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	headers "github.com/zarrfs/zarrfs/layout/volume"
	"github.com/zarrfs/zarrfs/layout/vtkhdf"
)

// headerWriters are the formats with a header before the data, or beside the data, whose file is
// named then.
var headerWriters = map[string]func(v headers.Volume, data string) ([]byte, error){
	"nrrd":    func(v headers.Volume, _ string) ([]byte, error) { return headers.NRRD(v, "") },
	"nhdr":    headers.NRRD,
	"mha":     func(v headers.Volume, _ string) ([]byte, error) { return headers.MetaImage(v, "") },
	"mhd":     headers.MetaImage,
	"nii":     func(v headers.Volume, _ string) ([]byte, error) { return headers.NIfTI(v) },
	"mrc":     func(v headers.Volume, _ string) ([]byte, error) { return headers.MRC(v) },
	"fits":    func(v headers.Volume, _ string) ([]byte, error) { return headers.FITS(v) },
	"tif":     func(v headers.Volume, _ string) ([]byte, error) { return headers.TIFF(v) },
	"ome.tif": func(v headers.Volume, _ string) ([]byte, error) { return headers.OMETIFF(v) },
	"raw.hdr": func(v headers.Volume, _ string) ([]byte, error) { return headers.ENVI(v) },
	"vtkhdf":  func(v headers.Volume, _ string) ([]byte, error) { return vtkhdf.Header(v) },
}

// isBeside reports whether the data are in another file.
func isBeside(format string) bool {
	return format == "nhdr" || format == "mhd" || format == "raw.hdr"
}

// TestReadersOfRandomHeaders: other programs read the headers of arrays with random axes, types,
// places and packing, and find the values behind them.
//
//	ZARRFS_HEADERS=2000       so many arrays instead of 150
//	ZARRFS_HEADERS_SEED=7     other ones; a failure names the array
func TestReadersOfRandomHeaders(t *testing.T) {
	interpreter, dir := viewsPython(t), t.TempDir()
	seed := numberOf(t, "ZARRFS_HEADERS_SEED", 1)
	random := rand.New(rand.NewPCG(seed, 2))
	for i := range numberOf(t, "ZARRFS_HEADERS", 150) {
		v := randomVolume(random)
		most := 0x100
		if v.Type.Class == headers.Float || v.Type.Class == headers.Complex {
			most = 0x70 // so that no number is NaN
		}
		data := make([]byte, v.Bytes())
		for k := range data {
			data[k] = byte(random.IntN(most))
		}
		writeNew(t, filepath.Join(dir, fmt.Sprint(i, ".json")), described(t, v))
		raw := fmt.Sprint(i, ".raw")
		writeNew(t, filepath.Join(dir, raw), data)
		for format, header := range headerWriters {
			head, err := header(v, raw)
			if errors.Is(err, errors.ErrUnsupported) {
				continue // the format cannot hold it
			}
			if err != nil {
				t.Errorf(".%s of %+v: %v", format, v, err)
				continue
			}
			file := head
			if !isBeside(format) {
				file = append(head, data...)
			}
			for format == "fits" && len(file)%headers.FITSBlock > 0 {
				file = append(file, 0)
			}
			writeNew(t, filepath.Join(dir, fmt.Sprint(i, ".", format)), file)
		}
	}
	t.Logf("seed %d: %s", seed, runPython(t, interpreter, "interop/view_headers.py", dir))
}

func writeNew(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// described returns what an array is, as JSON. What is not known is null.
func described(t *testing.T, v headers.Volume) []byte {
	t.Helper()
	order := map[bool]string{false: "<", true: ">"}[v.Type.Big]
	shape, kinds := []int64{}, []string{}
	names, units, starts, steps := []string{}, []string{}, []any{}, []any{}
	labels := [][]string{}
	known := func(is bool, f float64) any {
		if !is {
			return nil
		}
		return f
	}
	for _, a := range v.Axes {
		shape, names, units = append(shape, a.Length), append(names, a.Name), append(units, a.Unit)
		labels = append(labels, a.Labels)
		kinds = append(kinds, [...]string{"", "space", "time", "channel"}[a.Kind])
		steps = append(steps, known(a.HasStep, a.Step))
		starts = append(starts, known(a.HasStart, a.Start))
	}
	said := map[string]any{
		"dtype": fmt.Sprintf("%s%c%d", order, "uifc"[v.Type.Class], v.Type.Size),
		"shape": shape, "kinds": kinds, "names": names, "units": units, "steps": steps,
		"starts": starts, "labels": labels, "name": v.Name, "unit": v.Unit,
		"slope": known(v.IsPacked, v.Slope), "offset": known(v.IsPacked, v.Offset),
		"unsigned": v.IsPacked && v.IsUnsigned && v.Type.Class == headers.Int,
	}
	if v.HasBlank {
		said["blank"] = v.Blank
	}
	if v.Place.Known {
		said["place"] = map[string]any{"x": v.Place.X, "y": v.Place.Y, "epsg": v.Place.EPSG}
	}
	text, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// randomVolume returns a random array.
func randomVolume(random *rand.Rand) (v headers.Volume) {
	types := []headers.Type{{Class: headers.Uint, Size: 1}, {Class: headers.Int, Size: 1},
		{Class: headers.Uint, Size: 2},
		{Class: headers.Int, Size: 2}, {Class: headers.Uint, Size: 4},
		{Class: headers.Int, Size: 4}, {Class: headers.Int, Size: 8},
		{Class: headers.Float, Size: 2}, {Class: headers.Float, Size: 4},
		{Class: headers.Float, Size: 8},
		{Class: headers.Complex, Size: 8}}
	v.Type = types[random.IntN(len(types))]
	v.Type.Big = v.Type.Size > 1 && random.IntN(2) == 0
	texts := []string{"", "x", "temps écoulé", `"quo\ted"`, "a\nb", "}{", "<&>", "K", "it's",
		"micrometer", "ångström \x00"}
	text := func() string { return texts[random.IntN(len(texts))] }
	v.Name, v.Unit = text(), text()
	unit := randomUnit(random)
	for range random.IntN(6) {
		a := headers.Axis{Length: 1 + random.Int64N(5), Name: text(), Unit: unit,
			Kind: headers.Kind(random.IntN(4))}
		switch {
		case random.IntN(4) == 0:
			a.Unit = text()
		case a.Kind == headers.Time && random.IntN(3) > 0:
			a.Unit = []string{"second", "millisecond", "minute"}[random.IntN(3)]
		}
		if random.IntN(3) > 0 {
			a.Step, a.HasStep = random.NormFloat64()*[]float64{1e-9, 1, 1e9}[random.IntN(3)], true
		}
		if random.IntN(2) == 0 {
			a.Start, a.HasStart = random.NormFloat64()*1e3, true
		}
		if a.Kind == headers.Channel {
			for range a.Length {
				a.Labels = append(a.Labels, text())
			}
		}
		v.Axes = append(v.Axes, a)
	}
	addValues(&v, random)
	if len(v.Axes) > 1 && random.IntN(3) == 0 {
		v.Place = randomPlace(random)
	}
	return v
}

// randomUnit returns a unit of lengths that most formats have.
func randomUnit(random *rand.Rand) string {
	return []string{"nanometer", "micrometer", "millimeter", "m", "degrees_north"}[random.IntN(5)]
}

// addValues adds how the values are packed, and which number says that there is no value.
func addValues(v *headers.Volume, random *rand.Rand) {
	if random.IntN(3) == 0 {
		v.IsPacked, v.IsUnsigned = true, random.IntN(3) == 0
		v.Slope = []float64{1, 0.5, 0.01, -2, 1e-30}[random.IntN(5)]
		v.Offset = []float64{0, 273.15, -1e6}[random.IntN(3)]
	}
	isInteger := v.Type.Class == headers.Uint || v.Type.Class == headers.Int
	if isInteger && random.IntN(3) == 0 {
		v.HasBlank, v.Blank = true, []int64{-1, 0, 100, -32768, 70000}[random.IntN(5)]
	}
}

// randomPlace returns a place with north up, or a rotated one.
func randomPlace(random *rand.Rand) headers.Place {
	p := headers.Place{Known: true, X: [3]float64{random.NormFloat64() * 1e5, 10, 0},
		Y: [3]float64{random.NormFloat64() * 1e6, 0, -10}}
	if random.IntN(2) == 0 {
		p.X[2], p.Y[1] = random.NormFloat64(), random.NormFloat64()
	}
	switch random.IntN(3) {
	case 0:
		p.EPSG = 32632
	case 1:
		p.EPSG, p.IsGeographic = 4326, true
	}
	return p
}

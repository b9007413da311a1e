package integration

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	headers "github.com/zarrfs/zarrfs/layout/volume"
)

// randomHeaders is how many random arrays have their headers read in TestReadersOfRandomHeaders.
const randomHeaders = 150

// volumeHeaders are the formats with a header before the data.
var volumeHeaders = map[string]func(headers.Volume) ([]byte, error){
	"nrrd":    func(v headers.Volume) ([]byte, error) { return headers.NRRD(v, "") },
	"mha":     func(v headers.Volume) ([]byte, error) { return headers.MetaImage(v, "") },
	"nii":     headers.NIfTI,
	"mrc":     headers.MRC,
	"fits":    headers.FITS,
	"tif":     headers.TIFF,
	"ome.tif": headers.OMETIFF,
}

// TestReadersOfRandomHeaders: other programs read the headers of arrays with random axes and types,
// and find the values behind them.
func TestReadersOfRandomHeaders(t *testing.T) {
	interpreter, dir := viewsPython(t), t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	for i := range randomHeaders {
		v, typestr := randomVolume(random)
		data := make([]byte, v.Bytes())
		for k := range data {
			data[k] = byte(random.IntN(0x70)) // so that no number is NaN
		}
		said := map[string]any{"dtype": typestr, "shape": []int64{}, "steps": []any{},
			"names": []string{}, "channels": 0}
		for _, a := range v.Axes {
			said["shape"] = append(said["shape"].([]int64), a.Length)
			said["names"] = append(said["names"].([]string), a.Name)
			if a.Kind == headers.Channel {
				said["channels"] = said["channels"].(int) + 1
			}
			step := any(nil)
			if a.HasStep {
				step = a.Step
			}
			said["steps"] = append(said["steps"].([]any), step)
		}
		text, err := json.Marshal(said)
		if err != nil {
			t.Fatal(err)
		}
		writeNew(t, filepath.Join(dir, fmt.Sprint(i, ".json")), text)
		writeNew(t, filepath.Join(dir, fmt.Sprint(i, ".raw")), data)
		for name, header := range volumeHeaders {
			if head, err := header(v); err == nil {
				file := append(head, data...)
				for name == "fits" && len(file)%headers.FITSBlock > 0 {
					file = append(file, 0)
				}
				writeNew(t, filepath.Join(dir, fmt.Sprint(i, ".", name)), file)
			}
		}
	}
	t.Log(runPython(t, interpreter, "interop/view_headers.py", dir))
}

func writeNew(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// randomVolume returns a random array, and its type as NumPy spells it.
func randomVolume(random *rand.Rand) (v headers.Volume, typestr string) {
	texts := []string{"", "x", "temps écoulé", `"quo\ted"`, "a\nb", "}{", "<&>", "nm",
		"micrometer", "ångström \x00"}
	text := func() string { return texts[random.IntN(len(texts))] }
	types := []headers.Type{{Class: headers.Uint, Size: 1}, {Class: headers.Int, Size: 1},
		{Class: headers.Uint, Size: 2},
		{Class: headers.Int, Size: 2}, {Class: headers.Uint, Size: 4},
		{Class: headers.Int, Size: 8},
		{Class: headers.Float, Size: 2}, {Class: headers.Float, Size: 4},
		{Class: headers.Float, Size: 8},
		{Class: headers.Complex, Size: 8}}
	v.Type = types[random.IntN(len(types))]
	v.Type.Big = v.Type.Size > 1 && random.IntN(2) == 0
	v.Name, v.Unit = text(), text()
	for range random.IntN(6) {
		a := headers.Axis{Length: 1 + random.Int64N(5), Name: text(), Unit: text(),
			Kind: headers.Kind(random.IntN(4))}
		if random.IntN(2) == 0 {
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
	order := map[bool]string{false: "<", true: ">"}[v.Type.Big]
	return v, fmt.Sprintf("%s%c%d", order, "uifc"[v.Type.Class], v.Type.Size)
}

package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// TestNumcodecsFixtures decodes numcodecs' own fixtures of filters. ZARRFS_CORPORA names the folder
// with numcodecs/fixture in it.
func TestNumcodecsFixtures(t *testing.T) {
	corpora := os.Getenv("ZARRFS_CORPORA")
	if corpora == "" {
		t.Skip("ZARRFS_CORPORA is not set: numcodecs' fixtures are not read")
	}
	for _, dir := range []string{
		"shuffle", "fixedscaleoffset", "quantize", "packbits", "categorize/U",
		"astype/f", "astype/i",
		"delta/bool", "delta/float32", "delta/float64", "delta/int32", "delta/uint16",
	} {
		dir = filepath.Join(corpora, "numcodecs", "fixture", dir)
		encoded, err := filepath.Glob(filepath.Join(dir, "codec.*", "encoded.*.dat"))
		if err != nil || len(encoded) == 0 {
			t.Fatalf("no fixtures in %s: %v", dir, err)
		}
		for _, path := range encoded {
			if err := checkFixture(dir, path); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		t.Logf("%s: %d objects", dir, len(encoded))
	}
}

// checkFixture compares one encoded object with the array that it was made of: byte for byte, or
// within what its filter loses.
func checkFixture(dir, path string) error {
	object, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	config, err := readConfig(filepath.Join(filepath.Dir(path), "config.json"))
	if err != nil {
		return err
	}
	array, err := os.ReadFile(filepath.Join(dir,
		"array."+strings.Split(filepath.Base(path), ".")[1]+".npy"))
	if err != nil {
		return err
	}
	info, err := npy.Parse(array)
	if err != nil {
		return err
	}
	want := array[info.Len:]
	chain, err := Bind(filterArray(config, len(want)))
	if err != nil {
		return err
	}
	got := make([]byte, len(want))
	if err := chain.Decode(got, memory(object), 0); err != nil {
		return err
	}
	if loss, ok := lossOf(config); ok {
		return checkClose(got, want, loss)
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("decoded bytes differ")
	}
	return nil
}

// readConfig reads a codec's configuration.
func readConfig(path string) (pyjson.Value, error) {
	doc, err := os.ReadFile(path)
	if err != nil {
		return pyjson.Value{}, err
	}
	return pyjson.Parse(doc)
}

// loss is how far a float64 may be from what was encoded.
type loss struct{ absolute, relative float64 }

var floatBits = regexp.MustCompile(`f([248])$`)

// lossOf says what a lossy filter of float64 may lose.
func lossOf(config pyjson.Value) (loss, bool) {
	var l loss
	switch config.Get("id").Text() {
	case "fixedscaleoffset":
		scale, _ := config.Get("scale").Float64()
		l.absolute = .501 / scale
	case "quantize":
		digits, _ := config.Get("digits").Float64()
		l.absolute = math.Pow(10, -digits)
	case "astype":
	default:
		return l, false
	}
	astype := config.Get("astype").Text() + config.Get("encode_dtype").Text()
	l.relative = 0x1p-52
	if m := floatBits.FindStringSubmatch(astype); m != nil {
		l.relative = map[string]float64{"2": 0x1p-11, "4": 0x1p-24, "8": 0x1p-52}[m[1]]
	}
	return l, config.Get("decode_dtype").Text() != "<i4"
}

func checkClose(got, want []byte, l loss) error {
	for i := 0; i < len(want); i += 8 {
		g := math.Float64frombits(binary.LittleEndian.Uint64(got[i:]))
		w := math.Float64frombits(binary.LittleEndian.Uint64(want[i:]))
		if !(math.Abs(g-w) <= l.absolute+l.relative*math.Abs(w)) {
			return fmt.Errorf("number %d: expected %v, found %v", i/8, w, g)
		}
	}
	return nil
}

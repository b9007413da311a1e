package slice

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// unpacked returns the values of an array of that type, fill value and attributes.
func unpacked(t *testing.T, name, attributes string, stored []byte) (all []float64) {
	t.Helper()
	m, _, err := meta.ParseV3(fmt.Appendf(nil, `{"zarr_format": 3, "node_type": "array",
		"shape": [4],
		"data_type": %q, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
		"chunk_key_encoding": {"name": "default"}, "fill_value": 0, "attributes": {%s},
		"codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}`, name, attributes))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Of("scale", m)
	if err != nil {
		t.Fatal(err)
	}
	for b := s.Values(nil, stored); len(b) > 0; b = b[8:] {
		all = append(all, math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return all
}

// TestMissing: only elements that are equal to the value of an attribute are missing. float64 would
// take others for equal too.
func TestMissing(t *testing.T) {
	long := binary.LittleEndian.AppendUint64(nil, 1<<53)
	long = binary.LittleEndian.AppendUint64(long, 1<<53+1)
	half := []byte{0x66, 0x2e, 0x00, 0x3c} // 0.1 and 1
	short := []byte{0xf1, 0xd8, 1, 0}      // -9999 and 1
	for _, tc := range []struct {
		name, attributes string
		stored           []byte
	}{
		{"int64", `"_FillValue": 9007199254740992`, long},
		{"uint64", `"missing_value": [1, 9007199254740992]`, long},
		{"float16", `"_FillValue": 0.1`, half},
		{"int16", `"_FillValue": -9999`, []byte{0xf1, 0xd8, 0, 0}}, // 0 is not what is absent
		{"int16", `"missing_value": [null, -9999]`, []byte{0xf1, 0xd8, 0, 0}},
		{"int16", `"_FillValue": -9999.0`, short},
		{"int16", `"_FillValue": -9999, "missing_value": 1e300`, short},
	} {
		got := unpacked(t, tc.name, tc.attributes, tc.stored)
		if !math.IsNaN(got[0]) || math.IsNaN(got[1]) {
			t.Errorf("%s with %s: %v, expected NaN and a number", tc.name, tc.attributes, got)
		}
	}
}

// TestTooLarge: a part that has more bytes than a file can have is refused.
func TestTooLarge(t *testing.T) {
	m := parsed(t, `"x"`, "")
	m.Shape = []int64{1 << 61, 1, 1}
	if _, err := Of("scale", m); err == nil {
		t.Error("2^61 elements of 8 bytes are a file")
	}
	if _, err := Of("scale,t=0:5", m); err != nil {
		t.Error(err)
	}
}

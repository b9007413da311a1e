package slice

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// scaling returns what unpacks elements as the CF conventions say (8.1 and 2.5.1): stored values
// that mean "missing" become NaN, others are multiplied by scale_factor, and add_offset is added.
// The result is float64, little-endian.
func scaling(m *meta.Array) (func(dst, stored []byte) []byte, error) {
	floats, err := m.Type.Floats()
	if err != nil {
		return nil, err
	}
	if m.Attributes.Get("_Unsigned").Text() == "true" {
		return nil, errors.New("the attribute _Unsigned is not supported")
	}
	factor, err := number(m, "scale_factor", 1)
	if err != nil {
		return nil, err
	}
	offset, err := number(m, "add_offset", 0)
	if err != nil {
		return nil, err
	}
	missing := missingOf(m, floats)
	return func(dst, stored []byte) []byte {
		for _, x := range floats(nil, stored) {
			bits := math.Float64bits(float64(x*factor) + offset) // rounded twice, as by NumPy
			if slices.Contains(missing, x) {
				bits = nan
			}
			dst = binary.LittleEndian.AppendUint64(dst, bits)
		}
		return dst
	}, nil
}

// nan is NumPy's NaN, which is not that of math.NaN.
const nan = 0x7ff8 << 48

// number returns an attribute that must be a number if it is there.
func number(m *meta.Array, name string, missing float64) (float64, error) {
	v := m.Attributes.Get(name)
	if !v.Exists() {
		return missing, nil
	}
	if values := numbersOf(v); len(values) == 1 {
		return values[0], nil
	}
	return 0, fmt.Errorf("the attribute %s is not a number", name)
}

// missingOf returns the stored values that mean "missing". Those of format 2 without a _FillValue
// have their fill value for it, as xarray writes and reads it.
func missingOf(m *meta.Array, floats func([]float64, []byte) []float64) []float64 {
	fill := m.Attributes.Get("_FillValue")
	missing := append(numbersOf(fill), numbersOf(m.Attributes.Get("missing_value"))...)
	if m.Format == 2 && m.FillDefined && !fill.Exists() {
		missing = append(missing, floats(nil, m.Fill)...)
	}
	if m.Type.Kind == dtype.Float && m.Type.Size < 8 { // JSON has more digits
		for _, x := range missing {
			missing = append(missing, float64(float32(x)))
		}
	}
	return missing
}

// numbersOf returns a number, or the numbers of a list. xarray writes a float in format 3 as the
// base64 of its 8 bytes.
func numbersOf(v pyjson.Value) (all []float64) {
	if x, ok := v.Float64(); ok {
		return []float64{x}
	}
	if b, err := base64.StdEncoding.DecodeString(v.Text()); err == nil && len(b) == 8 {
		return []float64{math.Float64frombits(binary.LittleEndian.Uint64(b))}
	}
	for element := range v.Elements() {
		if x, ok := element.Float64(); ok {
			all = append(all, x)
		}
	}
	return all
}

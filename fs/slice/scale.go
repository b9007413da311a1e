package slice

import (
	"bytes"
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
	isMissing := missingBy(m, floats)
	return func(dst, stored []byte) []byte {
		for i, x := range floats(nil, stored) {
			bits := math.Float64bits(float64(x*factor) + offset) // rounded twice, as by NumPy
			if isMissing(stored[int64(i)*m.Type.Size:][:m.Type.Size], x) {
				bits = nan
			}
			dst = binary.LittleEndian.AppendUint64(dst, bits)
		}
		return dst
	}, nil
}

// missingBy returns what reports whether an element means "missing". Integers are compared as they
// are stored: float64 does not tell all of them apart.
func missingBy(m *meta.Array, floats func([]float64, []byte) []float64) func([]byte, float64) bool {
	missing := missingOf(m)
	if m.Type.Kind != dtype.Float {
		return func(stored []byte, _ float64) bool {
			return slices.ContainsFunc(missing, func(e []byte) bool {
				return bytes.Equal(e,
					stored)
			})
		}
	}
	var numbers []float64
	for _, element := range missing {
		numbers = floats(numbers, element)
	}
	return func(_ []byte, x float64) bool { return slices.Contains(numbers, x) }
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

// missingOf returns the elements that mean "missing", as they are stored. Those of format 2 without
// a _FillValue have their fill value for it, as xarray writes and reads it.
func missingOf(m *meta.Array) (missing [][]byte) {
	fill := m.Attributes.Get("_FillValue")
	if m.Format == 2 && m.FillDefined && !fill.Exists() {
		missing = append(missing, m.Fill)
	}
	for _, v := range append(scalarsOf(fill), scalarsOf(m.Attributes.Get("missing_value"))...) {
		element, err := dtype.FillV3.Element(m.Type, v)
		if x, ok := v.Float64(); err != nil && ok && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			// -9999.0 of integers
			element, err = dtype.FillV3.Element(m.Type, pyjson.IntOf(int64(x)))
		}
		if err == nil { // otherwise no element can be equal to it
			missing = append(missing, element)
		}
	}
	return missing
}

// scalarsOf returns a number, or those of a list. xarray writes a float in format 3 as the base64
// of its 8 bytes.
func scalarsOf(v pyjson.Value) (all []pyjson.Value) {
	switch v.Kind() {
	case pyjson.Array:
		return slices.DeleteFunc(slices.Collect(v.Elements()), func(e pyjson.Value) bool {
			return e.Kind() != pyjson.Number
		})
	case pyjson.String:
		for _, x := range numbersOf(v) {
			all = append(all, pyjson.FloatOf(x))
		}
		return all
	case pyjson.Number:
		return []pyjson.Value{v}
	}
	return nil
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

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
	missing := saidMissing(m)
	if m.Format == 2 && m.FillDefined && !m.Attributes.Get("_FillValue").Exists() {
		missing = append(missing, m.Fill) // as xarray writes and reads it
	}
	p, err := packingOf(m, missing)
	if err != nil {
		return nil, err
	}
	return func(dst, stored []byte) []byte {
		for i, x := range p.floats(nil, stored) {
			bits := math.Float64bits(p.unpacked(x))
			if p.isMissing(stored[int64(i)*p.size:][:p.size], x) {
				bits = nan
			}
			dst = binary.LittleEndian.AppendUint64(dst, bits)
		}
		return dst
	}, nil
}

// Values returns what unpacks elements as scaling does. But the fill value of a format 2 document
// alone does not mean "missing" here: in images it is a colour like others.
func Values(m *meta.Array) (func(stored []byte) []float64, error) {
	p, err := packingOf(m, saidMissing(m))
	if err != nil {
		return nil, err
	}
	return func(stored []byte) []float64 {
		all := p.floats(nil, stored)
		for i, x := range all {
			all[i] = p.unpacked(x)
			if p.isMissing(stored[int64(i)*p.size:][:p.size], x) {
				all[i] = math.NaN()
			}
		}
		return all
	}, nil
}

// packing is how the elements of an array stand for values.
type packing struct {
	floats         func(dst []float64, stored []byte) []float64
	isMissing      func(stored []byte, x float64) bool
	factor, offset float64
	size           int64 // of an element, in bytes
}

func packingOf(m *meta.Array, missing [][]byte) (p packing, err error) {
	p.size = m.Type.Size
	if p.floats, err = m.Type.Floats(); err != nil {
		return p, err
	}
	if m.Attributes.Get("_Unsigned").Text() == "true" {
		return p, errors.New("the attribute _Unsigned is not supported")
	}
	if p.factor, err = number(m, "scale_factor", 1); err != nil {
		return p, err
	}
	if p.offset, err = number(m, "add_offset", 0); err != nil {
		return p, err
	}
	p.isMissing = missingBy(m, missing, p.floats)
	return p, nil
}

// unpacked returns the value that a stored number means. It is rounded twice, as by NumPy.
func (p packing) unpacked(x float64) float64 { return float64(x*p.factor) + p.offset }

// missingBy returns what reports whether an element is one of those that mean "missing". Integers
// are compared as they are stored: float64 does not tell all of them apart.
func missingBy(
	m *meta.Array, missing [][]byte, floats func([]float64, []byte) []float64,
) func([]byte, float64) bool {
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

// saidMissing returns the elements of which attributes say that they mean "missing", as they are
// stored.
func saidMissing(m *meta.Array) (missing [][]byte) {
	said := scalarsOf(m.Attributes.Get("_FillValue"))
	for _, v := range append(said, scalarsOf(m.Attributes.Get("missing_value"))...) {
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

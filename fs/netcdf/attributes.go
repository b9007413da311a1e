package netcdf

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/zarrfs/zarrfs/layout/hdf5"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// variable is the array that attributes belong to.
type variable struct {
	meta *meta.Array
	kind element
	form *Form
	fill []byte // the fill value of the document
}

const (
	fillValue  = "_FillValue"
	axisNames  = "_ARRAY_DIMENSIONS" // of xarray, in format 2
	unitsName  = "units"
	calendar   = "calendar"
	actualType = "dtype" // of xarray, for what netCDF has no type
)

// reserved are the attributes by which HDF5 and netCDF know dimensions.
var reserved = []string{"CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "_Netcdf4Dimid",
	"_Netcdf4Coordinates", "_nc3_strict"}

// attributes returns the attributes of a group, or of an array if v is not nil.
func (d *describer) attributes(
	path string,
	all iter.Seq2[string, pyjson.Value],
	v *variable,
) (list []hdf5.Attribute) {
	add := func(a hdf5.Attribute, err error) {
		if err == nil && a.Size() > hdf5.MaxAttribute {
			err = fmt.Errorf(
				"%d bytes, expected at most %d: %w",
				a.Size(),
				hdf5.MaxAttribute,
				errors.ErrUnsupported,
			)
		}
		if err != nil {
			d.leave(fmt.Sprintf("%s: attribute %s", path, a.Name), err)
			return
		}
		list = append(list, a)
	}
	own := v.ownAttributes()
	names := make(map[string]bool)
	for name := range all {
		names[name] = true
	}
	for name, value := range all {
		_, isOwn := own[name]
		switch {
		case v != nil && (name == axisNames || name == fillValue && v.fills()):
			continue
		case name == fillValue && v != nil:
			add(v.missing(value))
			continue
		case isOwn || d.reserves(name):
			name = free(name, names) // the library would take it for its own
		}
		add(d.attribute(name, value))
	}
	if v == nil {
		return list
	}
	if v.fills() && v.fill != nil {
		add(hdf5.Attribute{Name: fillValue, Type: v.kind.is, Data: v.fill}, nil)
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		add(d.textAttribute(name, own[name]), nil)
	}
	return list
}

// reserves reports whether an attribute of that name means something to readers of the file.
func (d *describer) reserves(name string) bool {
	return slices.Contains(reserved, name) ||
		d.flavour == MATLAB && slices.Contains(ofMATLAB, name)
}

// free returns a name that no attribute has, and adds it to names.
func free(name string, names map[string]bool) string {
	for name += "_"; names[name]; {
		name += "_"
	}
	names[name] = true
	return name
}

// ownAttributes returns the attributes that say what the bytes of the file mean. An attribute of
// the array says nothing of them where the file has another form of the elements.
func (v *variable) ownAttributes() map[string]string {
	own := make(map[string]string)
	if v == nil {
		return own
	}
	if v.kind.chars > 0 && v.kind.isUTF8 {
		own["_Encoding"] = "utf-8"
	}
	for name, text := range map[string]string{
		unitsName: v.kind.units, actualType: v.kind.note, calendar: v.kind.calendar,
	} {
		if text != "" {
			own[name] = text
		}
	}
	return own
}

// attribute returns the attribute of a value: a number, a text, a list of either, or the JSON of
// anything else.
func (d *describer) attribute(name string, value pyjson.Value) (hdf5.Attribute, error) {
	if name == "" || bytes.ContainsRune([]byte(name), 0) {
		return hdf5.Attribute{Name: name}, fmt.Errorf("no name of HDF5: %w", errors.ErrUnsupported)
	}
	switch value.Kind() {
	case pyjson.String:
		if !hasNUL(value) {
			return d.textAttribute(name, value.Text()), nil
		}
	case pyjson.Array:
		if a, ok := d.list(name, value.Elems()); ok {
			return a, nil
		}
	default:
		if a, ok := d.list(name, []pyjson.Value{value}); ok {
			a.Shape = nil
			return a, nil
		}
	}
	return d.textAttribute(name, string(value.Compact())), nil
}

// hasNUL reports whether a text has what ends a text of HDF5.
func hasNUL(v pyjson.Value) bool { return strings.IndexByte(v.Text(), 0) >= 0 }

// textAttribute returns an attribute that is a text. The netCDF library has texts of a fixed
// length, which programs of old know, and only long ones otherwise. An empty text is a NUL there.
func (d *describer) textAttribute(name, text string) hdf5.Attribute {
	if d.flavour == NetCDF4 && len(text) < hdf5.MaxAttribute/2 {
		data := []byte(text)
		if text == "" {
			data = []byte{0}
		}
		return hdf5.Attribute{Name: name, Type: hdf5.Text(len(data)), Data: data}
	}
	return hdf5.Attribute{Name: name, Type: hdf5.VarString, Strings: []string{text}}
}

// list returns an attribute that is a list of values of one kind; ok is false if they are not.
func (d *describer) list(name string, all []pyjson.Value) (a hdf5.Attribute, ok bool) {
	a = hdf5.Attribute{Name: name, Shape: []int64{int64(len(all))}}
	isA := func(kind pyjson.Kind) bool {
		return !slices.ContainsFunc(all, func(v pyjson.Value) bool { return v.Kind() != kind })
	}
	switch {
	case isA(pyjson.String) && len(all) > 0 && !slices.ContainsFunc(all, hasNUL):
		a.Type = hdf5.VarString
		for _, v := range all {
			a.Strings = append(a.Strings, v.Text())
		}
	case isA(pyjson.Bool) && len(all) > 0:
		if a.Type = hdf5.Bool(); d.flavour == NetCDF4 {
			a.Type = hdf5.Int(1, true, false)
		}
		for _, v := range all {
			b, _ := v.Bool()
			a.Data = append(a.Data, oneIf(b))
		}
	case isA(pyjson.Number):
		a.Type, a.Data = numbers(all)
	default:
		return a, false
	}
	return a, true
}

func oneIf(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// numbers returns numbers as int64, or as uint64 if one does not fit and all are positive. If one
// has a fraction, or is written as if it had one, all are float64.
func numbers(all []pyjson.Value) (t hdf5.Type, data []byte) {
	signed, unsigned := true, true
	for _, v := range all {
		isWhole := !bytes.ContainsAny(v.Raw(), ".eENI")
		_, fits := v.Int64()
		_, fitsUnsigned := v.Uint64()
		signed = signed && isWhole && fits
		unsigned = unsigned && isWhole && fitsUnsigned
	}
	for _, v := range all {
		var bits uint64
		switch {
		case signed:
			n, _ := v.Int64()
			bits = uint64(n)
		case unsigned:
			bits, _ = v.Uint64()
		default:
			f, _ := v.Float64()
			bits = math.Float64bits(f)
		}
		data = binary.LittleEndian.AppendUint64(data, bits)
	}
	if signed || unsigned {
		return hdf5.Int(8, signed, false), data
	}
	t, _ = hdf5.Float("float64", false)
	return t, data
}

// fills reports whether the fill value of the document is the attribute _FillValue: in format 2, as
// xarray has it, if it is a number.
func (v *variable) fills() bool {
	switch v.meta.Type.Kind {
	case dtype.Int, dtype.Uint, dtype.Float, dtype.Datetime, dtype.Timedelta:
		return v.meta.Format < 3 && v.meta.FillDefined
	}
	return false
}

// missing returns the attribute _FillValue of format 3, which has the type of the array. xarray
// writes a floating-point number as the base64 of eight bytes.
func (v *variable) missing(value pyjson.Value) (hdf5.Attribute, error) {
	a := hdf5.Attribute{Name: fillValue, Type: v.kind.is}
	text, isText := value.Text(), value.Kind() == pyjson.String
	if raw, err := base64.StdEncoding.DecodeString(text); isText && err == nil && len(raw) == 8 {
		value = pyjson.FloatOf(math.Float64frombits(binary.LittleEndian.Uint64(raw)))
	}
	if value.Kind() != pyjson.Number {
		return a, fmt.Errorf(
			"%s does not have the type of the array: %w",
			value.Raw(),
			errors.ErrUnsupported,
		)
	}
	fill, err := dtype.FillV3.Element(v.meta.Type, value)
	if a.Data = fill; err == nil && v.form != nil {
		a.Data = make([]byte, v.form.Out)
		v.form.Convert(a.Data, fill)
	}
	return a, err
}

package netcdf

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zarrfs/zarrfs/layout/hdf5"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// element is what a file says of the elements of an array.
type element struct {
	is hdf5.Type

	units    string // of a time, as the CF conventions have it; "": they have none
	calendar string // of a point in time
	note     string // the attribute dtype, for what is is not all; "": it is

	// chars is how many bytes a string has, if the file has it as an axis of characters. Otherwise
	// it is 0.
	chars  int64
	isUTF8 bool // they are text
}

// element returns what the file says of the elements of an array, and notes in source how they are
// read.
func (d *describer) element(source *Source) (element, error) {
	if zarrcore.IsVlen(source.Meta) {
		return d.varying(source)
	}
	t := source.Meta.Type
	if t.Kind == dtype.Unicode {
		source.Form = utf8Form(t.Size, t.Order == dtype.Big)
	}
	if t.Kind == dtype.Unicode || t.Kind == dtype.Bytes {
		return d.text(t.Size, t.Kind == dtype.Unicode), nil
	}
	if e, ok := d.time(t); ok {
		return e, nil
	}
	if e, ok := d.adapted(t, source); ok {
		return e, nil
	}
	is, plain := typeOf(t)
	e := element{is: d.named(is, t)}
	if !plain {
		e.note = t.Name
	}
	return e, nil
}

// adapted returns what a file for the netCDF library says of a type that it does not know, or reads
// wrongly. It has no booleans, for which xarray has a convention, and no floating-point numbers of
// other sizes than 4 and 8 bytes.
func (d *describer) adapted(t dtype.Type, source *Source) (e element, ok bool) {
	switch {
	case d.flavour != NetCDF4:
		return element{}, false
	case t.Kind == dtype.Bool:
		return element{is: hdf5.Int(1, true, false), note: "bool"}, true
	case hasOddFloat(t):
		return element{is: hdf5.Opaque(int(t.Size)), note: t.Descr()}, true
	}
	form := widening(t)
	if form == nil {
		return element{}, false
	}
	source.Form = form
	is, _ := hdf5.Float("float32", false)
	return element{is: is}, true
}

// hasOddFloat reports whether a type has floating-point numbers of a size that the netCDF library
// does not know. Single ones that a file can have as float32 do not count.
func hasOddFloat(t dtype.Type) bool {
	switch t.Kind {
	case dtype.Float:
		return t.Size > 8
	case dtype.Complex:
		return t.Size > 16 || t.Size < 8
	case dtype.Extension:
		_, isComplex := complexParts[t.Name]
		return isComplex
	case dtype.Struct:
		return slices.ContainsFunc(t.Fields, func(f dtype.Field) bool {
			return hasOddFloat(f.Type) || widening(f.Type) != nil
		})
	}
	return false
}

// named gives a compound type a name in a file for the netCDF library.
func (d *describer) named(is hdf5.Type, t dtype.Type) hdf5.Type {
	switch {
	case d.flavour != NetCDF4:
	case t.Kind == dtype.Complex:
		return is.Committed(fmt.Sprintf("complex%d%s", 8*t.Size, bigMark(t)))
	case t.Kind == dtype.Struct:
		d.structs++
		return is.Committed(fmt.Sprintf("struct_%d", d.structs))
	}
	return is
}

// bigMark tells a big-endian type from the little-endian one of the same name.
func bigMark(t dtype.Type) string {
	if t.Order == dtype.Big {
		return "_be"
	}
	return ""
}

// typeOf returns the type that HDF5 has for t. plain is false if it has none, and programs get the
// bytes.
func typeOf(t dtype.Type) (is hdf5.Type, plain bool) {
	size, big := int(t.Size), t.Order == dtype.Big
	switch t.Kind {
	case dtype.Bool:
		return hdf5.Bool(), true
	case dtype.Int, dtype.Uint:
		return hdf5.Int(size, t.Kind == dtype.Int, big), true
	case dtype.Datetime, dtype.Timedelta:
		return hdf5.Int(size, true, big), true
	case dtype.Float:
		is, plain = hdf5.Float(floatName(t.Size), big)
		return is, plain
	case dtype.Complex:
		part, _ := hdf5.Float(floatName(t.Size/2), big)
		return hdf5.Complex(part), true
	case dtype.Bytes:
		return hdf5.ByteString(size), true
	case dtype.Struct:
		return compound(t), true
	case dtype.Extension:
		return extension(t)
	}
	return hdf5.Opaque(size), true
}

func floatName(size int64) string {
	if size == 16 {
		return "x87"
	}
	return fmt.Sprintf("float%d", 8*size)
}

// compound returns the type of a struct. Padding becomes no field, and a text is opaque: HDF5 has
// no UTF-32.
func compound(t dtype.Type) hdf5.Type {
	var fields []hdf5.Field
	for _, f := range t.Fields {
		if f.Name == "" {
			continue
		}
		is, _ := typeOf(f.Type)
		fields = append(
			fields,
			hdf5.Field{Name: f.Name, Offset: int(f.Offset), Type: is, Shape: f.Shape},
		)
	}
	return hdf5.Compound(int(t.Size), fields)
}

// narrow are whole numbers that take a part of a byte.
var narrow = map[string]struct {
	bits   int
	signed bool
}{"int2": {2, true}, "int4": {4, true}, "uint2": {2, false}, "uint4": {4, false}}

// extension returns the type of numbers that NumPy has not.
func extension(t dtype.Type) (is hdf5.Type, plain bool) {
	big := t.Order == dtype.Big
	if n, ok := narrow[t.Name]; ok && t.Size == 1 {
		return hdf5.NarrowInt(1, n.bits, n.signed, false), true
	}
	if is, ok := hdf5.Float(t.Name, big); ok && is.Size() == t.Size {
		return is, true
	}
	if part, ok := complexParts[t.Name]; ok {
		half, _ := hdf5.Float(part, big)
		return hdf5.Complex(half), true
	}
	if t.Size == 1 {
		return hdf5.Int(1, false, false), false
	}
	return hdf5.Opaque(int(t.Size)), false
}

// complexParts are the parts of complex numbers that NumPy does not have. Those of parts of one
// byte are left out, because h5py cannot open them.
var complexParts = map[string]string{
	"complex_float16": "float16", "complex_bfloat16": "bfloat16",
}

// fixedMost is the greatest width in bytes of a string whose array has elements of no fixed size.
// One long text among many short ones would make a file of nothing but padding.
const fixedMost = 64 << 10

// varying returns what a file says of strings of no fixed size: they are as wide as the widest.
func (d *describer) varying(source *Source) (element, error) {
	arr, err := d.h.OpenVlen(d.ctx, source.Path)
	if err != nil {
		return element{}, err
	}
	unit := arr.Kind().Unit()
	if unit == 0 {
		return element{}, fmt.Errorf("HDF5 has no %s here: %w", arr.Kind(), errors.ErrUnsupported)
	}
	found, err := arr.Count(d.ctx)
	if err != nil {
		return element{}, err
	}
	source.Width = max(found.Width, 1)
	size := source.Width * unit
	switch {
	case found.Width < 0:
		return element{}, fmt.Errorf("elements that are not strings: %w", errors.ErrUnsupported)
	case size > fixedMost:
		return element{}, fmt.Errorf(
			"a string of %d bytes, expected at most %d: %w",
			size,
			fixedMost,
			errors.ErrUnsupported,
		)
	}
	if unit > 1 {
		source.Form = utf8Form(size, false)
	}
	return d.text(size, unit > 1), nil
}

// text returns what a file says of strings of size bytes. Only the newest netCDF libraries can read
// them as they are, so that these files have characters, as xarray writes and reads them.
func (d *describer) text(size int64, isUTF8 bool) element {
	e := element{is: hdf5.ByteString(int(size)), isUTF8: isUTF8}
	if isUTF8 {
		e.is = hdf5.Text(int(size))
	}
	if d.flavour == NetCDF4 {
		e.chars = size
	}
	return e
}

// fillOf returns the fill value as the file has it; nil if it has none. The netCDF library frees
// that of a string of fixed length wrongly, so a string has none.
func fillOf(source *Source) []byte {
	m := source.Meta
	switch {
	case source.Width > 0,
		m.Format < 3 && !m.FillDefined,
		m.Type.Kind == dtype.Unicode,
		m.Type.Kind == dtype.Bytes:
		return nil
	case len(m.Fill) > hdf5.MaxMessage:
		return nil
	case source.Form != nil:
		fill := make([]byte, source.Form.Out)
		source.Form.Convert(fill, m.Fill)
		return fill
	}
	return m.Fill
}

package netcdf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unicode/utf16"

	"github.com/zarrfs/zarrfs/layout/hdf5"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// A MAT-file of version 7.3 is an HDF5 file behind a user block. Attributes say of which class of
// MATLAB a variable is. MATLAB has the axes in the reverse order, and two of them at least. Groups
// are structures there, whose fields are the arrays. (Mathworks, "MAT-File Versions"; what MATLAB
// writes.)

const (
	matlabClass  = "MATLAB_class"
	matlabDecode = "MATLAB_int_decode" // of integers that are something else
	matlabEmpty  = "MATLAB_empty"      // the dataset has the lengths of a variable without elements
	matlabFields = "MATLAB_fields"
	matlabName   = "zarr_name" // ours: the name of the node, where MATLAB cannot have it

	// matlabNameMost is how many characters of a name MATLAB knows.
	matlabNameMost = 63
)

// ofMATLAB are the attributes that mean something to MATLAB.
var ofMATLAB = []string{matlabClass, matlabDecode, matlabEmpty, matlabName, matlabFields,
	"dimension_names", "MATLAB_sparse", "MATLAB_object_decode", "H5PATH"}

// matlabBlock returns the user block by which MATLAB knows its files: a text, where more of its own
// would be, the version, and the byte order.
func matlabBlock() []byte {
	const text, version = 116, 124
	b := make([]byte, 512)
	n := copy(b, "MATLAB 7.3 MAT-file, Platform: zarrfs, Created on: Thu Jan  1 00:00:00 1970 "+
		"HDF5 schema 1.00 .")
	for ; n < text; n++ {
		b[n] = ' '
	}
	copy(b[version:], "\x00\x02IM")
	return b
}

// matlabText returns an attribute as MATLAB writes it: in ASCII, with no NUL at its end.
func matlabText(name, text string) hdf5.Attribute {
	return hdf5.Attribute{Name: name, Type: hdf5.Word(len(text)), Data: []byte(text)}
}

// matlabStruct returns what a MAT-file says of a group: it is a structure, and has these fields.
// Where they are too many, MATLAB finds them as it does in its own files.
func matlabStruct(g *hdf5.Group) []hdf5.Attribute {
	fields := hdf5.Attribute{Name: matlabFields, Type: hdf5.VarWord}
	for _, d := range g.Datasets {
		fields.Strings = append(fields.Strings, d.Name)
	}
	for _, sub := range g.Groups {
		fields.Strings = append(fields.Strings, sub.Name)
	}
	fields.Shape = []int64{int64(len(fields.Strings))}
	all := []hdf5.Attribute{matlabText(matlabClass, "struct")}
	if len(fields.Strings) > 0 && fields.Size() <= hdf5.MaxAttribute {
		all = append(all, fields)
	}
	return all
}

// matlabVariable is what a MAT-file says of an array.
type matlabVariable struct {
	element
	class  string
	decode int32 // 0: the elements are of the class
	inner  int64 // the length of one more axis, the fastest; 0: there is none
}

// matlab describes an array as a variable of MATLAB.
func (d *describer) matlab(set *hdf5.Dataset, source *Source) (element, error) {
	v, err := d.matlabVariable(source)
	if err != nil {
		return v.element, err
	}
	set.Type, set.Fill = v.is, nil
	if v.inner == 0 {
		set.Fill = fillOf(source)
	}
	set.Shape = matlabShape(set.Shape, v.inner)
	set.Attributes = []hdf5.Attribute{matlabText(matlabClass, v.class)}
	if v.decode != 0 {
		code := binary.LittleEndian.AppendUint32(nil, uint32(v.decode))
		set.Attributes = append(set.Attributes,
			hdf5.Attribute{Name: matlabDecode, Type: hdf5.Int(4, true, false), Data: code})
	}
	if slices.Contains(set.Shape, 0) {
		set.Attributes = append(set.Attributes, hdf5.Attribute{Name: matlabEmpty,
			Type: hdf5.Int(1, false, false), Data: []byte{1}})
		for _, n := range slices.Backward(set.Shape) {
			set.Inline = binary.LittleEndian.AppendUint64(set.Inline, uint64(n))
		}
		set.Shape = []int64{int64(len(set.Shape))}
		set.Type, set.Fill = hdf5.Int(8, false, false), nil
	}
	return v.element, nil
}

// matlabShape returns the lengths of the axes of a variable. A list is a column there, and a text
// a row.
func matlabShape(shape []int64, inner int64) []int64 {
	shape = slices.Clone(shape)
	if inner > 0 {
		if shape = append(shape, inner); len(shape) == 1 {
			shape = append(shape, 1)
		}
	}
	for len(shape) < 2 {
		shape = slices.Insert(shape, 0, 1)
	}
	return shape
}

// matlabVariable returns what a MAT-file says of the elements of an array, and notes in source how
// they are read.
func (d *describer) matlabVariable(source *Source) (v matlabVariable, err error) {
	const isLogical, isText = 1, 2
	if zarrcore.IsVlen(source.Meta) {
		if v.element, err = d.varying(source); err != nil {
			return v, err
		}
		if v.inner = v.is.Size(); !v.isUTF8 {
			return v.whole(1, false), nil
		}
		source.Form = utf16Form(v.inner, false)
		v.inner, v.class, v.decode = v.inner/2, "char", isText
		v.is = hdf5.Int(2, false, false)
		return v, nil
	}
	t := source.Meta.Type
	v.element, _ = d.time(t)
	switch t.Kind {
	case dtype.Bool:
		v = v.whole(1, false)
		v.class, v.decode = "logical", isLogical
	case dtype.Int, dtype.Uint, dtype.Datetime, dtype.Timedelta:
		v = v.whole(t.Size, t.Kind != dtype.Uint)
		v.is, _ = typeOf(t)
	case dtype.Float, dtype.Complex:
		return v.floats(t, source)
	case dtype.Unicode:
		source.Form = utf16Form(t.Size, t.Order == dtype.Big)
		v.is, v.class, v.decode, v.inner = hdf5.Int(2, false, false), "char", isText, t.Size/2
	case dtype.Bytes:
		source.Form = latinForm()
		v.is, v.class, v.decode, v.inner = hdf5.Int(2, false, false), "char", isText, t.Size
	case dtype.Raw:
		v = v.whole(1, false)
		v.inner = t.Size
	default:
		if n, ok := narrow[t.Name]; ok && t.Size == 1 {
			return v.whole(1, n.signed), nil
		}
		return v.floats(t, source)
	}
	return v, nil
}

// whole returns a variable of whole numbers of that many bytes.
func (v matlabVariable) whole(size int64, signed bool) matlabVariable {
	v.class = fmt.Sprintf("int%d", 8*size)
	if !signed {
		v.class = "u" + v.class
	}
	v.is = hdf5.Int(int(size), signed, false)
	return v
}

// floats returns a variable of floating-point numbers. MATLAB has those of four and eight bytes,
// and complex numbers of them.
func (v matlabVariable) floats(t dtype.Type, source *Source) (matlabVariable, error) {
	parts := int64(1)
	if t.Kind == dtype.Complex {
		parts = 2
	}
	size := t.Size / parts
	v.class = map[int64]string{4: "single", 8: "double"}[size]
	if form := widening(t); form != nil {
		source.Form, v.class = form, "single"
		v.is, _ = hdf5.Float("float32", false)
		return v, nil
	}
	if t.Kind == dtype.Extension || t.Kind == dtype.Struct || v.class == "" {
		return v, fmt.Errorf("MATLAB has no %s: %w", t.Descr(), errors.ErrUnsupported)
	}
	if v.is, _ = typeOf(t); t.Kind == dtype.Complex {
		part, _ := hdf5.Float(floatName(size), t.Order == dtype.Big)
		v.is = hdf5.Compound(int(t.Size), []hdf5.Field{{Name: "real", Type: part},
			{Name: "imag", Offset: int(size), Type: part}})
	}
	return v, nil
}

// matlabNames returns by which name the file has each child of a group. MATLAB has names of
// letters, digits and '_' that begin with a letter.
func matlabNames(children []zarrcore.Child) map[string]string {
	names, taken := make(map[string]string), make(map[string]bool)
	for _, c := range children {
		if validName(c.Name) == c.Name {
			names[c.Name], taken[c.Name] = c.Name, true
		}
	}
	for _, c := range children {
		if names[c.Name] != "" {
			continue
		}
		name := validName(c.Name)
		for n := 1; taken[name]; n++ {
			end := fmt.Sprintf("_%d", n)
			name = validName(c.Name)
			name = name[:min(len(name), matlabNameMost-len(end))] + end
		}
		names[c.Name], taken[name] = name, true
	}
	return names
}

// validName returns a name that MATLAB can have.
func validName(name string) string {
	isLetter := func(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
	b := []byte(name)
	for i, c := range b {
		if !isLetter(c) && (c < '0' || c > '9') {
			b[i] = '_'
		}
	}
	if name = string(b); name == "" || !isLetter(name[0]) || slices.Contains(matlabWords, name) {
		name = "x" + name
	}
	return name[:min(len(name), matlabNameMost)]
}

// matlabWords are the words of the language, which are names of nothing.
var matlabWords = []string{"break", "case", "catch", "classdef", "continue", "else", "elseif",
	"end", "for", "function", "global", "if", "otherwise", "parfor", "persistent", "return", "spmd",
	"switch", "try", "while"}

// utf16Form makes UTF-16, little-endian, of UTF-32, in as many bytes. Both are padded with NUL.
func utf16Form(width int64, big bool) *Form {
	order := orderOf(big)
	return &Form{In: width, Out: width, Convert: func(dst, src []byte) {
		for at := int64(0); at+width <= int64(len(src)); at += width {
			toUTF16(dst[at:at+width], src[at:at+width], order)
		}
	}}
}

// toUTF16 makes one text. A character takes four bytes at most, so that dst never overtakes src.
func toUTF16(dst, src []byte, order binary.ByteOrder) {
	length, n := unpadded(src, order), 0
	for i := 0; i < length; i += 4 {
		var units [2]uint16
		for _, u := range utf16.AppendRune(units[:0], rune(order.Uint32(src[i:]))) {
			binary.LittleEndian.PutUint16(dst[n:], u)
			n += 2
		}
	}
	clear(dst[n:])
}

// latinForm makes a character of two bytes of each byte.
func latinForm() *Form {
	return &Form{In: 1, Out: 2, Convert: func(dst, src []byte) {
		for i, c := range src {
			dst[2*i], dst[2*i+1] = c, 0
		}
	}}
}

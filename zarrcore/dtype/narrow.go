package dtype

// Narrow integers, int2 to uint4, take the low bits of a byte. Its upper bits mean nothing where it
// is stored (zarr-extensions: they "are ignored"); as an int8 or uint8, which is what the views
// show, they are the sign or zero.

// HasNarrow reports whether elements of t hold narrow integers.
func (t Type) HasNarrow() bool {
	for _, f := range t.Fields {
		if f.Type.HasNarrow() {
			return true
		}
	}
	return t.isNarrow()
}

func (t Type) isNarrow() bool { return t.Kind == Extension && smallInts[t.Name] > 0 }

// Widen extends the low bits of the narrow integers in data, which begins with byte off of an array
// of t's elements, to their bytes. What is in the upper bits is lost, as when ml_dtypes casts.
func (t Type) Widen(data []byte, off int64) {
	t.widen(data, off, t.Size)
}

// widen is Widen where elements of t stand every step bytes, the first of them at byte -off of
// data.
func (t Type) widen(data []byte, off, step int64) {
	for _, f := range t.Fields {
		if !f.Type.HasNarrow() {
			continue
		}
		for at := f.Offset; at < f.Offset+f.Size(); at += f.Type.Size {
			f.Type.widen(data, off-at, step)
		}
	}
	if !t.isNarrow() {
		return
	}
	unused, signed := 8-smallInts[t.Name], !t.isUnsigned()
	for i := (step - off%step) % step; i < int64(len(data)); i += step {
		if signed {
			data[i] = byte(int8(data[i]<<unused) >> unused)
		} else {
			data[i] = data[i] << unused >> unused
		}
	}
}

// CanBeSavedAs reports whether the header of a .npy file that says header can be one of an array of
// t: what Descr says, and opaque bytes in the place of each Extension, which is what NumPy saves of
// arrays of ml_dtypes.
func (t Type) CanBeSavedAs(header Type) bool {
	descr := header.Descr()
	return descr == t.Descr() || descr == t.opaque().Descr() || descr == t.withNarrow().Descr()
}

// opaque returns the type with opaque bytes for each Extension, in the spelling that ParseDescr
// reads back.
func (t Type) opaque() Type {
	return t.mapped(func(t Type) Type { return Type{Kind: Raw, Size: t.Size} })
}

// withNarrow is opaque except narrow integers, which are those of a byte.
func (t Type) withNarrow() Type {
	return t.mapped(func(t Type) Type {
		switch {
		case !t.isNarrow():
			return Type{Kind: Raw, Size: t.Size}
		case t.isUnsigned():
			return Type{Kind: Uint, Size: 1}
		}
		return Type{Kind: Int, Size: 1}
	})
}

// mapped returns the type with another one in the place of each Extension.
func (t Type) mapped(to func(Type) Type) Type {
	if t.Kind == Extension {
		return to(t)
	}
	if t.Kind != Struct {
		return t
	}
	fields := make([]Field, len(t.Fields))
	for i, f := range t.Fields {
		f.Type = f.Type.mapped(to)
		fields[i] = f
	}
	t.Fields = fields
	return t
}

package catalog

import (
	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// Elements is what the document of an array says of its elements, at a look.
type Elements struct {
	Vlen bool // they have no fixed size
	Any  bool // nor need they be strings or byte strings: they are lists, or any values of JSON
}

// ElementsOf returns what kind of elements an array has.
func ElementsOf(m *meta.Array) (e Elements) {
	if e.Vlen = IsVlen(m); !e.Vlen {
		return e
	}
	if chain, err := codec.BindVlen(m); err == nil {
		kind := chain.Fill().Kind
		e.Any = kind != vlen.Text && kind != vlen.Binary
	}
	return e
}

// IsVlen reports whether an array's elements have no fixed size.
func IsVlen(m *meta.Array) bool { return m != nil && m.Type.Kind == dtype.Object }

// Encodes returns nil if the codecs of an array can encode, or otherwise why not.
func Encodes(m *meta.Array) error {
	var bound interface{ Writable() error }
	var err error
	if IsVlen(m) {
		bound, err = codec.BindVlen(m)
	} else {
		bound, err = codec.Bind(m)
	}
	if err != nil {
		return err
	}
	return bound.Writable()
}

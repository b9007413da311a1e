package meta

import (
	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// ParseV1 reads the objects meta and attrs of a version 1 store, which holds a single array; attrs
// is nil if there is none. Beside an error, the Array is what was understood.
func ParseV1(meta, attrs []byte) (*Array, error) {
	a := &Array{Format: 1, Order: 'C', SeparatorKnown: true,
		Keys: layout.KeyEncoding{Kind: layout.KeyV2, Separator: '.'}}
	root, err := a.documents(meta, "attrs", attrs)
	if !root.Exists() {
		return a, err
	}
	first := firstError{err}
	first.note(checkFormat(root, 1))
	first.note(a.common(root, "compression", a.codecsV1))
	return a, first.err
}

// codecsV1 reads order and compression as a chain of codecs.
func (a *Array) codecsV1(root pyjson.Value) error {
	name := root.Get("compression")
	switch {
	case name.Kind() == pyjson.Null || name.Text() == "none":
		a.chain(nil, nil)
		return nil
	case name.Kind() != pyjson.String:
		return invalid("compression", "null or a string", name)
	}
	config, err := optionsV1(name.Text(), root.Get("compression_opts"))
	if err != nil {
		return err
	}
	a.chain(nil, &Codec{numcodecs + name.Text(), config})
	return nil
}

// optionsV1 reads compression_opts, an object or a single option, as the configuration of a
// numcodecs codec. A single option is the codec's first parameter.
func optionsV1(compressor string, v pyjson.Value) (pyjson.Value, error) {
	switch v.Kind() {
	case pyjson.Invalid, pyjson.Null:
		return made("{}"), nil
	case pyjson.Object:
		return v, nil
	case pyjson.Number, pyjson.String:
		parameters := codecTypes[numcodecs+compressor].Parameters
		if len(parameters) == 0 { // an unknown compressor, which the codecs refuse by its name
			return made("{}"), nil
		}
		return pyjson.Empty.With(parameters[0].Member, v), nil
	}
	return pyjson.Value{}, invalid("compression_opts", "null, an integer, a string or an object", v)
}

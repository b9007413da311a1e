package meta

import (
	"fmt"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

const (
	maxCodecs  = 64 // in one chain: no real one has ten
	maxSharded = 16 // shards within shards
)

// extension reads version 3's way to name something: {"name": …, "configuration": {…}}, or just the
// name (since 3.1). The second result is the configuration, absent if there is none.
func extension(member string, v pyjson.Value) (name string, config pyjson.Value, err error) {
	if v.Kind() == pyjson.String {
		return v.Text(), pyjson.Value{}, nil
	}
	if v.Kind() != pyjson.Object {
		return "", pyjson.Value{}, invalid(member, "a name or an object with a name", v)
	}
	nameValue := v.Get("name")
	if nameValue.Kind() != pyjson.String {
		return "", pyjson.Value{}, invalid(member+".name", "a string", nameValue)
	}
	config = v.Get("configuration")
	switch config.Kind() {
	case pyjson.Null:
		config = pyjson.Value{}
	case pyjson.Object, pyjson.Invalid:
	default:
		return "", pyjson.Value{}, invalid(member+".configuration", "an object", config)
	}
	return nameValue.Text(), config, nil
}

// mustUnderstand refuses must_understand false where nothing can be read without understanding (v3
// core, "Extension points").
func mustUnderstand(member string, v pyjson.Value) error {
	if must := v.Get("must_understand"); must.Exists() {
		if b, ok := must.Bool(); !ok || !b {
			return invalid(member+".must_understand", "true or nothing", must)
		}
	}
	return nil
}

// onlyMembers refuses configurations with members other than the given ones: they might change what
// it means.
func onlyMembers(member string, config pyjson.Value, known ...string) error {
	for key, value := range config.Entries() {
		if !slices.Contains(known, key) {
			return unsupported(member+"."+key, enumerate(known, "and")+" alone", value)
		}
	}
	return nil
}

// parseCodecs reads version 3's list of codecs.
func parseCodecs(member string, v pyjson.Value) ([]Codec, error) {
	if v.Kind() != pyjson.Array {
		return nil, invalid(member, "an array of codecs", v)
	}
	var all []Codec
	for e := range v.Elements() {
		at := fmt.Sprintf("%s[%d]", member, len(all))
		if len(all) == maxCodecs {
			return nil, invalid(at, fmt.Sprintf("at most %d codecs", maxCodecs), e)
		}
		name, config, err := extension(at, e)
		if err != nil {
			return nil, err
		}
		all = append(all, Codec{name, config})
	}
	return all, nil
}

// ByteOrder returns the order in which a chain of codecs stores the bytes of an element: the endian
// of its bytes codec or, where that is within shards, of the innermost one. Without an endian it is
// little: that is the rule for structured types, and for others what the writers that leave it out
// do. Errors name member, where the chain is.
func ByteOrder(member string, codecs []Codec) (dtype.Order, error) {
	return byteOrder(member, codecs, 0)
}

// byteOrder is ByteOrder of a chain within that many shards.
func byteOrder(member string, codecs []Codec, depth int) (dtype.Order, error) {
	for i, c := range codecs {
		at := fmt.Sprintf("%s[%d].configuration", member, i)
		switch c.Name {
		case "bytes", "endian": // the latter is its name in early version 3 stores
			return endian(at+".endian", c.Config.Get("endian"))
		case "sharding_indexed":
			if depth == maxSharded {
				return dtype.Little, invalid(at+".codecs",
					fmt.Sprintf("at most %d levels of sharding", maxSharded),
					c.Config.Get("codecs"))
			}
			inner, err := parseCodecs(at+".codecs", c.Config.Get("codecs"))
			if err != nil {
				return dtype.Little, err
			}
			return byteOrder(at+".codecs", inner, depth+1)
		}
	}
	return dtype.Little, nil
}

func endian(member string, v pyjson.Value) (dtype.Order, error) {
	switch {
	case !v.Exists() || v.Kind() == pyjson.Null || v.Text() == "little":
		return dtype.Little, nil
	case v.Text() == "big":
		return dtype.Big, nil
	}
	return dtype.Little, invalid(member, `"little" or "big"`, v)
}

// ParseCodecs reads a list of codecs as the member codecs of a zarr.json has it.
func ParseCodecs(list pyjson.Value) ([]Codec, error) { return parseCodecs("codecs", list) }

// SameCodecs reports whether one array decodes what the other has encoded, as far as documents show
// it: writers leave out members that have their default, or put them in, and order them as they
// like.
func (a *Array) SameCodecs(b *Array) bool { return slices.EqualFunc(a.Codecs, b.Codecs, sameCodec) }

func sameCodec(x, y Codec) bool {
	if x.Name != y.Name {
		return false
	}
	switch x.Name {
	case "bytes":
		these, err := endian("", x.Config.Get("endian"))
		those, other := endian("", y.Config.Get("endian"))
		return err == nil && other == nil && these == those
	case "sharding_indexed":
		return pyjson.Equal(x.Config.Get("chunk_shape"), y.Config.Get("chunk_shape")) &&
			orElse(x.Config.Get("index_location"), "end") == orElse(y.Config.Get("index_location"),
				"end") &&
			sameList(x.Config.Get("codecs"), y.Config.Get("codecs")) &&
			sameList(x.Config.Get("index_codecs"), y.Config.Get("index_codecs"))
	}
	return pyjson.Equal(x.Config, y.Config)
}

// orElse returns the text of a member, or its default.
func orElse(member pyjson.Value, text string) string {
	if member.Exists() && member.Kind() != pyjson.Null {
		return member.Text()
	}
	return text
}

// sameList is SameCodecs for the lists of two documents.
func sameList(x, y pyjson.Value) bool {
	these, err := parseCodecs("", x)
	if err != nil {
		return false
	}
	those, err := parseCodecs("", y)
	return err == nil && slices.EqualFunc(these, those, sameCodec)
}

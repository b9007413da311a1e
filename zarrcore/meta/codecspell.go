package meta

import (
	"slices"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// This file spells codecs as zarr-python writes them, in format 2 and in format 3.

// Complete spells a codec as a format does and adds the parameters that it lacks. Defaults are
// those of zarr-python 3, or of numcodecs for format 2. itemSize is the size of an element in
// bytes, at least 1. Codecs named numcodecs.ID have no defaults in format 3.
func (c Codec) Complete(format int, itemSize int64) Codec {
	if spell := codecTypes[c.Name].inV2; format == 2 && spell != nil {
		c = spell(c)
	}
	parameters := codecTypes[c.Name].Parameters
	full, defaults := c.Config, strings.HasPrefix(c.Name, numcodecs) == (format == 2)
	if ordered := parametersOf(c.Config, parameters, itemSize, defaults); ordered.Len() > 0 ||
		c.Config.Exists() {
		full = withRest(ordered, c.Config, parameters)
	}
	return Codec{Name: c.Name, Config: full}
}

// parametersOf returns the parameters of a configuration in their order, each with its default if
// the configuration lacks it.
func parametersOf(
	config pyjson.Value, parameters []CodecParameter, itemSize int64, defaults bool,
) pyjson.Value {
	ordered := pyjson.Empty
	for _, p := range parameters {
		v := config.Get(p.Member)
		if !v.Exists() && defaults && p.Default != nil {
			v = p.Default(itemSize)
		}
		if v.Exists() {
			ordered = ordered.With(p.Member, v)
		}
	}
	return ordered
}

// withRest adds the members of a configuration that are not parameters.
func withRest(ordered, config pyjson.Value, parameters []CodecParameter) pyjson.Value {
	return pyjson.ObjectOf(func(yield func(string, pyjson.Value) bool) {
		for key, value := range ordered.Entries() {
			if !yield(key, value) {
				return
			}
		}
		for key, value := range config.Entries() {
			isParameter := func(p CodecParameter) bool { return p.Member == key }
			if !slices.ContainsFunc(parameters, isParameter) && !yield(key, value) {
				return
			}
		}
	})
}

// renamed is for codecs that differ in their names alone.
func renamed(c Codec) Codec { return Codec{numcodecs + c.Name, c.Config} }

// implied is for bytes, which the chains of both versions have here. Documents of version 2 do not
// say it.
func implied(c Codec) Codec { return c }

// zstdInV2 leaves a checksum out unless it is true, since numcodecs did not know it at first.
func zstdInV2(c Codec) Codec {
	if checksum, _ := c.Config.Get("checksum").Bool(); !checksum {
		c.Config = c.Config.Without("checksum")
	}
	return renamed(c)
}

// bloscInV2 has a number for the shuffle, and no size of an element.
func bloscInV2(c Codec) Codec {
	c.Config = c.Config.Without("typesize")
	if at := slices.Index(bloscShuffles, c.Config.Get("shuffle").Text()); at >= 0 {
		c.Config = c.Config.With("shuffle", pyjson.IntOf(int64(at)))
	}
	return renamed(c)
}

package meta

import (
	"strings"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// keyEncodings are version 3's chunk key encodings by name. Each reads its configuration, given
// with the name of the member.
var keyEncodings map[string]func(member string, config pyjson.Value) (layout.KeyEncoding, error)

func init() {
	keyEncodings = map[string]func(string, pyjson.Value) (layout.KeyEncoding, error){
		"default": separated(layout.KeyEncoding{Kind: layout.KeyDefault, Separator: '/'},
			"separator"),
		"v2": separated(layout.KeyEncoding{Kind: layout.KeyV2, Separator: '.'}, "separator"),

		"zarrs.default_suffix": defaultSuffix,
		"suffix":               suffixed,
	}
}

// keysV3 reads the chunk key encoding, an extension point.
func keysV3(member string, v pyjson.Value) (layout.KeyEncoding, error) {
	name, config, err := extension(member, v)
	if err != nil {
		return layout.KeyEncoding{}, err
	}
	if err := mustUnderstand(member, v); err != nil {
		return layout.KeyEncoding{}, err
	}
	parse := keyEncodings[name]
	if parse == nil {
		return layout.KeyEncoding{}, unsupported(member+".name", knownNames(keyEncodings),
			nameOf(v))
	}
	return parse(member+".configuration", config)
}

// separated is the encoding keys with a choice of the separator, and no other member than those
// known.
func separated(
	keys layout.KeyEncoding, known ...string,
) func(string, pyjson.Value) (layout.KeyEncoding, error) {
	return func(member string, config pyjson.Value) (layout.KeyEncoding, error) {
		if err := onlyMembers(member, config, known...); err != nil {
			return keys, err
		}
		keys := keys
		var err error
		if s := config.Get("separator"); s.Exists() {
			keys.Separator, err = separator(member+".separator", s)
		}
		return keys, err
	}
}

// defaultSuffix is the encoding of zarrs: default, and a suffix.
func defaultSuffix(member string, config pyjson.Value) (layout.KeyEncoding, error) {
	keys, err := separated(layout.KeyEncoding{Kind: layout.KeyDefault, Separator: '/'}, "separator",
		"suffix")(member, config)
	if err == nil {
		keys.Suffix, err = suffix(member+".suffix", config.Get("suffix"))
	}
	return keys, err
}

// suffixed is a proposal to zarr-extensions (version 0.1): any other encoding, and a suffix. Its
// text spells the member of the other encoding in two ways, and the first draft had none, which
// meant default.
func suffixed(member string, config pyjson.Value) (layout.KeyEncoding, error) {
	if err := onlyMembers(member, config, "suffix", "base_encoding", "base-encoding"); err != nil {
		return layout.KeyEncoding{}, err
	}
	keys := layout.KeyEncoding{Kind: layout.KeyDefault, Separator: '/'}
	for _, spelling := range []string{"base_encoding", "base-encoding"} {
		base := config.Get(spelling)
		if !base.Exists() {
			continue
		}
		if nameOf(base).Text() == "suffix" { // one is enough, and a chain of them would have no end
			return keys, unsupported(member+"."+spelling+".name", "an encoding without a suffix",
				nameOf(base))
		}
		var err error
		if keys, err = keysV3(member+"."+spelling, base); err != nil {
			return keys, err
		}
	}
	s, err := suffix(member+".suffix", config.Get("suffix"))
	keys.Suffix = s + keys.Suffix
	return keys, err
}

// suffix takes what may end an object's key: no path, for an object would become one of a folder.
func suffix(member string, v pyjson.Value) (string, error) {
	if v.Kind() != pyjson.String || strings.ContainsAny(v.Text(), "/\x00") {
		return "", invalid(member, `a string without "/"`, v)
	}
	return v.Text(), nil
}

func separator(member string, v pyjson.Value) (byte, error) {
	if s := v.Text(); s == "." || s == "/" {
		return s[0], nil
	}
	return '.', invalid(member, `"." or "/"`, v)
}

package recipe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// parseCodecs reads the codecs of a chunk. The result is nil for the default, and not nil for none.
func parseCodecs(text string) ([]meta.Codec, error) {
	switch {
	case text == "auto":
		return nil, nil
	case text == "none":
		return []meta.Codec{}, nil
	case strings.HasPrefix(strings.TrimSpace(text), "["):
		return parseCodecList(text)
	}
	c, err := parseShort(text)
	if err != nil {
		return nil, err
	}
	return []meta.Codec{c}, nil
}

// parseCodecList reads a list as the member codecs of a zarr.json has it. Version 2's objects with
// an id are read too.
func parseCodecList(text string) ([]meta.Codec, error) {
	list, err := pyjson.Parse([]byte(text))
	if err != nil {
		return nil, &meta.Error{Member: "codecs", Kind: meta.ErrInvalid, Cause: err}
	}
	var named []pyjson.Value
	for v := range list.Elements() {
		if id := v.Get("id"); id.Kind() == pyjson.String {
			v = pyjson.Empty.With("name", pyjson.StringOf("numcodecs."+id.Text())).With(
				"configuration", v.Without("id"))
		}
		named = append(named, v)
	}
	codecs, err := meta.ParseCodecs(pyjson.ArrayOf(named...))
	if err != nil {
		return nil, err
	}
	for _, c := range codecs {
		if c.Name == "sharding_indexed" {
			return nil, invalid("codecs", "the codecs of one chunk, and shards set as such", c.Name)
		}
	}
	return slices.Clip(append([]meta.Codec{}, codecs...)), nil
}

// parseShort reads a codec in its short form: its word, and parameters, separated by colons. The
// last parameters may be left out. An example is blosc:lz4:5:shuffle.
func parseShort(text string) (meta.Codec, error) {
	words := strings.Split(text, ":")
	name, parameters := byWord(words[0])
	if name == "" || len(words)-1 > len(parameters) {
		return meta.Codec{}, invalid("codecs", takes("codecs"), text)
	}
	config := pyjson.Empty
	for i, word := range words[1:] {
		v, err := readParameter(parameters[i], word)
		if err != nil {
			return meta.Codec{}, err
		}
		config = config.With(parameters[i].Member, v)
	}
	return meta.Codec{Name: name, Config: config}, nil
}

// byWord finds the codec of a word, and those of its parameters that may follow the word. The name
// is empty if no codec has that word.
func byWord(word string) (name string, parameters []meta.CodecParameter) {
	name, t := meta.CodecOfWord(word)
	for _, p := range t.Parameters {
		if p.Words != nil || p.Lo < p.Hi {
			parameters = append(parameters, p)
		}
	}
	return name, parameters
}

// readParameter reads a parameter that follows a word: one of some words, or a number of a range.
func readParameter(p meta.CodecParameter, word string) (pyjson.Value, error) {
	if slices.Contains(p.Words, word) {
		return pyjson.StringOf(word), nil
	}
	n, err := strconv.ParseInt(word, 10, 64)
	if p.Words == nil && err == nil && p.Lo <= n && n <= p.Hi {
		return pyjson.IntOf(n), nil
	}
	expected := fmt.Sprintf("an integer from %d to %d", p.Lo, p.Hi)
	if p.Words != nil {
		expected = "one of " + strings.Join(p.Words, ", ")
	}
	return pyjson.Value{}, invalid("codecs", p.Member+" as "+expected, word)
}

// chain returns the codecs of a chunk of elements of a type, spelled as by the format, with the
// parameters that zarr-python would write.
func (r Recipe) chain(t dtype.Type) ([]meta.Codec, error) {
	codecs := r.codecs
	if codecs == nil {
		codecs = []meta.Codec{{Name: "zstd"}}
	}
	all := make([]meta.Codec, 0, len(codecs)+1)
	if name := stringCodecs[t.Name]; t.Kind == dtype.Object &&
		!slices.ContainsFunc(codecs, isSerializer) {
		all = append(all, meta.Codec{Name: name, Config: pyjson.Empty}.Complete(r.Format, 1))
	}
	for _, c := range codecs {
		all = append(all, c.Complete(r.Format, max(t.Size, 1)))
	}
	return all, nil
}

func isSerializer(c meta.Codec) bool { return c.Kind() == meta.ArrayToBytes }

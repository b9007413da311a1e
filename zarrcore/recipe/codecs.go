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

// parseCodecList reads a list as the member codecs of a zarr.json has it. Version 2's objects with an id are read too.
func parseCodecList(text string) ([]meta.Codec, error) {
	list, err := pyjson.Parse([]byte(text))
	if err != nil {
		return nil, &meta.Error{Member: "codecs", Kind: meta.ErrInvalid, Cause: err}
	}
	var named []pyjson.Value
	for v := range list.Elements() {
		if id := v.Get("id"); id.Kind() == pyjson.String {
			v = pyjson.Empty.With("name", pyjson.StringOf("numcodecs."+id.Text())).With("configuration", v.Without("id"))
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

// short is a compressor that can be written as a word: its name and, separated by colons, parameters, of which later ones may be
// left out.
type short struct {
	name       string // of the codec, as in version 3
	parameters []parameter
}

// parameter is one of a compressor's: a number of a range, or one of some words.
type parameter struct {
	member string
	lo, hi int64
	words  []string
}

var (
	bloscNames    = []string{"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"}
	bloscShuffles = []string{"noshuffle", "shuffle", "bitshuffle"}

	shorts = map[string]short{
		"zstd":  {"zstd", []parameter{{member: "level", lo: -131072, hi: 22}}},
		"gzip":  {"gzip", []parameter{{member: "level", lo: 0, hi: 9}}},
		"blosc": {"blosc", []parameter{{member: "cname", words: bloscNames}, {member: "clevel", lo: 0, hi: 9}, {member: "shuffle", words: bloscShuffles}}},
		"zlib":  {"numcodecs.zlib", []parameter{{member: "level", lo: 0, hi: 9}}},
		"bz2":   {"numcodecs.bz2", []parameter{{member: "level", lo: 1, hi: 9}}},
		"lz4":   {"numcodecs.lz4", []parameter{{member: "acceleration", lo: 1, hi: 65537}}},
		"lzma":  {"numcodecs.lzma", []parameter{{member: "preset", lo: 0, hi: 9}}},
	}
)

// parseShort reads a word such as blosc:lz4:5:shuffle.
func parseShort(text string) (meta.Codec, error) {
	words := strings.Split(text, ":")
	s, known := shorts[words[0]]
	if !known || len(words)-1 > len(s.parameters) {
		return meta.Codec{}, invalid("codecs", takes("codecs"), text)
	}
	config := pyjson.Empty
	for i, word := range words[1:] {
		v, err := s.parameters[i].read(word)
		if err != nil {
			return meta.Codec{}, err
		}
		config = config.With(s.parameters[i].member, v)
	}
	return meta.Codec{Name: s.name, Config: config}, nil
}

func (p parameter) read(word string) (pyjson.Value, error) {
	if slices.Contains(p.words, word) {
		return pyjson.StringOf(word), nil
	}
	n, err := strconv.ParseInt(word, 10, 64)
	if p.words == nil && err == nil && p.lo <= n && n <= p.hi {
		return pyjson.IntOf(n), nil
	}
	expected := fmt.Sprintf("an integer from %d to %d", p.lo, p.hi)
	if p.words != nil {
		expected = "one of " + strings.Join(p.words, ", ")
	}
	return pyjson.Value{}, invalid("codecs", p.member+" as "+expected, word)
}

// chain returns the codecs of a chunk of elements of a type, in the spelling of the format and with the parameters that
// zarr-python would write.
func (r Recipe) chain(t dtype.Type) ([]meta.Codec, error) {
	codecs := r.codecs
	if codecs == nil {
		codecs = []meta.Codec{{Name: "zstd"}}
	}
	spell := complete
	if r.Format == 2 {
		spell = completeV2
	}
	all := make([]meta.Codec, 0, len(codecs)+1)
	if name := stringCodecs[t.Name]; t.Kind == dtype.Object && !slices.ContainsFunc(codecs, isSerializer) {
		all = append(all, spell(meta.Codec{Name: name, Config: pyjson.Empty}, 1))
	}
	for _, c := range codecs {
		all = append(all, spell(c, max(t.Size, 1)))
	}
	return all, nil
}

func isSerializer(c meta.Codec) bool { return c.Kind() == meta.ArrayToBytes }

// complete gives a codec of version 3 the parameters that it lacks, with the defaults of zarr-python 3.
func complete(c meta.Codec, itemSize int64) meta.Codec {
	defaults := defaultsV3[c.Name]
	if c.Name == "blosc" {
		shuffle := "shuffle"
		if itemSize == 1 {
			shuffle = "bitshuffle"
		}
		if itemSize > 255 {
			itemSize = 1 // as c-blosc does, which has one byte for it
		}
		defaults = defaults.With("shuffle", pyjson.StringOf(shuffle)).With("typesize", pyjson.IntOf(itemSize))
	}
	c.Config = filled(c.Config, orders[c.Name], defaults)
	return c
}

// completeV2 gives a codec the name and the parameters of version 2, where that has one.
func completeV2(c meta.Codec, _ int64) meta.Codec {
	switch c.Name {
	case "blosc":
		c.Config = c.Config.Without("typesize")
		if at := slices.Index(bloscShuffles, c.Config.Get("shuffle").Text()); at >= 0 {
			c.Config = c.Config.With("shuffle", pyjson.IntOf(int64(at)))
		}
		c.Name = "numcodecs.blosc"
	case "zstd":
		if checksum, _ := c.Config.Get("checksum").Bool(); !checksum {
			c.Config = c.Config.Without("checksum")
		}
		c.Name = "numcodecs.zstd"
	case "gzip", "crc32c", "vlen-utf8", "vlen-bytes":
		c.Name = "numcodecs." + c.Name
	}
	c.Config = filled(c.Config, orders[c.Name], defaultsV2[c.Name])
	return c
}

// filled returns a configuration with defaults for what it lacks: members of the given order first, then all others. Without any
// it stays absent.
func filled(config pyjson.Value, order []string, defaults pyjson.Value) pyjson.Value {
	if !config.Exists() && !defaults.Exists() {
		return config
	}
	full := pyjson.Empty
	for _, key := range order {
		if v := config.Get(key); v.Exists() {
			full = full.With(key, v)
		} else if v := defaults.Get(key); v.Exists() {
			full = full.With(key, v)
		}
	}
	return pyjson.ObjectOf(func(yield func(string, pyjson.Value) bool) {
		for key, value := range full.Entries() {
			if !yield(key, value) {
				return
			}
		}
		for key, value := range config.Entries() {
			if !slices.Contains(order, key) && !yield(key, value) {
				return
			}
		}
	})
}

// orders are the parameters of the codecs in the order in which zarr-python writes them.
var orders = map[string][]string{
	"zstd":            {"level", "checksum"},
	"gzip":            {"level"},
	"blosc":           {"typesize", "cname", "clevel", "shuffle", "blocksize"},
	"numcodecs.zstd":  {"level", "checksum"},
	"numcodecs.gzip":  {"level"},
	"numcodecs.blosc": {"cname", "clevel", "shuffle", "blocksize"},
	"numcodecs.zlib":  {"level"},
	"numcodecs.bz2":   {"level"},
	"numcodecs.lz4":   {"acceleration"},
	"numcodecs.lzma":  {"format", "check", "preset", "filters"},
}

// defaultsV3 and defaultsV2 are zarr-python's and numcodecs' own.
var (
	defaultsV3 = map[string]pyjson.Value{
		"zstd":  made(`{"level": 0, "checksum": false}`),
		"gzip":  made(`{"level": 5}`),
		"blosc": made(`{"cname": "zstd", "clevel": 5, "blocksize": 0}`),
	}
	defaultsV2 = map[string]pyjson.Value{
		"numcodecs.zstd":  made(`{"level": 0}`),
		"numcodecs.gzip":  made(`{"level": 1}`),
		"numcodecs.blosc": made(`{"cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}`),
		"numcodecs.zlib":  made(`{"level": 1}`),
		"numcodecs.bz2":   made(`{"level": 1}`),
		"numcodecs.lz4":   made(`{"acceleration": 1}`),
	}
)

// made is the value of JSON text written in this package; the tests hold that it is some.
func made(text string) pyjson.Value {
	v, _ := pyjson.Parse([]byte(text))
	return v
}

package codec

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// arrayOf is an array of one object with codecs given as v3 JSON.
func arrayOf(t testing.TB, dataType string, chunk []int64, codecs string) *meta.Array {
	t.Helper()
	shape := strings.ReplaceAll(fmt.Sprint(chunk), " ", ",")
	fill := "0"
	if dataType == `"bool"` {
		fill = "false"
	}
	doc := fmt.Sprintf(`{"zarr_format":3,"node_type":"array","shape":%s,"data_type":%s,
		"fill_value":%s,
		"chunk_grid":{"name":"regular","configuration":{"chunk_shape":%s}},
		"chunk_key_encoding":{"name":"default"},"codecs":%s}`, shape, dataType, fill, shape, codecs)
	a, _, err := meta.ParseV3([]byte(doc))
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return a
}

func mustBind(t testing.TB, dataType string, chunk []int64, codecs string) *Chain {
	t.Helper()
	c, err := Bind(arrayOf(t, dataType, chunk, codecs))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const bytesLE = `{"name":"bytes","configuration":{"endian":"little"}}`

// sharded is a sharding codec as JSON.
func sharded(chunk, codecs, index, more string) string {
	return fmt.Sprintf(`{"name":"sharding_indexed","configuration":{"chunk_shape":%s,"codecs":%s,`+
		`"index_codecs":%s%s}}`, chunk, codecs, index, more)
}

// TestMalformed holds the text of each error for a configuration that cannot be.
func TestMalformed(t *testing.T) {
	le := "[" + bytesLE + "]"
	cases := []struct{ codecs, want string }{
		{`[]`, `codecs: expected an array->bytes codec, found none`},
		{`[{"name":"gzip"}]`,
			`codec "gzip": stands before the array->bytes codec, but needs bytes`},
		{`[` + bytesLE + `,` + bytesLE + `]`, `codec "bytes": a second array->bytes codec`},
		{`[` + bytesLE + `,{"name":"transpose","configuration":{"order":[1,0]}}]`,
			`codec "transpose": stands after a codec that yields bytes, but needs an array`},
		{`[{"name":"transpose"},` + bytesLE + `]`,
			`codec "transpose": configuration lacks "order": expected 2 integers of at least 0`},
		{`[{"name":"transpose","configuration":{"order":[0]}},` + bytesLE + `]`,
			`codec "transpose": configuration "order": expected 2 integers of at least 0, ` +
				`found [0]`},
		{`[{"name":"transpose","configuration":{"order":[1,1]}},` + bytesLE + `]`,
			`codec "transpose": configuration "order": expected a permutation of the 2 axes, ` +
				`found [1 1]`},
		{`[{"name":"transpose","configuration":{"order":[2,0]}},` + bytesLE + `]`,
			`codec "transpose": configuration "order": expected a permutation of the 2 axes, ` +
				`found [2 0]`},
		{`[{"name":"transpose","configuration":{"order":"K"}},` + bytesLE + `]`,
			`codec "transpose": configuration "order": expected 2 integers of at least 0, ` +
				`found "K"`},
		{`[` + bytesLE + `,{"name":"numcodecs.shuffle","configuration":{"elementsize":-1}}]`,
			`codec "numcodecs.shuffle": configuration "elementsize": ` +
				`expected an integer from 0 to 2147483647, found -1`},
		{`[` + bytesLE + `,{"name":"numcodecs.crc32","configuration":{"location":"middle"}}]`,
			`codec "numcodecs.crc32": configuration "location": expected one of ["start" "end"], ` +
				`found "middle"`},
		{`[` + bytesLE + `,{"name":"numcodecs.lzma","configuration":{"format":4}}]`,
			`codec "numcodecs.lzma": configuration "format": ` +
				`expected an integer from 0 to 3, found 4`},
		{`[` + bytesLE + `,{"name":"numcodecs.lzma","configuration":{"format":3}}]`,
			`codec "numcodecs.lzma": configuration lacks "filters": expected a list of filters, ` +
				`as the format is raw`},
		{`[` + bytesLE + `,{"name":"numcodecs.lzma","configuration":{"format":3,` +
			`"filters":[{"id":4},{"id":33}]}}]`,
			`codec "numcodecs.lzma": configuration "filters"[0]: configuration "id": ` +
				`expected a filter of data: 3 (delta), ` +
				`4611686018427387905 (LZMA1) or 33 (LZMA2), found 4`},
		{`[{"name":"numcodecs.delta","configuration":{"dtype":"<U2"}},` + bytesLE + `]`,
			`codec "numcodecs.delta": configuration "dtype": ` +
				`type <U2 is not a number that a filter computes on`},
		{`[{"name":"numcodecs.delta","configuration":{"dtype":"<i2","astype":7}},` + bytesLE + `]`,
			`codec "numcodecs.delta": configuration "astype": expected a NumPy dtype, found 7`},
		{`[{"name":"numcodecs.delta","configuration":{"dtype":"<c16"}},` + bytesLE + `]`, ``},
		{`[{"name":"numcodecs.astype","configuration":{"encode_dtype":"<c16",` +
			`"decode_dtype":"<i2"}},` + bytesLE + `]`,
			`codec "numcodecs.astype": cannot turn <c16 into <i2`},
		{`[{"name":"numcodecs.astype"},` + bytesLE + `]`,
			`codec "numcodecs.astype": configuration lacks "encode_dtype": expected a NumPy dtype`},
		{`[{"name":"numcodecs.fixedscaleoffset","configuration":{"scale":"1","offset":0}},` +
			bytesLE + `]`, `codec "numcodecs.fixedscaleoffset": configuration "scale": ` +
			`expected a number, found "1"`},
		{`[{"name":"numcodecs.fixedscaleoffset","configuration":{"scale":1}},` + bytesLE + `]`,
			`codec "numcodecs.fixedscaleoffset": configuration lacks "offset": expected a number`},
		{`[{"name":"numcodecs.packbits"},` + bytesLE + `]`,
			`codec "numcodecs.packbits": needs elements of one byte`},
		{`[{"name":"packbits","configuration":{"first_bit":16}}]`, `codec "packbits": ` +
			`configuration "first_bit": expected an integer from 0 to 15, found 16`},
		{`[{"name":"packbits","configuration":{"first_bit":5,"last_bit":4}}]`,
			`codec "packbits": configuration: expected first_bit up to last_bit, found 5 and 4`},
		{`[` + sharded(`[4]`, le, le, ``) + `]`, `codec "sharding_indexed": ` +
			`configuration "chunk_shape": expected 2 integers of at least 1, found [4]`},
		{`[` + sharded(`[4,0]`, le, le, ``) + `]`, `codec "sharding_indexed": ` +
			`configuration "chunk_shape": expected 2 integers of at least 1, found [4,0]`},
		{`[` + sharded(`[4,4]`, le, le, ``) + `]`, `codec "sharding_indexed": ` +
			`configuration "chunk_shape": [4 4] does not divide the shard's shape [8 6]`},
		{`[` + sharded(`[4,3]`, `[]`, le, ``) + `]`, `codec "sharding_indexed": ` +
			`configuration "codecs": expected a list of codecs, found []`},
		{`[` + sharded(`[4,3]`, le, `[4]`, ``) + `]`,
			`codec "sharding_indexed": configuration "index_codecs": expected a codec, found 4`},
		{`[` + sharded(`[4,3]`, le, `["bytes","gzip"]`, ``) + `]`, `codec "sharding_indexed": ` +
			`index_codecs: expected codecs of a fixed size, found a compressor`},
		{`[` + sharded(`[4,3]`, le, `["crc32c"]`, ``) + `]`, `codec "sharding_indexed": ` +
			`index_codecs: codec "crc32c": stands before the array->bytes codec, but needs bytes`},
		{`[` + sharded(`[4,3]`, le, le, `,"index_location":"middle"`) + `]`,
			`codec "sharding_indexed": configuration "index_location": ` +
				`expected one of ["end" "start"], found "middle"`},
		{`[` + sharded(`[4,3]`, `["gzip"]`, le, ``) + `]`,
			`codec "gzip": stands before the array->bytes codec, but needs bytes`},
		{`[` + sharded(`[4,3]`, le, le, ``) + `,` + sharded(`[4,3]`, le, le, ``) + `]`,
			`codec "sharding_indexed": a second array->bytes codec`},
		{`[{"name":"reshape"},` + bytesLE + `]`, `codec "reshape": configuration lacks "shape": ` +
			`expected a list of lengths, lists of axes, or -1`},
		{`[{"name":"reshape","configuration":{"shape":[7,7]}},` + bytesLE + `]`,
			`codec "reshape": configuration "shape": ` +
				`expected a shape of as many elements as [8 6], found [7 7]`},
		{`[{"name":"reshape","configuration":{"shape":[7,-1]}},` + bytesLE + `]`,
			`codec "reshape": configuration "shape": ` +
				`expected a shape of as many elements as [8 6], found [7 1]`},
		{`[{"name":"reshape","configuration":{"shape":[-1,-1]}},` + bytesLE + `]`,
			`codec "reshape": configuration "shape": expected -1 once, found it twice`},
		{`[{"name":"reshape","configuration":{"shape":[0,-1]}},` + bytesLE + `]`,
			`codec "reshape": configuration "shape": expected a length, a list of axes, ` +
				`or -1, found 0`},
		{`[{"name":"reshape","configuration":{"shape":[[0,2]]}},` + bytesLE + `]`,
			`codec "reshape": configuration "shape": ` +
				`expected some of the 2 axes in rising order, found [0,2]`},
		{`[{"name":"reshape","configuration":{"shape":[[1],[0]]}},` + bytesLE + `]`,
			`codec "reshape": configuration "shape": ` +
				`expected some of the 2 axes in rising order, found [0]`},
		{`[{"name":"reshape","configuration":{"shape":[8,[0],-1]}},` + bytesLE + `]`,
			`codec "reshape": configuration "shape": ` +
				`expected a shape of as many elements as [8 6], found [8 8 1]`},
		{`[{"name":"reshape","configuration":{"shape":[2,[1],4]}},` + bytesLE + `]`,
			`codec "reshape": configuration "shape": ` +
				`axis 1 of [2 6 4] is not axes 1 to 1 of [8 6]`},
		{`[{"name":"reshape","configuration":{"shape":[4611686018427387904,4]}},` + bytesLE + `]`,
			`codec "reshape": configuration "shape": ` +
				`chunk shape [4611686018427387904 4] of 1-byte elements is too large`},
		{`[{"name":"zarrs.squeeze"},{"name":"transpose","configuration":{"order":[0]}},` + bytesLE +
			`]`, `codec "transpose": configuration "order": expected 2 integers of at least 0, ` +
			`found [0]`},
		{`[{"name":"scale_offset","configuration":{"offset":1,"bias":2}},` + bytesLE + `]`,
			`codec "scale_offset": configuration "bias": expected only ["offset" "scale"]`},
		{`[{"name":"scale_offset","configuration":{"scale":0}},` + bytesLE + `]`,
			`codec "scale_offset": configuration "scale": expected a number other than 0, found 0`},
		{`[{"name":"scale_offset","configuration":{"scale":0.5}},` + bytesLE + `]`,
			`codec "scale_offset": configuration "scale": dtype: fill value: <i2: ` +
				`expected an integer from -2^15 to 2^15-1, found 0.5`},
		{`[{"name":"scale_offset","configuration":{"offset":[1]}},` + bytesLE + `]`,
			`codec "scale_offset": configuration "offset": expected a number of type <i2, ` +
				`found [1]`},
		{`[{"name":"cast_value"},` + bytesLE + `]`,
			`codec "cast_value": configuration lacks "data_type": expected a data type`},
		{`[{"name":"cast_value","configuration":{"data_type":"uint8","round":1}},` + bytesLE + `]`,
			`codec "cast_value": configuration "round": ` +
				`expected only ["data_type" "rounding" "out_of_range" "scalar_map"]`},
		{`[{"name":"cast_value","configuration":{"data_type":"uint8","rounding":"up"}},` + bytesLE +
			`]`, `codec "cast_value": configuration "rounding": expected one of ["nearest-even" ` +
			`"towards-zero" "towards-positive" "towards-negative" "nearest-away"], found "up"`},
		{`[{"name":"cast_value","configuration":{"data_type":"float32","out_of_range":"wrap"}},` +
			bytesLE + `]`, `codec "cast_value": configuration "out_of_range": ` +
			`expected nothing or "clamp", as <f4 is not an integer type, found "wrap"`},
		{`[{"name":"cast_value","configuration":{"data_type":"uint8","scalar_map":[]}},` + bytesLE +
			`]`, `codec "cast_value": configuration "scalar_map": expected an object, found []`},
		{`[{"name":"cast_value","configuration":{"data_type":"uint8","scalar_map":{"both":[]}}},` +
			bytesLE + `]`, `codec "cast_value": configuration "scalar_map": ` +
			`configuration "both": expected only ["encode" "decode"]`},
		{`[{"name":"cast_value","configuration":{"data_type":"uint8",` +
			`"scalar_map":{"decode":[[1]]}}},` + bytesLE + `]`, `codec "cast_value": ` +
			`configuration "scalar_map": "decode": expected a pair of numbers, found [1]`},
		{`[{"name":"cast_value","configuration":{"data_type":"uint8","scalar_map":{"encode":[[1,` +
			`null]]}}},` + bytesLE + `]`, `codec "cast_value": configuration "scalar_map": ` +
			`"encode": expected a number of type |u1, found null`},
	}
	for _, c := range cases {
		_, err := Bind(arrayOf(t, `"int16"`, []int64{8, 6}, c.codecs))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.codecs, err)
		case c.want == "":
		case err == nil:
			t.Errorf("%s: bound, want error %q", c.codecs, c.want)
		case err.Error() != "invalid metadata: "+c.want:
			t.Errorf("%s:\n got %s\nwant %s", c.codecs, err, c.want)
		case errors.Is(err, errors.ErrUnsupported) || !errors.Is(err, meta.ErrInvalid):
			t.Errorf("%s: %v: want meta.ErrInvalid", c.codecs, err)
		}
	}
}

// TestUnsupportedCodecs holds that the error for a codec that is not decoded names it, and what it
// would need.
func TestUnsupportedCodecs(t *testing.T) {
	cases := []struct{ codecs, want string }{
		{`[{"name":"numcodecs.pickle"}]`,
			`codec "numcodecs.pickle": not decoded, as decoding it executes code from the data; ` +
				`if you trust it, ` +
				`read it with zarr-python and store it again as strings or numbers`},
		{`[` + bytesLE + `,{"name":"acme"}]`, `codec "acme": unknown to this version of zarrfs`},
		{`[{"name":"zfp"}]`, `codec "zfp": not decoded, it needs a decoder of zfp`},
		{`[{"name":"vlen-utf8"}]`,
			`codec "vlen-utf8": not decoded, it is for elements that have no fixed size`},
		{`[{"name":"numcodecs.categorize","configuration":{"dtype":"|O","labels":[]}},"bytes"]`,
			`codec "numcodecs.categorize": labels of type |O have no fixed size: ` +
				`unsupported operation`},
		{`[{"name":"cast_value","configuration":{"data_type":"bfloat16"}},"bytes"]`,
			`codec "cast_value": configuration "data_type": numbers of type bfloat16: ` +
				`unsupported operation`},
		{`[{"name":"cast_value","configuration":{"data_type":"bool"}},"bytes"]`,
			`codec "cast_value": configuration "data_type": numbers of type |b1: ` +
				`unsupported operation`},
		{`[` + sharded(`[4,3]`, `[{"name":"zfp"}]`, `["bytes"]`, ``) + `]`,
			`codec "zfp": not decoded, it needs a decoder of zfp`},
	}
	for _, c := range cases {
		_, err := Bind(arrayOf(t, `"int16"`, []int64{8, 6}, c.codecs))
		if !errors.Is(err, errors.ErrUnsupported) || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.codecs, err, c.want)
		}
	}
}

// TestChunk holds which chunks can be decoded apart.
func TestChunk(t *testing.T) {
	const index = `["bytes","crc32c"]`
	inner := sharded(`[4,3,2]`, `["bytes","gzip"]`, index, ``)
	cases := []struct {
		codecs string
		want   string
		n      int64
	}{
		{`["bytes"]`, "[8 6 4]", 1},
		{`[` + inner + `]`, "[4 3 2]", 8},
		{`[` + inner + `,"crc32c"]`, "[8 6 4]", 1},
		{`[{"name":"bitround"},` + inner + `]`, "[4 3 2]", 8},
		{`[{"name":"scale_offset"},` + inner + `]`, "[4 3 2]", 8},
		{`[{"name":"scale_offset","configuration":{"scale":2}},` + inner + `]`, "[8 6 4]", 1},
		{`[{"name":"cast_value","configuration":{"data_type":"int16"}},` + inner + `]`,
			"[4 3 2]", 8},
		{`[{"name":"cast_value","configuration":{"data_type":"uint16","out_of_range":"wrap"}},` +
			inner + `]`, "[8 6 4]", 1},
		{`[{"name":"zarrs.squeeze"},` + inner + `]`, "[4 3 2]", 8},
		{`[{"name":"reshape","configuration":{"shape":[[0],1,[1],[2]]}},` +
			sharded(`[4,1,3,2]`, `["bytes"]`, index, ``) + `]`, "[4 3 2]", 8},
		{`[{"name":"reshape","configuration":{"shape":[[0,1],[2]]}},` +
			sharded(`[24,2]`, `["bytes"]`, index, ``) + `]`, "[8 6 4]", 1},
		{`[{"name":"reshape","configuration":{"shape":[6,8,[2]]}},` +
			`{"name":"transpose","configuration":{"order":[1,0,2]}},` + inner + `]`, "[8 6 4]", 1},
		{`[` + sharded(`[4,3,4]`, `[{"name":"reshape","configuration":{"shape":[[0,1],-1]}},`+
			sharded(`[6,2]`, `["bytes"]`, index, ``)+`]`, index, ``) + `]`, "[4 3 4]", 4},
		{`[{"name":"numcodecs.astype","configuration":{"decode_dtype":"<i4",` +
			`"encode_dtype":"<i4"}},` + sharded(`[48]`, `["bytes"]`, index, ``) + `]`,
			"[8 6 4]", 1},
		{`[{"name":"numcodecs.delta","configuration":{"dtype":"<i2"}},` + inner + `]`,
			"[8 6 4]", 1},
		{`[{"name":"transpose","configuration":{"order":[1,2,0]}},` +
			sharded(`[3,2,4]`, `["bytes"]`, index, ``) + `]`, "[4 3 2]", 8},
		{`[` + sharded(`[4,6,4]`, `[{"name":"transpose","configuration":{"order":[2,1,0]}},`+
			sharded(`[1,3,2]`, `["bytes"]`, index, ``)+`]`, index, ``) + `]`, "[2 3 1]", 32},
		{`[` + sharded(`[4,6,4]`, `[`+sharded(`[2,3,1]`, `["bytes"]`, index, ``)+`,"gzip"]`, index,
			``) + `]`, "[4 6 4]", 2},
	}
	for _, c := range cases {
		chain := mustBind(t, `"int16"`, []int64{8, 6, 4}, c.codecs)
		if got := fmt.Sprint(chain.Chunk()); got != c.want || chain.PerObject() != c.n {
			t.Errorf("%s: %s x %d, want %s x %d", c.codecs, got, chain.PerObject(), c.want, c.n)
		}
	}
}

// TestDocumented holds that docs/FORMATS.md lists the codecs that are registered, each in the right
// table.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/FORMATS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, codecs, _ := strings.Cut(string(page), "\n## Codecs\n")
	codecs, _, _ = strings.Cut(codecs, "\n## ")
	decoded, refused, _ := strings.Cut(codecs, "### Known and not decoded")
	listed := map[string]bool{}
	for table, text := range map[bool]string{true: decoded, false: refused} {
		for _, cell := range regexp.MustCompile("(?m)^\\| `.*?\\|").FindAllString(text, -1) {
			for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
				if e, known := registry[name[1]]; !known ||
					(e.bind != nil || e.form != nil) != table || listed[name[1]] {
					t.Errorf("FORMATS.md: %s is not registered, "+
						"or stands in the wrong table or twice", name[1])
				}
				listed[name[1]] = true
			}
		}
	}
	for name := range registry {
		if !listed[name] {
			t.Errorf("FORMATS.md lacks the codec %s", name)
		}
	}
}

package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// arraySpec says how an array of a test is stored. Its documents are written here, not by zarrfs.
type arraySpec struct {
	Format int
	Type   elementType
	Shape  []int64
	Chunks []int64 // as codecs see them: inner chunks if Shards is set
	Shards []int64 // v3 only
	Order  string  // "C" or "F"; in v3 F is a transpose codec
	Codec  string  // the JSON of a v2 compressor or of the v3 bytes-to-bytes codecs, as a list
	Filter string  // v2: the JSON of the filters
	Index  string  // v3: index_location of shards
	Keys   string  // separator of chunk keys
	Grid   string  // v3: the JSON of the grid if it is another than that of Chunks or Shards
}

// elementType is a data type and a fill value of it.
type elementType struct {
	V2, V3 string // "" where the format has no such type
	Size   int64
	Fill   string // as JSON
	Bytes  string // the fill value's bytes
}

// elementTypes has fill values of zeros and others. Those of several bytes are the same in either
// byte order.
var elementTypes = []elementType{
	{"|u1", "uint8", 1, "0", "\x00"},
	{"|u1", "uint8", 1, "255", "\xff"},
	{"<i2", "int16", 2, "0", "\x00\x00"},
	{">i4", "", 4, "16843009", "\x01\x01\x01\x01"},
	{"<u4", "uint32", 4, "16843009", "\x01\x01\x01\x01"},
	{"<f4", "float32", 4, `"NaN"`, "\x00\x00\xc0\x7f"},
	{"<f8", "float64", 8, "0.0", "\x00\x00\x00\x00\x00\x00\x00\x00"},
	{"<c16", "complex128", 16, "[0.0, 0.0]", strings.Repeat("\x00", 16)},
	{"|S5", "", 5, `"AAAAAAA="`, "\x00\x00\x00\x00\x00"},
	{"<M8[s]", "", 8, "0", "\x00\x00\x00\x00\x00\x00\x00\x00"},
}

// codecsV2 and codecsV3 are codecs that lose nothing.
var (
	codecsV2 = []string{
		"null", `{"id": "zlib", "level": 1}`, `{"id": "gzip", "level": 5}`, `{"id": "zstd", ` +
			`"level": 3}`, `{"id": "lz4", "acceleration": 1}`, `{"id": "bz2", "level": 1}`,
		`{"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}`,
		`{"id": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 2, "blocksize": 0}`,
	}
	filtersV2 = []string{"null", "null", `[{"id": "shuffle", "elementsize": %d}]`}
	codecsV3  = []string{
		`[]`, `[{"name": "zstd", "configuration": {"level": 1, "checksum": false}}]`,
		`[{"name": "gzip", "configuration": {"level": 5}}]`, `[{"name": "crc32c"}]`,
		`[{"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", ` +
			`"typesize": %d, "blocksize": 0}}]`,
		`[{"name": "blosc", "configuration": {"cname": "zstd", "clevel": 3, "shuffle": ` +
			`"bitshuffle", "typesize": %d, "blocksize": 0}}, {"name": "crc32c"}]`,
	}
)

// randomSpec picks an array of 1 to 3 axes and some 100 KiB.
func randomSpec(rng *rand.Rand) arraySpec {
	s := arraySpec{Format: 2 + rng.IntN(2), Order: pick(rng, "C", "C", "F"),
		Keys: pick(rng, "/", "."), Index: pick(rng, "end", "start")}
	for s.Type = pick(rng, elementTypes...); s.Format == 3 && s.Type.V3 == ""; {
		s.Type = pick(rng, elementTypes...)
	}
	s.Codec, s.Filter = pick(rng, codecsV2...), pick(rng, filtersV2...)
	if s.Format == 3 {
		s.Codec = pick(rng, codecsV3...)
	}
	s.Codec = strings.ReplaceAll(s.Codec, "%d", strconv.FormatInt(s.Type.Size, 10))
	s.Filter = strings.ReplaceAll(s.Filter, "%d", strconv.FormatInt(s.Type.Size, 10))
	sharded := s.Format == 3 && rng.IntN(2) == 0
	for left := 1<<17/s.Type.Size + rng.Int64N(1000); len(s.Shape) < 3; {
		n := left
		if len(s.Shape) < 2 && rng.IntN(3) > 0 {
			n = 3 + rng.Int64N(40)
		}
		// several chunks along each axis, mostly with an edge
		chunk := 1 + n/8 + rng.Int64N(max(1, n/3))
		s.Shape, s.Chunks = append(s.Shape, n), append(s.Chunks, chunk)
		if sharded {
			s.Shards = append(s.Shards, chunk*(1+rng.Int64N(3)))
		}
		if left /= n; left <= 1 {
			break
		}
	}
	return s
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

// rowBytes is the size of one index of axis 0.
func (s arraySpec) rowBytes() int64 {
	n := s.Type.Size
	for _, d := range s.Shape[1:] {
		n *= d
	}
	return n
}

// fill returns n bytes of the fill value, as they are from a row's start on.
func (s arraySpec) fill(n int64) []byte {
	return bytes.Repeat([]byte(s.Type.Bytes), int(n/s.Type.Size)+1)[:n]
}

// objects are the sizes, in elements, of what one key holds.
func (s arraySpec) objects() []int64 {
	if s.Shards != nil {
		return s.Shards
	}
	return s.Chunks
}

// key is the name of the object with that index, below the array.
func (s arraySpec) key(index []int64) string {
	var parts []string
	for _, i := range index {
		parts = append(parts, strconv.FormatInt(i, 10))
	}
	if s.Format == 3 {
		return "c" + s.Keys + strings.Join(parts, s.Keys)
	}
	return strings.Join(parts, s.Keys)
}

// write makes a store in dir: a root group with the empty array "a".
func (s arraySpec) write(t *testing.T, dir string) {
	t.Helper()
	if s.Format == 2 {
		put(t, dir, ".zgroup", `{"zarr_format": 2}`)
		put(t, dir, "a/.zarray", s.documentV2())
		return
	}
	put(t, dir, "zarr.json", `{"zarr_format": 3, "node_type": "group", "attributes": {}}`)
	put(t, dir, "a/zarr.json", s.documentV3())
}

func (s arraySpec) documentV2() string {
	return fmt.Sprintf(
		`{"zarr_format": 2, "shape": %s, "chunks": %s, "dtype": "%s", "fill_value": %s, "order": `+
			`"%s", "compressor": %s, "filters": %s, "dimension_separator": "%s"}`,
		list(s.Shape), list(s.Chunks), s.Type.V2, s.Type.Fill, s.Order, s.Codec, s.Filter, s.Keys)
}

func (s arraySpec) documentV3() string {
	toBytes := `{"name": "bytes", "configuration": {"endian": "little"}}`
	if s.Type.Size == 1 {
		toBytes = `{"name": "bytes"}`
	}
	chain := toBytes
	if s.Codec != "[]" {
		chain += ", " + strings.Trim(s.Codec, "[]")
	}
	if s.Order == "F" && len(s.Shape) > 1 {
		var order []int64
		for i := range s.Shape {
			order = append(order, int64(len(s.Shape)-1-i))
		}
		chain = fmt.Sprintf(
			`{"name": "transpose", "configuration": {"order": %s}}, `, list(order)) + chain
	}
	if s.Shards != nil {
		chain = fmt.Sprintf(`{"name": "sharding_indexed",
			"configuration": {"chunk_shape": %s, "codecs": [%s], "index_location": "%s",
			"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
			{"name": "crc32c"}]}}`, list(s.Chunks), chain, s.Index)
	}
	grid := s.Grid
	if grid == "" {
		grid = fmt.Sprintf(`{"name": "regular", "configuration": {"chunk_shape": %s}}`,
			list(s.objects()))
	}
	return fmt.Sprintf(`{"zarr_format": 3, "node_type": "array", "shape": %s, "data_type": "%s",
		"fill_value": %s, "codecs": [%s], "attributes": {},
		"chunk_grid": %s,
		"chunk_key_encoding": {"name": "default", "configuration": {"separator": "%s"}}}`,
		list(s.Shape), s.Type.V3, s.Type.Fill, chain, grid, s.Keys)
}

func list(v []int64) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// readers names those that read the array, as serve.py knows them.
func (s arraySpec) readers() []string {
	switch {
	case s.Grid != "":
		return []string{"cut_grids"}
	case s.tensorstoreReads():
		return []string{"zarr", "tensorstore"}
	}
	return []string{"zarr"}
}

// tensorstoreReads reports whether tensorstore knows the data type and codecs; zarr-python knows
// all of them.
func (s arraySpec) tensorstoreReads() bool {
	return s.Format == 3 ||
		s.Type.V3 != "" && s.Filter == "null" && !strings.Contains(s.Codec, `"id": "lz4"`)
}

// leftovers returns the files and folders of the store that are neither documents nor objects of
// the array, nor folders of these.
func (s arraySpec) leftovers(store string) (names []string) {
	filepath.WalkDir(store, func(path string, d os.DirEntry, err error) error {
		name, _ := filepath.Rel(store, path)
		if err != nil || !s.known(filepath.ToSlash(name), d.IsDir()) {
			names = append(names, name)
		}
		return nil
	})
	return names
}

// known reports whether a name belongs in the store.
func (s arraySpec) known(name string, folder bool) bool {
	switch path.Base(name) {
	case ".", "zarr.json", ".zarray", ".zgroup", ".zattrs", "a":
		return true
	}
	key := strings.TrimPrefix(name, "a/")
	if s.Format == 3 {
		key = strings.TrimPrefix(strings.TrimPrefix(key, "c"), s.Keys)
	}
	if key == "" && folder {
		return true
	}
	parts := strings.Split(key, s.Keys)
	for _, p := range parts {
		if _, err := strconv.ParseUint(p, 10, 63); err != nil {
			return false
		}
	}
	return folder == (len(parts) < len(s.Shape))
}

func (s arraySpec) String() string {
	if s.Format == 2 {
		return s.documentV2()
	}
	return s.documentV3()
}

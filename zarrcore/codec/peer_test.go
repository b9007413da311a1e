package codec

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// writtenTypes are the types that peers read back, in NumPy's spelling and v3's.
var writtenTypes = []struct{ v2, v3 string }{
	{"|b1", "bool"}, {"|i1", "int8"}, {"|u1", "uint8"}, {"i2", "int16"}, {"u2", "uint16"},
	{"i4", "int32"}, {"u4", "uint32"},
	{"i8", "int64"}, {"u8", "uint64"}, {"f2", "float16"}, {"f4", "float32"}, {"f8", "float64"},
	{"c8", "complex64"}, {"c16", "complex128"},
}

// writtenChains3 are chains behind the bytes codec, and whole ones, in which BYTES and SIZE stand
// for those of the type.
var writtenChains3 = []string{
	``, `{"name":"crc32c"}`, `{"name":"gzip","configuration":{"level":1}}`,
	`{"name":"gzip","configuration":{"level":9}}`,
	`{"name":"zstd","configuration":{"level":1,"checksum":false}}`,
	`{"name":"zstd","configuration":{"level":5,"checksum":true}}`,
	`{"name":"zstd","configuration":{"level":19,"checksum":false}}`,
	`{"name":"blosc","configuration":{"cname":"lz4","clevel":5,"shuffle":"shuffle",` +
		`"typesize":SIZE,"blocksize":0}}`,
	`{"name":"blosc","configuration":{"cname":"lz4hc","clevel":9,"shuffle":"bitshuffle",` +
		`"typesize":SIZE,"blocksize":0}}`,
	`{"name":"blosc","configuration":{"cname":"zstd","clevel":3,"shuffle":"bitshuffle",` +
		`"typesize":SIZE,"blocksize":0}}`,
	`{"name":"blosc","configuration":{"cname":"zlib","clevel":6,"shuffle":"noshuffle",` +
		`"typesize":SIZE,"blocksize":0}}`,
	`{"name":"blosc","configuration":{"cname":"blosclz","clevel":5,"shuffle":"shuffle",` +
		`"typesize":SIZE,"blocksize":512}}`,
	`{"name":"blosc","configuration":{"cname":"blosclz","clevel":9,"shuffle":"bitshuffle",` +
		`"typesize":SIZE,"blocksize":0}}`,
	`[{"name":"transpose","configuration":{"order":[1,0]}},` +
		`BYTES,{"name":"zstd","configuration":{"level":3,"checksum":false}},{"name":"crc32c"}]`,
	`[{"name":"sharding_indexed","configuration":{"chunk_shape":[10,8],` +
		`"codecs":[BYTES,{"name":"zstd","configuration":{"level":1,"checksum":false}}],` +
		`"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}],` +
		`"index_location":"end"}}]`,
	`[{"name":"sharding_indexed","configuration":{"chunk_shape":[10,8],` +
		`"codecs":[{"name":"transpose","configuration":{"order":[1,0]}},BYTES],` +
		`"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}],` +
		`"index_location":"start"}}]`,
}

// writtenNumcodecs3 are chains of the codecs that zarr-python 3 takes from numcodecs. Those with an
// array before BYTES are for numbers in little-endian order alone, as zarr-python stores others
// wrongly.
var writtenNumcodecs3 = []string{
	`{"name":"numcodecs.zlib","configuration":{"level":1}}`,
	`{"name":"numcodecs.gzip","configuration":{"level":6}}`,
	`{"name":"numcodecs.zstd","configuration":{"level":3}}`,
	`{"name":"numcodecs.lz4","configuration":{"acceleration":1}}`,
	`{"name":"numcodecs.bz2","configuration":{"level":9}}`, `{"name":"numcodecs.lzma",` +
		`"configuration":{"format":1,"check":-1,"preset":null,"filters":null}}`,
	`{"name":"numcodecs.blosc","configuration":{"cname":"lz4","clevel":5,"shuffle":1,` +
		`"blocksize":0}}`,
	`{"name":"numcodecs.shuffle","configuration":{"elementsize":SIZE}},` +
		`{"name":"numcodecs.zlib","configuration":{"level":1}}`,
	`{"name":"numcodecs.crc32","configuration":{}},{"name":"numcodecs.adler32",` +
		`"configuration":{}},{"name":"numcodecs.crc32c","configuration":{}}`,
	`{"name":"numcodecs.crc32","configuration":{"location":"end"}},` +
		`{"name":"numcodecs.crc32c","configuration":{"location":"start"}}`,
	`{"name":"numcodecs.fletcher32","configuration":{}},` +
		`{"name":"numcodecs.jenkins_lookup3","configuration":{"initval":3,"prefix":null}}`,
	`{"name":"numcodecs.bz2","configuration":{"level":1}},` +
		`{"name":"numcodecs.zlib","configuration":{"level":1}}`,
	`[{"name":"numcodecs.delta","configuration":{"dtype":"DTYPE"}},BYTES]`,
	`[{"name":"numcodecs.bitround","configuration":{"keepbits":5}},` +
		`BYTES,{"name":"numcodecs.zlib","configuration":{"level":1}}]`,
	`[{"name":"numcodecs.quantize","configuration":{"digits":1,"dtype":"DTYPE"}},BYTES]`,
	`[{"name":"numcodecs.fixedscaleoffset","configuration":{"offset":1,"scale":4,"dtype":"DTYPE",` +
		`"astype":"<i4"}},BYTES]`,
	`[{"name":"numcodecs.astype","configuration":{"encode_dtype":"<f8",` +
		`"decode_dtype":"DTYPE"}},BYTES]`,
}

// writtenZarrs are chains that zarrs alone knows.
var writtenZarrs = []string{
	// zarrs does not count the padding where all bits are stored
	`[{"name":"packbits"},{"name":"crc32c"}]`,
	`[{"name":"packbits","configuration":{"padding_encoding":"first_byte"}},{"name":"crc32c"}]`,
	`[{"name":"packbits","configuration":{"padding_encoding":"last_byte"}}]`,
	`[{"name":"reshape","configuration":{"shape":[-1]}},BYTES]`,
	`[{"name":"reshape","configuration":{"shape":[[0,1]]}},` +
		`BYTES,{"name":"zstd","configuration":{"level":1,"checksum":false}}]`,
	`[{"name":"reshape","configuration":{"shape":[4,5,24]}},` +
		`{"name":"transpose","configuration":{"order":[2,0,1]}},BYTES]`,
	`[{"name":"reshape","configuration":{"shape":[10,48]}},{"name":"sharding_indexed",` +
		`"configuration":{"chunk_shape":[5,6],"codecs":[{"name":"packbits"}],` +
		`"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}],` +
		`"index_location":"end"}}]`,
	`["zarrs.squeeze",BYTES]`, `{"name":"blosc","configuration":{"cname":"snappy","clevel":5,` +
		`"shuffle":"shuffle","typesize":SIZE,"blocksize":0}}`,
}

// writtenChains2 are filters and a compressor, with DTYPE in them for the type.
var writtenChains2 = []struct{ filters, compressor string }{
	{`null`, `null`}, {`null`, `{"id":"zlib","level":1}`}, {`null`, `{"id":"zlib","level":6}`},
	{`null`, `{"id":"zlib","level":9}`},
	{`null`, `{"id":"gzip","level":5}`}, {`null`, `{"id":"zstd","level":1}`},
	{`null`, `{"id":"zstd","level":9,"checksum":true}`},
	{`null`, `{"id":"lz4","acceleration":1}`}, {`null`, `{"id":"bz2","level":9}`},
	{`null`, `{"id":"bz2","level":1}`},
	{`null`, `{"id":"lzma","format":1,"check":-1,"preset":null,"filters":null}`},
	{`null`, `{"id":"lzma","format":1,"check":10,"preset":9,"filters":null}`},
	{`null`, `{"id":"lzma","format":2,"check":-1,"preset":1,"filters":null}`},
	{`null`, `{"id":"lzma","format":3,"check":-1,"preset":null,"filters":[{"id":3,"dist":4},` +
		`{"id":33,"preset":1}]}`},
	{`null`, `{"id":"lzma","format":3,"check":-1,"preset":null,` +
		`"filters":[{"id":4611686018427387905,"dict_size":4096,"lc":0,"lp":2,"pb":1}]}`},
	{`null`, `{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1,"blocksize":0}`},
	{`null`, `{"id":"blosc","cname":"zstd","clevel":9,"shuffle":2,"blocksize":0}`},
	{`null`, `{"id":"blosc","cname":"blosclz","clevel":1,"shuffle":-1,"blocksize":0}`},
	{`null`, `{"id":"blosc","cname":"lz4","clevel":0,"shuffle":1,"blocksize":0}`},
	{`[{"id":"delta","dtype":"DTYPE"}]`, `{"id":"zlib","level":3}`},
	{`[{"id":"shuffle","elementsize":4}]`, `{"id":"zstd","level":3}`},
	{`[{"id":"crc32"},{"id":"adler32"}]`, `{"id":"crc32c"}`},
	{`[{"id":"fletcher32"}]`, `{"id":"jenkins_lookup3","initval":3,"prefix":null}`},
	{`[{"id":"base64"}]`, `null`}, {`[{"id":"bitround","keepbits":5}]`, `{"id":"zlib","level":1}`},
	{`[{"id":"quantize","digits":1,"dtype":"DTYPE"}]`, `{"id":"zlib","level":1}`},
	{`[{"id":"fixedscaleoffset","offset":1,"scale":4,"dtype":"DTYPE","astype":"<i4"}]`, `null`},
	{`[{"id":"astype","encode_dtype":"<f8","decode_dtype":"DTYPE"}]`, `null`},
	{`[{"id":"packbits"}]`, `null`},
}

var writtenShape = []int64{20, 24}

// TestPeersRead has zarr-python 3, zarr-python 2, zarrs and tensorstore read what this package
// encodes: every type by every codec.
func TestPeersRead(t *testing.T) {
	dir3, dir2 := t.TempDir(), t.TempDir()
	dirN, dirZ := t.TempDir(), t.TempDir()
	n3, n2 := writeArrays3(t, dir3, writtenChains3), writeArrays2(t, dir2)
	nN, nZ := writeArrays3(t, dirN, writtenNumcodecs3), writeArrays3(t, dirZ, writtenZarrs)
	for _, peer := range []struct {
		name, variable, venv, reader, dir string
		atLeast                           int // arrays that it reads
	}{
		{"zarr 3 of v3", "ZARRFS_PY3", ".venv-v3", "zarr", dir3, n3},
		{"zarrs of v3", "ZARRFS_PY3", ".venv-v3", "zarrs", dir3, n3},
		{"tensorstore of v3", "ZARRFS_PY3", ".venv-v3", "tensorstore", dir3, n3},
		{"zarr 3 of numcodecs in v3", "ZARRFS_PY3", ".venv-v3", "zarr", dirN, nN},
		{"zarrs alone of v3", "ZARRFS_PY3", ".venv-v3", "zarrs-alone", dir3, n3},
		{"zarrs alone of its own", "ZARRFS_PY3", ".venv-v3", "zarrs-alone", dirZ, nZ},
		{"zarr 2 of v2", "ZARRFS_PY2", ".venv-v2", "zarr", dir2, n2},
		{"zarr 3 of v2", "ZARRFS_PY3", ".venv-v3", "zarr", dir2, n2},
		{"tensorstore of v2", "ZARRFS_PY3", ".venv-v3", "tensorstore", dir2, n2 * 2 / 5},
	} {
		t.Run(peer.name, func(t *testing.T) {
			checkPeer(t, pythonOf(t, peer.variable, peer.venv), peer.reader, peer.dir, peer.atLeast)
		})
	}
}

// pythonOf returns the path of Python in an environment variable. If that is empty, it returns the
// Python of venv at the top of the repository.
func pythonOf(t *testing.T, variable, venv string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		path = filepath.Join("..", "..", venv, "bin", "python")
	}
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("ZARRFS_REQUIRE_PEERS") == "1" {
			t.Fatalf("no Python: %v; run `make peers`, or set %s", err, variable)
		}
		t.Skipf("SKIPPED: no Python: %v; run `make peers`, or set %s", err, variable)
	}
	return path
}

func checkPeer(t *testing.T, python, reader, dir string, atLeast int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "read_encoded.py"),
		reader, dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	equal, refused := 0, 0
	for line := range strings.Lines(string(out)) {
		name, result, _ := strings.Cut(strings.TrimSpace(line), " ")
		doc, _ := os.ReadFile(filepath.Join(dir, name+".zarr", "zarr.json"))
		if len(doc) == 0 {
			doc, _ = os.ReadFile(filepath.Join(dir, name+".zarr", ".zarray"))
		}
		switch {
		case result == "equal":
			equal++
		case strings.HasPrefix(result, "refused"):
			if refused++; refused <= 3 {
				t.Logf("%s: %s", result, doc)
			}
		default:
			t.Errorf("%s: %s", result, doc)
		}
	}
	t.Logf("%d arrays equal, %d refused", equal, refused)
	if equal < atLeast {
		t.Errorf("%d arrays were read, expected at least %d", equal, atLeast)
	}
}

func writeArrays3(t *testing.T, dir string, chains []string) int {
	n := 0
	for _, typ := range writtenTypes {
		for _, endian := range []string{"little", "big"} {
			if typ.v2[0] == '|' && endian == "big" {
				continue
			}
			size, spelled := dtypeOf(t, typ.v2).Size, typ.v2
			if spelled[0] != '|' {
				spelled = "<" + spelled
			}
			bytesCodec := fmt.Sprintf(`{"name":"bytes","configuration":{"endian":%q}}`, endian)
			for i, chain := range chains {
				if !applies3(chain, typ.v3, spelled, endian) {
					continue
				}
				if chain == "" || chain[0] == '{' {
					chain = strings.TrimSuffix("[BYTES,"+chain, ",") + "]"
				}
				chain = strings.NewReplacer(
					"BYTES", bytesCodec, "SIZE", fmt.Sprint(size), "DTYPE", spelled).Replace(chain)
				doc := fmt.Sprintf(`{"zarr_format":3,"node_type":"array","shape":[20,24],`+
					`"data_type":%q,"chunk_grid":{"name":"regular",`+
					`"configuration":{"chunk_shape":[20,24]}},`+
					`"chunk_key_encoding":{"name":"default",`+
					`"configuration":{"separator":"/"}},`+
					`"fill_value":%s,"codecs":%s,"attributes":{}}`, typ.v3, zeroOf(typ.v3), chain)
				a, _, err := meta.ParseV3([]byte(doc))
				if err != nil {
					t.Fatalf("%s: %v", doc, err)
				}
				if writeArray(t, filepath.Join(dir, fmt.Sprintf("%s-%s-%d", typ.v3, endian, i)),
					"zarr.json", doc, "c/0/0", a) {
					n++
				}
			}
		}
	}
	return n
}

func writeArrays2(t *testing.T, dir string) int {
	n := 0
	for _, typ := range writtenTypes {
		for _, order := range []string{"<", ">"} {
			if typ.v2[0] == '|' && order == ">" {
				continue
			}
			spelled := strings.TrimPrefix(order+typ.v2, "<|")
			if typ.v2[0] == '|' {
				spelled = typ.v2
			}
			for i, chain := range writtenChains2 {
				if !applies(chain.filters, spelled) {
					continue
				}
				layout := []string{"C", "F"}[i%2]
				doc := fmt.Sprintf(`{"zarr_format":2,"shape":[20,24],"chunks":[20,24],`+
					`"dtype":%q,"fill_value":%s,"order":%q,"filters":%s,"compressor":%s}`,
					spelled, zeroOf(typ.v3), layout,
					strings.ReplaceAll(chain.filters, "DTYPE", spelled), chain.compressor)
				a, err := meta.ParseV2Array([]byte(doc), nil)
				if err != nil {
					t.Fatalf("%s: %v", doc, err)
				}
				if writeArray(t, filepath.Join(dir, fmt.Sprintf("%s-%d", spelled[1:]+
					map[string]string{"<": "l", ">": "b"}[order], i)), ".zarray", doc, "0.0", a) {
					n++
				}
			}
		}
	}
	return n
}

// zeroOf spells zero as a fill value.
func zeroOf(v3 string) string {
	switch v3[0] {
	case 'b':
		return "false"
	case 'c':
		return "[0.0,0.0]"
	}
	return "0"
}

// applies3 reports whether a peer reads numbers of a type by a chain of version 3.
func applies3(chain, v3, spelled, endian string) bool {
	switch {
	case strings.Contains(chain, "padding"):
		return v3 == "bool" // zarrs does not extend the sign of numbers
	case !strings.Contains(chain, "numcodecs.") || !strings.Contains(chain, "BYTES"):
		return true
	case strings.Contains(chain, "astype") && spelled[0] == '|':
		return false // zarr-python gives up
	case strings.Contains(chain, "bitround") && spelled[1] == 'i':
		return false // zarr-python takes them for floats
	}
	return endian == "little" && applies(chain, spelled)
}

// applies reports whether numcodecs' filters take numbers of a type.
func applies(filters, spelled string) bool {
	kind, size := spelled[1], spelled[2:]
	switch {
	case strings.Contains(filters, "packbits"):
		return kind == 'b'
	case strings.Contains(filters, "bitround"):
		// numcodecs encodes only floats, but reads all
		return strings.ContainsRune("fiu", rune(kind)) && spelled[0] != '>'
	case strings.Contains(filters, "quantize"):
		return kind == 'f'
	case strings.Contains(filters, "fixedscaleoffset"):
		return kind == 'f' && size != "2"
	case strings.Contains(filters, "delta"):
		return kind != 'b' // numcodecs' own decoding is wrong
	case strings.Contains(filters, "astype"):
		return kind != 'b' && kind != 'c' && size != "8"
	}
	return true
}

func dtypeOf(t *testing.T, spelled string) dtype.Type {
	t.Helper()
	if spelled[0] != '|' {
		spelled = "<" + spelled
	}
	typ, err := parseSpelled(spelled)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// writeArray writes an array of one object, and its elements as they decode; the result is false if
// its chain cannot be written.
func writeArray(t *testing.T, path, document, doc, key string, a *meta.Array) bool {
	t.Helper()
	chain, err := Bind(a)
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	if err := chain.Writable(); err != nil {
		t.Errorf("%s: %v", doc, err)
		return false
	}
	plain := numbersOf(t, a.Type, int(writtenShape[0]*writtenShape[1]))
	object, _, err := encodeObject(chain, a, plain, true)
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	if plain, err = decodeObject(chain, a, memory(object)); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	for name, data := range map[string][]byte{
		path + ".bin":                         plain,
		filepath.Join(path+".zarr", document): []byte(doc),
		filepath.Join(path+".zarr", key):      object,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return true
}

// numbersOf are smooth numbers of a type, a quarter of them zero.
func numbersOf(t *testing.T, typ dtype.Type, n int) []byte {
	t.Helper()
	num, err := scalarOf(typ)
	if err != nil {
		t.Fatal(err)
	}
	if num.class == complexed {
		num, n = num.part(), 2*n
	}
	out := make([]byte, n*num.size)
	for i := range n {
		v := float64(i*3%120) / 4
		if i < n/4 {
			v = 0
		}
		storeFloats(out[i*num.size:], []float64{v}, num)
	}
	return out
}

func parseSpelled(spelled string) (dtype.Type, error) {
	v, err := pyjson.Parse(fmt.Appendf(nil, "%q", spelled))
	if err != nil {
		return dtype.Type{}, err
	}
	return dtype.ParseV2(v)
}

package codec

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// goldenChains are the documents of all chains that other libraries wrote.
func goldenChains(t *testing.T) []pyjson.Value {
	t.Helper()
	return slices.Concat(lines(t, "testdata/chains3.jsonl"), lines(t, "testdata/chains2.jsonl"),
		lines(t, "testdata/extensions.jsonl"))
}

// encodeObject cuts an object into chunks, encodes each and puts them together. Chunks that repeat
// the fill value are left out.
func encodeObject(c *Chain, a *meta.Array, whole []byte, elide bool) ([]byte, bool, error) {
	pieces, err := encodePieces(c, a, whole, elide)
	if err != nil {
		return nil, false, err
	}
	return assemble(c, nil, pieces)
}

// A piece is one encoded chunk of an object; without data it is all fill value.
type piece struct {
	inner int64
	data  []byte
}

// an assembler is a Chain, or a Vlen.
type assembler interface {
	Compare(a, b int64) int
	Assemble(Sink, Source, []int64, func() ([]byte, error)) (bool, error)
}

// assemble makes an object of chunks in any order, and of what is left of old.
func assemble(c assembler, old Source, pieces []piece) ([]byte, bool, error) {
	pieces = slices.Clone(pieces)
	slices.SortFunc(pieces, func(a, b piece) int { return c.Compare(a.inner, b.inner) })
	var inner []int64
	for _, p := range pieces {
		inner = append(inner, p.inner)
	}
	var object collected
	empty, err := c.Assemble(&object, old, inner, func() ([]byte, error) {
		data := pieces[0].data
		pieces = pieces[1:]
		return data, nil
	})
	return object, empty, err
}

// collected is an object whose parts were collected.
type collected []byte

func (c *collected) Write(p []byte) (int, error) {
	*c = append(*c, p...)
	return len(p), nil
}

func (c *collected) WriteAt(p []byte, off int64) (int, error) { return copy((*c)[off:], p), nil }

func encodePieces(c *Chain, a *meta.Array, whole []byte, elide bool) ([]piece, error) {
	var pieces []piece
	gather := newGather(a.Chunk, c.Chunk(), a.Type.Size)
	stride := strides(a.Chunk, a.Type.Size)
	counts := make([]int64, len(a.Chunk))
	for i, n := range c.Chunk() {
		counts[i] = a.Chunk[i] / n
	}
	at := make([]int64, len(counts))
	for i := range c.PerObject() {
		off := int64(0)
		for axis, k := range at {
			off += k * c.Chunk()[axis] * stride[axis]
		}
		advance(at, counts)
		chunk := make([]byte, c.ChunkBytes())
		gather.run(chunk, whole[off:])
		if elide && repeats(chunk, a.Fill) {
			pieces = append(pieces, piece{inner: i})
			continue
		}
		before := bytes.Clone(chunk)
		data, err := c.EncodeChunk([]byte{}, chunk)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(before, chunk) {
			return nil, errors.New("the chunk was changed")
		}
		pieces = append(pieces, piece{i, data})
	}
	return pieces, nil
}

// TestEncodeChains encodes what other libraries stored. Where no compressor has a choice, the
// object is the same byte for byte.
func TestEncodeChains(t *testing.T) {
	exact, written := 0, 0
	for _, doc := range goldenChains(t) {
		name := doc.Get("writer").Text() + ": " + doc.Get("name").Text()
		chain, a := bindDocument(t, name, doc.Get("metadata"))
		if chain == nil {
			continue
		}
		if err := chain.Writable(); err != nil {
			t.Logf("%s: %v", name, err)
			if !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%s: %v, expected an errors.ErrUnsupported", name, err)
			}
			continue
		}
		written++
		object, want := unbase64(t, doc.Get("object")), unbase64(t, doc.Get("decoded"))
		got, empty, err := encodeObject(chain, a, want, chain.IsSharded())
		if err != nil || empty {
			t.Errorf("%s: %v, empty %v", name, err, empty)
			continue
		}
		if !chain.IsSharded() && chain.chunk.encoded.size != unknown {
			if exact++; !bytes.Equal(got, object) {
				t.Errorf("%s: encoded\n%x, expected\n%x", name, got, object)
			}
		}
		back, err := decodeObject(chain, a, memory(got))
		if err != nil || !bytes.Equal(back, want) {
			t.Errorf("%s: %v; decoded\n%x, expected\n%x", name, err, back, want)
		}
		checkParts(t, name, chain, memory(got))
	}
	t.Logf("%d written, %d of them exact", written, exact)
}

// TestEncodeFilters encodes what numcodecs encoded, to the same bytes (testdata/encodes.py).
func TestEncodeFilters(t *testing.T) {
	for _, c := range lines(t, "testdata/encodes.jsonl") {
		config, plain, want := c.Get("config"), unbase64(t, c.Get("plain")),
			unbase64(t, c.Get("encoded"))
		typ, err := dtype.ParseV2(c.Get("dtype"))
		if err != nil {
			t.Fatal(err)
		}
		a := filterArray(config, len(plain)/int(typ.Size))
		a.Type, a.Fill = typ, make([]byte, typ.Size)
		chain, err := Bind(a)
		if err != nil {
			t.Errorf("%s: %v", config.Raw(), err)
			continue
		}
		if got, err := chain.EncodeChunk(nil, plain); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v; encoded\n%x, expected\n%x, of\n%x",
				config.Raw(), err, got, want, plain)
		}
	}
}

// TestAssemble replaces single chunks of shards that other libraries wrote: all others keep their
// bytes.
func TestAssemble(t *testing.T) {
	for _, doc := range goldenChains(t) {
		name := doc.Get("writer").Text() + ": " + doc.Get("name").Text()
		chain, a := bindDocument(t, name, doc.Get("metadata"))
		if chain == nil || !chain.IsSharded() || chain.Writable() != nil {
			continue
		}
		object, want := memory(unbase64(t, doc.Get("object"))), unbase64(t, doc.Get("decoded"))
		pieces, err := encodePieces(chain, a, want, false)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, p := range pieces {
			for _, data := range [][]byte{p.data, nil} {
				got, empty, err := assemble(chain, object, []piece{{p.inner, data}})
				if err != nil {
					t.Fatalf("%s: chunk %d: %v", name, i, err)
				}
				checkKept(t, name, chain, object, memory(got), p.inner, data, empty)
			}
		}
		var all []piece
		for i := range pieces {
			all = append(all, piece{inner: int64(i)})
		}
		if got, empty, err := assemble(chain, object, all); err != nil || !empty || len(got) > 0 {
			t.Errorf("%s: without a chunk: %d bytes, empty %v, %v", name, len(got), empty, err)
		}
	}
}

// checkKept compares every chunk of two shards, except the one that was replaced by data.
func checkKept(
	t *testing.T, name string, c *Chain, old, now Source, inner int64, data []byte, empty bool,
) {
	t.Helper()
	for i := range c.PerObject() {
		was, err := find(c, old, i)
		if i == inner {
			was, err = data, nil
		}
		if err != nil {
			t.Fatalf("%s: chunk %d: %v", name, i, err)
		}
		var is []byte
		if !empty {
			is, err = find(c, now, i)
		}
		if err != nil || !bytes.Equal(is, was) {
			t.Errorf("%s: chunk %d, with %d replaced: %v\n%x, expected\n%x",
				name, i, inner, err, is, was)
		}
	}
}

// find returns a chunk's encoded bytes; none where the shard has no such chunk.
func find(c *Chain, src Source, inner int64) ([]byte, error) {
	s, err := c.find(src, inner)
	if errors.Is(err, ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b := make([]byte, s.n)
	return b, s.read(b, 0)
}

func TestAssembleMisuse(t *testing.T) {
	c := mustBind(t, `"uint8"`, []int64{4}, `["bytes"]`)
	for _, inner := range [][]int64{{1}, {-1}, {0, 0}} {
		if _, err := c.Assemble(nil, nil, inner, nil); err == nil {
			t.Errorf("%v: no error", inner)
		}
	}
	if _, err := c.EncodeChunk(nil, make([]byte, 3)); err == nil {
		t.Error("a chunk of 3 bytes: no error")
	}
}

// TestWrittenCodecs holds that docs/FORMATS.md says of every codec whether it is written: "yes"
// where a chain of the tests that has it can be.
func TestWrittenCodecs(t *testing.T) {
	page, err := os.ReadFile("../../docs/FORMATS.md")
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]bool{"packbits": true} // TestPackBits holds that
	for _, doc := range goldenChains(t) {
		if chain, a := bindDocument(t, doc.Get("name").Text(), doc.Get("metadata")); chain != nil &&
			chain.Writable() == nil {
			noteCodecs(t, written, a.Codecs)
		}
	}
	docs, names, _ := goldenVlen(t)
	for i, a := range docs {
		if r, err := BindVlen(a); err != nil {
			t.Errorf("%s: %v", names[i], err)
		} else if r.Writable() == nil { // TestVlenEncode encodes them
			noteCodecs(t, written, a.Codecs)
		}
	}
	for _, c := range lines(t, "testdata/encodes.jsonl") {
		written["numcodecs."+c.Get("config").Get("id").Text()] = true // TestEncodeFilters holds it
	}
	rows := regexp.MustCompile(`(?m)^\| ([^|]+) \| \w+ → \w+ \| (\w+) \|`).FindAllStringSubmatch(
		string(page), -1)
	if len(rows) < 25 {
		t.Fatalf("FORMATS.md has only %d rows of codecs: its tables have changed", len(rows))
	}
	for _, row := range rows {
		yes := false
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			yes = yes || written[name[1]]
		}
		if want := map[bool]string{true: "yes", false: "no"}[yes]; row[2] != want {
			t.Errorf("FORMATS.md: %s: written %q, expected %q", row[1], row[2], want)
		}
	}
}

// noteCodecs notes the codecs of a chain, those within shards too.
func noteCodecs(t *testing.T, written map[string]bool, codecs []meta.Codec) {
	t.Helper()
	for _, c := range codecs {
		written[c.Name] = true
		if c.Name != shardingName {
			continue
		}
		for _, key := range []string{"codecs", "index_codecs"} {
			inner, err := (config{v: c.Config}).codecs(key)
			if err != nil {
				t.Fatal(err)
			}
			noteCodecs(t, written, inner)
		}
	}
}

// TestEncodeIncompressible: what a compressor makes of bytes without a pattern is longer than they
// are, and still decodes where another codec is behind it.
func TestEncodeIncompressible(t *testing.T) {
	state := uint64(1)
	for name, e := range registry {
		if e.kind != meta.BytesToBytes || e.bind == nil {
			continue
		}
		for _, n := range []int64{1, 160, 1200, 5000, 150_000} {
			c := mustBind(t, `"uint8"`, []int64{n},
				fmt.Sprintf(`["bytes",%q,"numcodecs.zlib","numcodecs.base64"]`, name))
			if err := c.Writable(); err != nil {
				t.Logf("%v", err)
				break
			}
			chunk := make([]byte, n)
			for i := range chunk {
				state = state*6364136223846793005 + 1442695040888963407
				chunk[i] = byte(state >> 56)
			}
			if back := encodeDecode(t, c, chunk); !bytes.Equal(back, chunk) {
				t.Errorf("%s: %d bytes decode to others", name, n)
			}
		}
	}
}

// FuzzEncodeChunk: what a chain encodes it decodes. Lossy chains must at least keep what they once
// made.
func FuzzEncodeChunk(f *testing.F) {
	chains := []*Chain{
		mustBind(f, `"int16"`, []int64{4, 6},
			`[{"name":"transpose","configuration":{"order":[1,0]}},"bytes","zstd","crc32c"]`),
		mustBind(f, `"float32"`, []int64{12}, `[{"name":"numcodecs.quantize",`+
			`"configuration":{"digits":2,"dtype":"<f4"}},"bytes","blosc"]`),
		mustBind(f, `"float64"`, []int64{6},
			`[{"name":"bitround","configuration":{"keepbits":4}},"bytes"]`),
		mustBind(f, `"uint64"`, []int64{6}, `[{"name":"packbits","configuration":{"first_bit":1,`+
			`"last_bit":62,"padding_encoding":"first_byte"}}]`),
		mustBind(f, `"int32"`, []int64{12},
			`[{"name":"numcodecs.delta","configuration":{"dtype":"<i4"}},`+
				`"bytes",{"name":"numcodecs.shuffle","configuration":{"elementsize":4}}]`),
		mustBind(f, `"uint8"`, []int64{48}, `[{"name":"reshape","configuration":{"shape":[6,8]}},`+
			`{"name":"sharding_indexed","configuration":{"chunk_shape":[2,4],"codecs":["bytes"],`+
			`"index_codecs":["bytes","crc32c"]}},"gzip"]`),
	}
	for i := range chains {
		f.Add(uint8(i), []byte("0123456789012345678901234567890123456789abcdefgh"))
	}
	f.Fuzz(func(t *testing.T, which uint8, content []byte) {
		i := int(which) % len(chains)
		c := chains[i]
		chunk := make([]byte, c.ChunkBytes())
		copy(chunk, content)
		first := encodeDecode(t, c, chunk)
		if second := encodeDecode(t, c, first); !bytes.Equal(first, second) {
			t.Errorf("chain %d: %x became %x", i, first, second)
		}
		if lossless := i == 0 || i > 3; lossless && !bytes.Equal(first, chunk) {
			t.Errorf("chain %d: %x became %x", i, chunk, first)
		}
	})
}

func encodeDecode(t *testing.T, c *Chain, chunk []byte) []byte {
	t.Helper()
	data, err := c.EncodeChunk(nil, chunk)
	if err != nil {
		t.Fatal(err)
	}
	back := make([]byte, len(chunk))
	if err := c.Decode(back, memory(data), 0); err != nil {
		t.Fatal(err)
	}
	return back
}

// TestEncodeChainsAllocateNothing: once it runs steadily, encoding into memory that is large enough
// allocates nothing. It takes the best of some runs, as the garbage collector may empty pools.
func TestEncodeChainsAllocateNothing(t *testing.T) {
	for _, codecs := range []string{
		`["bytes"]`, `["bytes",{"name":"zstd","configuration":{"level":1}}]`,
		`["bytes",{"name":"numcodecs.zlib","configuration":{"level":6}}]`,
		`["bytes",{"name":"blosc","configuration":{"cname":"lz4","clevel":5,"shuffle":"shuffle"}}]`,
		`["bytes",{"name":"blosc","configuration":{"cname":"zstd","clevel":3,` +
			`"shuffle":"bitshuffle"}},"crc32c"]`,
		`[{"name":"transpose","configuration":{"order":[1,0]}},"bytes","gzip"]`,
	} {
		c := mustBind(t, `"int16"`, []int64{100, 200}, codecs)
		chunk, dst, least := make([]byte, c.ChunkBytes()), make([]byte, 0, 2*c.ChunkBytes()), 1e9
		for i := range chunk {
			chunk[i] = byte(i * i >> 8)
		}
		for range 30 {
			least = min(least, testing.AllocsPerRun(1, func() {
				if _, err := c.EncodeChunk(dst, chunk); err != nil {
					t.Fatal(err)
				}
			}))
		}
		if least > 0 {
			t.Errorf("%s: always %v allocations", codecs, least)
		}
	}
}

// TestEncodeConcurrently: goroutines that encode by one chain at once get what one alone gets.
func TestEncodeConcurrently(t *testing.T) {
	for _, doc := range goldenChains(t) {
		name := doc.Get("name").Text()
		chain, a := bindDocument(t, name, doc.Get("metadata"))
		if chain == nil || chain.Writable() != nil {
			continue
		}
		whole := unbase64(t, doc.Get("decoded"))
		want, _, err := encodeObject(chain, a, whole, true)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if got, _, err := encodeObject(chain, a, whole, true); err != nil ||
					!bytes.Equal(got, want) {
					t.Errorf("%s: %v, or not the same bytes", name, err)
				}
			})
		}
		all.Wait()
	}
}

// parts is an object, and the lengths of the parts in which it was written.
type parts struct {
	collected
	lengths []int
}

func (p *parts) Write(b []byte) (int, error) {
	p.lengths = append(p.lengths, len(b))
	return p.collected.Write(b)
}

// TestAssembleInParts: only one part of a large shard is held at a time. That is so also where its
// chunks are copied from the stored one, and where its index comes first.
func TestAssembleInParts(t *testing.T) {
	const chunk = 3 << 20
	shards := `{"name":"sharding_indexed","configuration":{"chunk_shape":[%d],"codecs":[%s],` +
		`"index_codecs":["bytes","crc32c"],"index_location":%q}}`
	for _, where := range []string{"start", "end"} {
		inner := fmt.Sprintf(shards, chunk, `"bytes"`, where)
		outer := fmt.Sprintf(shards, 2*chunk, inner, where)
		c := mustBind(t, `"uint8"`, []int64{4 * chunk}, "["+outer+"]")
		data := func(i int64) []byte { return bytes.Repeat([]byte{byte(i), 7, 1}, chunk/3) }
		var old Source
		want := make([][]byte, 4)
		for _, numbers := range [][]int64{{0, 1, 2, 3}, {1}, {0, 3}} {
			var object parts
			next := numbers
			empty, err := c.Assemble(&object, old, numbers, func() ([]byte, error) {
				n := next[0]
				next = next[1:]
				want[n] = data(n + int64(len(numbers)))
				return want[n], nil
			})
			if err != nil || empty {
				t.Fatalf("empty %v, %v", empty, err)
			}
			lengths := []int{partBytes, partBytes, partBytes, len(object.collected) - 3*partBytes}
			if !slices.Equal(object.lengths, lengths) {
				t.Errorf("parts of %v bytes, expected %v", object.lengths, lengths)
			}
			old = memory(object.collected)
			for i := range want {
				got := make([]byte, chunk)
				if err := c.Decode(got, old, int64(i)); err != nil || !bytes.Equal(got, want[i]) {
					t.Errorf("chunk %d: %v, or not its bytes", i, err)
				}
			}
		}
	}
}

// full is a Sink that takes n bytes.
type full int

func (f *full) Write(p []byte) (int, error) {
	if *f -= full(len(p)); *f < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func (f *full) WriteAt([]byte, int64) (int, error) { return 0, errFull }

var errFull = errors.New("the disk is full")

// TestAssembleFull: an error of the Sink is returned as it is, wherever it occurs.
func TestAssembleFull(t *testing.T) {
	for _, where := range []string{"start", "end"} {
		codecs := fmt.Sprintf(`[{"name":"sharding_indexed","configuration":{"chunk_shape":[3145728],
			"codecs":["bytes"],"index_codecs":["bytes"],"index_location":%q}}]`, where)
		c := mustBind(t, `"uint8"`, []int64{9 << 20}, codecs)
		for _, room := range []full{0, partBytes, 2 * partBytes, 9 << 20} {
			next := func() ([]byte, error) { return make([]byte, 3<<20), nil }
			if _, err := c.Assemble(&room, nil, []int64{0, 1, 2}, next); err != errFull {
				t.Errorf("expected %q, found %v", errFull, err)
			}
		}
	}
}

package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// fuzzChains are chains of many kinds over small chunks. New ones come last, because the seeds of
// FuzzChain name a chain by its place.
var fuzzChains = []struct {
	dataType string
	chunk    []int64
	codecs   string
}{
	{`"int16"`, []int64{8, 6}, `["bytes"]`},
	{`"int16"`, []int64{8, 6}, `["bytes","crc32c"]`},
	{`"int16"`, []int64{64, 64}, `["bytes",{"name":"blosc"}]`},
	{`"int16"`, []int64{8, 6},
		`[{"name":"transpose","configuration":{"order":[1,0]}},"bytes","zstd","gzip"]`},
	{`"int16"`, []int64{8, 6}, `["bytes","numcodecs.lz4","numcodecs.base64"]`},
	{`"int16"`, []int64{8, 6}, `["bytes","numcodecs.shuffle","numcodecs.zlib"]`},
	{`"int16"`, []int64{8, 6}, `["bytes","numcodecs.bz2"]`},
	{`"int16"`, []int64{8, 6}, `["bytes","numcodecs.lzma"]`},
	{`"bool"`, []int64{8, 5}, `["numcodecs.packbits","bytes","numcodecs.fletcher32"]`},
	{`"int16"`, []int64{8, 6}, `[{"name":"packbits","configuration":{"first_bit":1,"last_bit":9,` +
		`"padding_encoding":"first_byte"}}]`},
	{`"float64"`, []int64{8, 6}, `[{"name":"numcodecs.fixedscaleoffset",` +
		`"configuration":{"scale":3,"offset":1,"astype":"<i2"}},"bytes"]`},
	{`"int32"`, []int64{8, 6},
		`[{"name":"numcodecs.astype","configuration":{"encode_dtype":"<f4"}},"bytes"]`},
	{`"int16"`, []int64{8, 6},
		`[` + sharded(`[4,3]`, `["bytes","gzip"]`, `["bytes","crc32c"]`, ``) + `]`},
	{`"int16"`, []int64{8, 6}, `[` + sharded(`[4,3]`, `[`+sharded(`[2,3]`, `["bytes"]`, `["bytes"]`,
		`,"index_location":"start"`)+`]`, `["bytes"]`, ``) + `]`},
	{`"int16"`, []int64{8, 6}, `[{"name":"numcodecs.delta"},` + sharded(`[4,3]`, `["bytes"]`,
		`[{"name":"bytes","configuration":{"endian":"big"}}]`, ``) + `,"crc32c"]`},
	{`"int16"`, []int64{8, 6}, `[{"name":"reshape","configuration":{"shape":[[0,1]]}},` +
		sharded(`[12]`, `["bytes"]`, `["bytes"]`, ``) + `]`},
	{`"int16"`, []int64{8, 1, 6},
		`["zarrs.squeeze",` + sharded(`[4,3]`, `[{"name":"reshape","configuration":{"shape":[[0],`+
			`1,3]}},`+sharded(`[2,1,3]`, `["bytes"]`, `["bytes"]`, ``)+`]`, `["bytes"]`, ``) + `]`},
	{`"int16"`, []int64{8, 6},
		`[{"name":"scale_offset","configuration":{"offset":100,"scale":-3}},"bytes"]`},
	{`"uint64"`, []int64{8, 6}, `[{"name":"scale_offset","configuration":{"offset":100,` +
		`"scale":3}},{"name":"bytes","configuration":{"endian":"big"}}]`},
	{`"float16"`, []int64{8, 6}, `[{"name":"scale_offset","configuration":{"offset":0.1,` +
		`"scale":3}},` + sharded(`[4,3]`, `["bytes"]`, `["bytes"]`, ``) + `]`},
	{`"int8"`, []int64{8, 6}, `[{"name":"cast_value","configuration":{"data_type":"float32",` +
		`"rounding":"nearest-away"}},"bytes"]`},
	{`"uint16"`, []int64{8, 6}, `[{"name":"cast_value","configuration":{"data_type":"float64",` +
		`"out_of_range":"clamp","scalar_map":{"decode":[["NaN",7],["Infinity",8]]}}},"bytes"]`},
	{`"float16"`, []int64{8, 6}, `[{"name":"cast_value","configuration":{"data_type":"float64",` +
		`"rounding":"towards-positive"}},{"name":"bytes","configuration":{"endian":"big"}}]`},
	{`"float32"`, []int64{8, 6}, `[{"name":"cast_value","configuration":{"data_type":"uint64",` +
		`"rounding":"towards-negative","scalar_map":{"decode":[[0,"NaN"]]}}},` +
		sharded(`[4,3]`, `["bytes"]`, `["bytes"]`, ``) + `]`},
	{`"int8"`, []int64{8, 6}, `[{"name":"cast_value","configuration":{"data_type":"uint64",` +
		`"out_of_range":"wrap"}},"bytes"]`},
	{`"uint32"`, []int64{8, 6},
		`[{"name":"endian","configuration":{"endian":"big"}},"numcodecs.gzip","numcodecs.crc32"]`},
	{`"float32"`, []int64{8, 6},
		`[{"name":"bitround","configuration":{"keepbits":9}},{"name":"numcodecs.bitround",` +
			`"configuration":{"keepbits":3}},"bytes","numcodecs.zstd","numcodecs.adler32"]`},
	{`"float64"`, []int64{8, 6}, `[{"name":"numcodecs.quantize","configuration":{"digits":2,` +
		`"dtype":"<f8","astype":"<f4"}},"bytes","numcodecs.blosc",{"name":"numcodecs.crc32c",` +
		`"configuration":{"location":"start"}}]`},
	{`{"name":"fixed_length_utf32","configuration":{"length_bytes":16}}`, []int64{8, 6},
		`[{"name":"numcodecs.categorize","configuration":{"labels":["a","grün"],"dtype":"<U4"}},` +
			`"bytes","numcodecs.jenkins_lookup3"]`},
	{`"int4"`, []int64{8, 6}, `["packbits","numcodecs.lz4"]`},
	{`"float6_e2m3fn"`, []int64{9, 5},
		`[{"name":"packbits","configuration":{"padding_encoding":"last_byte"}}]`},
	{`"uint8"`, []int64{300}, `["bytes",{"name":"numcodecs.lzma","configuration":{"format":3,` +
		`"filters":[{"id":3,"dist":2},{"id":33,"preset":0}]}},"numcodecs.bz2"]`},
	{`"uint8"`, []int64{300},
		`["bytes",{"name":"numcodecs.lzma","configuration":{"format":2}},"numcodecs.base64"]`},
}

// TestEveryCodecIsFuzzed holds that FuzzChain or FuzzVlen reach each codec that is decoded.
func TestEveryCodecIsFuzzed(t *testing.T) {
	all := ""
	for _, c := range fuzzChains {
		all += c.codecs
	}
	for _, doc := range fuzzVlenDocuments() {
		all += doc
	}
	for name, e := range registry {
		id := strings.TrimPrefix(name, "numcodecs.") // as format 2 names it
		v2 := id != name && strings.Contains(all, fmt.Sprintf(`"id":%q`, id))
		if e.need == "" && !v2 && !strings.Contains(all, fmt.Sprintf("%q", name)) {
			t.Errorf("no chain of FuzzChain or FuzzVlen has the codec %q", name)
		}
	}
}

// FuzzChain decodes any bytes by chains of many kinds: nothing panics, nothing is written beyond
// the chunk, a failure is damage or size, and a part decodes as the whole does.
func FuzzChain(f *testing.F) {
	var chains []*Chain
	for i, c := range fuzzChains {
		a := arrayOf(f, c.dataType, c.chunk, c.codecs)
		chain := mustBind(f, c.dataType, c.chunk, c.codecs)
		chains = append(chains, chain)
		f.Add(uint8(i), []byte{}, uint8(0))
		f.Add(uint8(i), make([]byte, 96), uint8(1))
		object, _, err := encodeObject(chain, a, make([]byte, count(a.Chunk)*a.Type.Size), false)
		if err == nil { // some cannot encode zeros
			f.Add(uint8(i), object, uint8(0))
		}
	}
	f.Add(uint8(15), shard(none, none, 0, 24, none, none, none, none), uint8(0))
	f.Add(uint8(19), shard(none, none, none, none, none, none, none, none), uint8(0))
	f.Add(uint8(12), shard(0, 8, none, none, 8, 8, 0, 0), uint8(0))
	f.Add(uint8(14), shard(none, none, none, none), uint8(0))
	f.Add(uint8(2), []byte{2, 1, 0x33, 2, 0, 0x20, 0, 0, 0, 0x10, 0, 0, 0x10, 0x20, 0, 0}, uint8(0))
	f.Fuzz(func(t *testing.T, which uint8, object []byte, inner uint8) {
		c := chains[int(which)%len(chains)]
		i := int64(inner) % c.PerObject()
		n := c.ChunkBytes()
		guarded := make([]byte, n+1)
		err := c.Decode(guarded[:n:n], memory(object), i)
		if guarded[n] != 0 {
			t.Fatal("written beyond the chunk")
		}
		checkFailure(t, err)
		off := n / 3
		part := make([]byte, n)
		lo, hi, partErr := decodePart(c, part, memory(object), i, off, n/4)
		checkFailure(t, partErr)
		if err == nil && partErr == nil && !bytes.Equal(part[lo:hi], guarded[lo:hi]) {
			t.Fatalf("part [%d,%d) differs", lo, hi)
		}
		if err == nil && partErr != nil {
			t.Fatalf("part: %v", partErr)
		}
	})
}

func checkFailure(t *testing.T, err error) {
	t.Helper()
	known := errors.Is(err, compress.ErrCorrupt) || errors.Is(err, compress.ErrTooLarge) ||
		errors.Is(err, ErrEmpty)
	// such as a zlib stream with a dictionary
	if err != nil && !known && !errors.Is(err, errors.ErrUnsupported) {
		t.Fatalf("%v: want damage, size or a variant not supported", err)
	}
}

// FuzzBind binds the chain of any document and decodes any bytes by it: nothing panics, and an
// error is of one kind.
func FuzzBind(f *testing.F) {
	for _, file := range []string{
		"testdata/chains3.jsonl", "testdata/chains2.jsonl", "testdata/extensions.jsonl",
	} {
		for _, c := range lines(f, file) {
			f.Add(c.Get("metadata").Raw(), unbase64(f, c.Get("object")))
		}
	}
	for _, doc := range fuzzVlenDocuments() {
		f.Add([]byte(doc), wire(4, 1, "a", 2, "bc", 0, 0))
	}
	for _, c := range lines(f, "testdata/filters.jsonl") {
		doc := `{"zarr_format":2,"shape":[60],"chunks":[60],"dtype":"|V1","fill_value":null,` +
			`"order":"C","compressor":null,"filters":[` + string(c.Get("config").Raw()) + `]}`
		f.Add([]byte(doc), unbase64(f, c.Get("encoded")))
	}
	f.Fuzz(func(t *testing.T, doc, object []byte) {
		a, _, err := meta.ParseV3(doc)
		if err != nil {
			a, err = meta.ParseV2Array(doc, nil)
		}
		if err != nil || a == nil {
			return
		}
		if a.Type.Kind == dtype.Object {
			c, err := BindVlen(a)
			checkBound(t, err)
			if err == nil && c.Count() < 1<<12 {
				_, err := c.Decode(memory(object), 0, 1<<16)
				checkFailure(t, err)
			}
			return
		}
		c, err := Bind(a)
		checkBound(t, err)
		if err != nil || c.ChunkBytes() > 1<<16 {
			return
		}
		chunk := make([]byte, c.ChunkBytes())
		checkFailure(t, c.Decode(chunk, memory(object), 0))
		if c.Writable() == nil {
			c.EncodeChunk(nil, chunk) // which numbers cannot be written depends on the codec
		}
	})
}

// checkBound holds that a chain that cannot be bound is either invalid or not supported.
func checkBound(t *testing.T, err error) {
	t.Helper()
	if err != nil && errors.Is(err, meta.ErrInvalid) == errors.Is(err, errors.ErrUnsupported) {
		t.Fatalf("%v is of no class, or of two", err)
	}
}

// FuzzShardIndex reads any bytes as a shard: what is found lies within it.
func FuzzShardIndex(f *testing.F) {
	f.Add(shard(0, 8, 8, 8), false)
	f.Add(shard(none, none, 1<<63, 1<<63), true)
	f.Add(shard(), false)
	f.Add([]byte{}, true)
	f.Fuzz(func(t *testing.T, object []byte, atStart bool) {
		a := arrayOf(t, `"uint8"`, []int64{16}, `["bytes"]`)
		r, err := newIndexReader([]int64{2}, a.Codecs, atStart)
		if err != nil {
			t.Fatal(err)
		}
		s := span{memory(object), 0, int64(len(object))}
		x, err := r.find(s)
		checkFailure(t, err)
		if err != nil {
			return
		}
		for i := range int64(3) {
			chunk, err := x.locate(i, s)
			checkFailure(t, err)
			if err == nil && (chunk.off < 0 || chunk.n <= 0 || chunk.off+chunk.n > s.n) {
				t.Fatalf("chunk %d: %d bytes at %d of %d", i, chunk.n, chunk.off, s.n)
			}
		}
	})
}

var deltaTypes = []scalar{
	{boolean, 1, false}, {signed, 1, false}, {unsigned, 1, false}, {signed, 2, false},
	{signed, 2, true}, {unsigned, 4, true},
	{signed, 8, false}, {unsigned, 8, true}, {floating, 2, false}, {floating, 4, true},
	{floating, 4, false}, {floating, 8, true},
}

// FuzzDelta compares running sums with one number at a time.
func FuzzDelta(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8}, uint8(3), uint8(1))
	f.Add(bytes.Repeat([]byte{0xff, 0x7f, 0, 0x80}, 600), uint8(8), uint8(8))
	f.Add(bytes.Repeat([]byte{0x3f, 0x80, 0, 0}, 300), uint8(11), uint8(9))
	f.Fuzz(func(t *testing.T, src []byte, to, from uint8) {
		d, s := deltaTypes[int(to)%len(deltaTypes)], deltaTypes[int(from)%len(deltaTypes)]
		kind, ok := promoteSum(d, s)
		if !ok {
			return
		}
		src = src[:len(src)/s.size*s.size]
		want := naiveSum(src, d, s, kind)
		got := make([]byte, len(want))
		runningSum(got, src, d, s, kind)
		if !bytes.Equal(got, want) {
			t.Fatalf("%s to %s:\n%x\n%x", s, d, got, want)
		}
		if d.size == s.size {
			runningSum(src, src, d, s, kind)
			if !bytes.Equal(src, want) {
				t.Fatalf("%s to %s in place:\n%x\n%x", s, d, src, want)
			}
		}
	})
}

// naiveSum is runningSum by the definition, one number at a time, each read and written by itself.
func naiveSum(src []byte, to, from scalar, k sumKind) []byte {
	var out []byte
	ints, floats := uint64(0), math.Copysign(0, -1)
	for i := 0; i < len(src); i += from.size {
		var whole [1]uint64
		var real [1]float64
		b := make([]byte, to.size)
		if k.float == 0 {
			loadInts(whole[:], src[i:i+from.size], from)
			if k.parity {
				ints ^= uint64(oneIf(whole[0] != 0))
			} else {
				ints += whole[0]
			}
			storeInts(b, []uint64{ints}, to)
		} else {
			loadFloats(real[:], src[i:i+from.size], from)
			floats = rounder(k.float)(floats + real[0])
			storeFloats(b, []float64{floats}, to)
		}
		out = append(out, b...)
	}
	return out
}

// TestHalf compares all half-precision numbers with their definition, and rounding with its
// neighbours.
func TestHalf(t *testing.T) {
	for h := range uint16(0x7c00) {
		v := float64(halfToFloat(h))
		want := math.Ldexp(float64(h&0x3ff), -24)
		if e := int(h >> 10); e > 0 {
			want = math.Ldexp(float64(h&0x3ff|0x400), e-25)
		}
		if v != want || floatToHalf(v) != h || floatToHalf(-v) != h|0x8000 {
			t.Fatalf("%#x: %v, %#x, want %v", h, v, floatToHalf(v), want)
		}
		next := float64(halfToFloat(h + 1))
		if math.IsInf(next, 0) {
			next = 65536
		}
		middle := (v + next) / 2
		if got := floatToHalf(middle); got != h+h&1 {
			t.Fatalf("%v: %#x, want the even of %#x and the next", middle, got, h)
		}
		if floatToHalf(math.Nextafter(middle, 0)) != h ||
			floatToHalf(math.Nextafter(middle, 1e6)) != h+1 {
			t.Fatalf("near %v: not the nearest", middle)
		}
	}
	if got := floatToHalf(math.NaN()); got&0x7c00 != 0x7c00 || got&0x3ff == 0 {
		t.Errorf("NaN became %#x", got)
	}
}

// cached is a Source that keeps shard indexes, as stores' objects do.
type cached struct {
	memory
	index map[int64]*Index
}

func (c *cached) ShardIndex(off, n int64, load func() (*Index, error)) (*Index, error) {
	if x, ok := c.index[off]; ok {
		return x, nil
	}
	x, err := load()
	if err == nil {
		c.index[off] = x
	}
	return x, err
}

// TestChainsAllocateNothing holds that decoding allocates nothing once its buffers are there. The
// best of some runs counts: pools lose their content to the garbage collector, and at random under
// the race detector.
func TestChainsAllocateNothing(t *testing.T) {
	for _, c := range lines(t, "testdata/chains3.jsonl") {
		name := c.Get("name").Text()
		switch name {
		case "bytes", "transpose", "crc32c", "gzip", "zstd", "blosc", "transpose, zstd, crc32c",
			"shards", "nested shards", "numcodecs.delta to i1":
		default:
			continue
		}
		chain, _ := bindDocument(t, name, c.Get("metadata"))
		src := &cached{unbase64(t, c.Get("object")), map[int64]*Index{}}
		dst := make([]byte, chain.ChunkBytes())
		last := chain.PerObject() - 1
		var source Source = src
		least := 1.0
		for range 50 {
			least = min(least, testing.AllocsPerRun(1, func() {
				if err := chain.Decode(dst, source, last); err != nil {
					t.Fatal(err)
				}
			}))
		}
		if least > 0 {
			t.Errorf("%s: always allocates, expected only the first time", name)
		}
	}
}

func BenchmarkDelta(b *testing.B) {
	for _, s := range []scalar{{signed, 2, false}, {signed, 4, true}, {floating, 8, false}} {
		b.Run(fmt.Sprint(s), func(b *testing.B) {
			buf := make([]byte, 1<<20)
			binary.LittleEndian.PutUint64(buf, 1)
			kind, _ := promoteSum(s, s)
			b.SetBytes(int64(len(buf)))
			for b.Loop() {
				runningSum(buf, buf, s, s, kind)
			}
		})
	}
}

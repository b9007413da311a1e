package codec

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// lines parses a file of one JSON document per line.
func lines(t testing.TB, name string) []pyjson.Value {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var docs []pyjson.Value
	in := bufio.NewScanner(bytes.NewReader(data))
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		v, err := pyjson.Parse(bytes.Clone(in.Bytes()))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		docs = append(docs, v)
	}
	return docs
}

// filterArray is a v2 array of opaque bytes with one filter.
func filterArray(config pyjson.Value, size int) *meta.Array {
	return &meta.Array{
		Format: 2, Shape: []int64{int64(size)}, Chunks: meta.Chunks{Chunk: []int64{int64(size)}},
		Type: dtype.Type{Kind: dtype.Raw, Size: 1}, Fill: []byte{0},
		Codecs: []meta.Codec{{Name: "numcodecs." + config.Get("id").Text(), Config: config},
			{Name: "bytes"}},
	}
}

// TestFilters decodes what numcodecs encoded. The expected array is what went in or, where encoding
// loses, what numcodecs decodes (testdata/filters.py).
func TestFilters(t *testing.T) {
	for _, c := range lines(t, "testdata/filters.jsonl") {
		config := c.Get("config")
		encoded, want := unbase64(t, c.Get("encoded")), unbase64(t, c.Get("decoded"))
		chain, err := Bind(filterArray(config, len(want)))
		if err != nil {
			t.Errorf("%s: %v", config.Raw(), err)
			continue
		}
		got := make([]byte, len(want))
		if err := chain.Decode(got, memory(encoded), 0); err != nil {
			t.Errorf("%s: %v", config.Raw(), err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s: wrong:\n%x\n%x", config.Raw(), got, want)
		}
	}
}

// TestChains decodes objects that tensorstore, zarr-python 3 and 2 stored (testdata/chains.py).
func TestChains(t *testing.T) {
	docs := slices.Concat(lines(t, "testdata/chains3.jsonl"), lines(t, "testdata/chains2.jsonl"),
		lines(t, "testdata/extensions.jsonl"))
	for _, c := range docs {
		name := c.Get("writer").Text() + ": " + c.Get("name").Text()
		chain, a := bindDocument(t, name, c.Get("metadata"))
		if chain == nil {
			continue
		}
		object, want := unbase64(t, c.Get("object")), unbase64(t, c.Get("decoded"))
		got, err := decodeObject(chain, a, memory(object))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s: wrong:\n%x\n%x", name, got, want)
		}
		checkParts(t, name, chain, memory(object))
	}
}

func bindDocument(t *testing.T, name string, doc pyjson.Value) (*Chain, *meta.Array) {
	t.Helper()
	var a *meta.Array
	var err error
	if v, _ := doc.Get("zarr_format").Int64(); v == 3 {
		a, _, err = meta.ParseV3(doc.Raw())
	} else {
		a, err = meta.ParseV2Array(doc.Raw(), nil)
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil, nil
	}
	chain, err := Bind(a)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return chain, a
}

// decodeObject decodes all chunks of an object and puts them together; empty ones are fill value.
func decodeObject(c *Chain, a *meta.Array, src Source) ([]byte, error) {
	whole := make([]byte, c.ChunkBytes()*c.PerObject())
	scatter := newScatter(a.Chunk, c.Chunk(), a.Type.Size)
	stride := strides(a.Chunk, a.Type.Size)
	counts := make([]int64, len(a.Chunk))
	for i, n := range c.Chunk() {
		counts[i] = a.Chunk[i] / n
	}
	at := make([]int64, len(counts))
	chunk := make([]byte, c.ChunkBytes())
	for i := range c.PerObject() {
		switch err := c.Decode(chunk, src, i); {
		case errors.Is(err, ErrEmpty):
			layout.Repeat(chunk, a.Fill)
		case err != nil:
			return nil, err
		}
		off := int64(0)
		for axis, k := range at {
			off += k * c.Chunk()[axis] * stride[axis]
		}
		scatter.run(whole[off:], chunk)
		advance(at, counts)
	}
	return whole, nil
}

// checkParts holds that every part of every chunk decodes as in the whole chunk.
func checkParts(t *testing.T, name string, c *Chain, src Source) {
	t.Helper()
	size := c.ChunkBytes()
	whole, part := make([]byte, size), make([]byte, size)
	for i := range c.PerObject() {
		err := c.Decode(whole, src, i)
		for off := int64(0); off < size; off += 1 + size/7 {
			for _, n := range []int64{0, 1, size / 3, size - off} {
				n = min(n, size-off)
				lo, hi, partErr := decodePart(c, part, src, i, off, n)
				switch {
				case errors.Is(err, ErrEmpty) != errors.Is(partErr, ErrEmpty) ||
					(err == nil) != (partErr == nil):
					t.Errorf("%s: chunk %d [%d,+%d): %v; whole: %v", name, i, off, n, partErr, err)
				case err == nil &&
					(lo > off || hi < off+n || !bytes.Equal(part[lo:hi], whole[lo:hi])):
					t.Errorf("%s: chunk %d [%d,+%d): wrong part [%d,%d)", name, i, off, n, lo, hi)
				}
			}
		}
	}
}

// counting is an object that counts what is read of it.
type counting struct {
	memory
	bytes, reads *int
}

func (c counting) ReadAt(p []byte, off int64) (int, error) {
	*c.bytes += len(p)
	*c.reads++
	return c.memory.ReadAt(p, off)
}

// TestPartialReads holds that a part of a chunk costs a part of the reading: the bytes of a plain
// chunk, or the head of a blosc buffer and a stretch of its blocks.
func TestPartialReads(t *testing.T) {
	cases := []struct {
		name         string
		off, n       int64
		lo, hi       int64
		bytes, reads int
	}{
		{"bytes", 5, 6, 5, 11, 6, 1},
		{"shards, plain", 4, 2, 4, 6, 2 + 16*16 + 4, 2},
		{"blosc blocks", 5000, 100, 4096, 8192, 4096, 1},
		{"blosc blocks", 8100, 100, 4096, 12288, 4096, 1},
	}
	for _, want := range cases {
		for _, c := range lines(t, "testdata/chains3.jsonl") {
			if c.Get("name").Text() != want.name {
				continue
			}
			chain, _ := bindDocument(t, want.name, c.Get("metadata"))
			src := counting{unbase64(t, c.Get("object")), new(int), new(int)}
			dst := make([]byte, chain.ChunkBytes())
			lo, hi, err := decodePart(chain, dst, src, chain.PerObject()-1, want.off, want.n)
			if err != nil || lo != want.lo || hi != want.hi || *src.bytes != want.bytes &&
				*src.bytes != len(src.memory) || *src.reads != want.reads {
				t.Errorf("%s: [%d,%d) by %d reads of %d bytes, %v; want %+v",
					want.name, lo, hi, *src.reads, *src.bytes, err, want)
			}
			if !chain.CanDecodePart() {
				t.Errorf("%s: not partial", want.name)
			}
		}
	}
}

// TestStoredBlocks reads parts of a blosc buffer whose blocks are not compressed, and longer than
// the first read.
func TestStoredBlocks(t *testing.T) {
	const size, block = 512 << 10, 64 << 10 // package blosc reads stored buffers in such blocks
	want := bytes.Repeat([]byte("stored..."), size/9+1)[:size]
	object := []byte{2, 1, 0x02, 1}
	for _, n := range []uint32{size, 1000, size + 16} {
		object = binary.LittleEndian.AppendUint32(object, n)
	}
	object = append(object, want...)
	chain := mustBind(t, `"uint8"`, []int64{size}, `["bytes","blosc"]`)
	src := counting{object, new(int), new(int)}
	got := make([]byte, size)
	lo, hi, err := decodePart(chain, got, src, 0, 130_000, 3000)
	if err != nil || lo != 31*window || hi != 33*window || !bytes.Equal(got[lo:hi], want[lo:hi]) {
		t.Errorf("[%d,%d): %v", lo, hi, err)
	}
	if *src.reads != 2 || *src.bytes != HeadBytes+2*block {
		t.Errorf("%d reads of %d bytes, want 2 of %d", *src.reads, *src.bytes, HeadBytes+2*block)
	}
	checkParts(t, "stored", chain, memory(object))
	binary.LittleEndian.PutUint32(object[8:], 0) // the size of blocks that are not in use
	checkParts(t, "stored without blocks", chain, memory(object))
}

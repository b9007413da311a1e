package codec

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// lines parses a file of one JSON document per line.
func lines(t *testing.T, name string) []pyjson.Value {
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
		Format: 2, Shape: []int64{int64(size)}, Chunk: []int64{int64(size)}, Type: dtype.Type{Kind: dtype.Raw, Size: 1}, Fill: []byte{0},
		Codecs: []meta.Codec{{Name: "numcodecs." + config.Get("id").Text(), Config: config}, {Name: "bytes"}},
	}
}

// TestFilters decodes what numcodecs encoded or, where encoding loses, what it decodes itself (testdata/filters.py).
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
	docs := append(lines(t, "testdata/chains3.jsonl"), lines(t, "testdata/chains2.jsonl")...)
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
				lo, hi, partErr := c.DecodePart(part, src, i, off, n)
				switch {
				case errors.Is(err, ErrEmpty) != errors.Is(partErr, ErrEmpty) || (err == nil) != (partErr == nil):
					t.Errorf("%s: chunk %d [%d,+%d): %v; whole: %v", name, i, off, n, partErr, err)
				case err == nil && (lo > off || hi < off+n || !bytes.Equal(part[lo:hi], whole[lo:hi])):
					t.Errorf("%s: chunk %d [%d,+%d): wrong part [%d,%d)", name, i, off, n, lo, hi)
				}
			}
		}
	}
}

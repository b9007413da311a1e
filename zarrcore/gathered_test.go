package zarrcore_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
)

// TestNarrowChunks: chunks one element wide on the last axis give a request as many runs as
// elements, more than are listed at once. All reads find what is stored, and over it what is
// written and not stored yet, whatever part of the chunks memory holds.
func TestNarrowChunks(t *testing.T) {
	for name, f := range map[string]*fixture{
		"whole chunks": {element: elements[1], path: "a", format: 3, shape: []int64{100, 300},
			chunk: []int64{40, 1}, separator: "/", compressor: "gzip", missing: 0.2},
		"shards": {element: elements[1], path: "a", format: 3, shape: []int64{100, 300},
			chunk: []int64{100, 300}, inner: []int64{50, 1}, separator: "/", compressor: "gzip",
			missing: 0.2},
		"as they are": {element: elements[1], path: "a", format: 2, shape: []int64{100, 300},
			chunk: []int64{40, 1}, separator: ".", missing: 0.2},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			d := group(t)
			f.write(t, d, random)
			a := openArray(t, open(t, d, &zarrcore.Options{CacheSize: 64 << 10, ScratchSize: -1}),
				"a")
			size := int64(len(f.data))
			check := func(what string) {
				t.Helper()
				for range 20 {
					off := random.Int64N(size)
					n := random.Int64N(size-off) + 1
					if !bytes.Equal(readAt(t, a, off, n), f.data[off:off+n]) {
						t.Fatalf("%s: wrong bytes in %d bytes at %d", what, n, off)
					}
				}
			}
			put := func(off int64, p []byte) {
				t.Helper()
				if n, err := a.WriteAt(context.Background(), p, off); n != len(p) || err != nil {
					t.Fatalf("%d bytes written of %d at %d: %v", n, len(p), off, err)
				}
				copy(f.data[off:], p)
			}
			check("as stored")
			for off := int64(1); off < size/2; off += 6 { // bytes of every third element
				put(off, []byte{1, 2})
			}
			check("every third element dirty")
			more := make([]byte, size/2)
			for i := range more {
				more[i] = byte(i * 7)
			}
			put(size/3, more)
			check("much dirty")
			if err := a.Flush(context.Background(), true); err != nil {
				t.Fatal(err)
			}
			check("stored")
			a = openArray(t, open(t, d, nil), "a")
			check("opened again")
		})
	}
}

// BenchmarkRandomReads reads what the cache holds. Few runs are slices of the cache, and many runs
// are gathered.
func BenchmarkRandomReads(b *testing.B) {
	for _, c := range []struct {
		name         string
		shape, chunk []int64
		compressor   string
		n            int64
	}{
		{"4 KiB of rows", []int64{64, 65536}, []int64{16, 65536}, "zstd", 4 << 10},
		{"4 KiB of many chunks", []int64{1024, 1024}, []int64{16, 16}, "zstd", 4 << 10},
		{"4 KiB of tiles", []int64{2048, 2048}, []int64{256, 256}, "zstd", 4 << 10},
		{"1 MiB of rows", []int64{64, 65536}, []int64{16, 65536}, "zstd", 1 << 20},
		{"1 MiB of cubes", []int64{16, 512, 512}, []int64{16, 64, 64}, "zstd", 1 << 20},
		{"1 MiB of columns", []int64{1024, 4096}, []int64{1024, 1}, "zstd", 1 << 20},
		{"128 KiB of files", []int64{16, 512, 512}, []int64{1, 512, 512}, "", 128 << 10},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := &fixture{path: "a", format: 3, shape: c.shape, chunk: c.chunk, separator: "/",
				compressor: c.compressor}
			d := group(b)
			f.write(b, d, rand.New(rand.NewPCG(1, 2)))
			a := openArray(b, open(b, d, &zarrcore.Options{CacheSize: 256 << 20, ScratchSize: -1}),
				"a")
			random, buf := rand.New(rand.NewPCG(3, 4)), make([]byte, c.n)
			b.SetBytes(c.n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := a.ReadAt(context.Background(), buf,
					random.Int64N(a.Size()-c.n)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

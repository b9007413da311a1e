package zarrcore_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
)

// TestExabyte reads here and there in arrays of 2^60 bytes and more that hold nothing. That must
// be quick and take next to no memory.
func TestExabyte(t *testing.T) {
	tests := []struct {
		name         string
		shape, chunk []int64
		step         int64 // bytes of a read; there are 32 in sequence
	}{
		{"small chunks", []int64{1 << 60}, []int64{1 << 10}, 64 << 10},
		{"tiny chunks", []int64{1 << 62}, []int64{64}, 16 << 10},
		{"small slabs", []int64{1 << 30, 1 << 30}, []int64{1, 1 << 10}, 64 << 10},
		{"slabs for scratch", []int64{1 << 30, 1 << 30}, []int64{2, 1 << 10}, 64 << 10},
		{"slabs of a petabyte", []int64{1 << 30, 1 << 30}, []int64{1 << 20, 1 << 10}, 64 << 10},
		{"one slab", []int64{1 << 30, 1 << 30}, []int64{1 << 30, 1}, 256},
		{"large chunks", []int64{1 << 60}, []int64{1 << 30}, 64 << 10},
	}
	nothing := element{v3: `"uint8"`, size: 1, endian: "little", fillV3: "0", fill: []byte{0}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := group(t)
			f := &fixture{element: nothing, format: 3, shape: tt.shape, chunk: tt.chunk,
				separator: "/", compressor: "zstd"}
			put(t, d, "a/zarr.json", []byte(f.documents()["zarr.json"]))
			h := open(t, d, &zarrcore.Options{ScratchDir: t.TempDir()})
			a := openArray(t, h, "a")
			for _, off := range []int64{0, 1 << 59, a.Size() - 10} {
				if got := readAt(t, a, off, 10); !bytes.Equal(got, bytes.Repeat(f.fill, 10)) {
					t.Errorf("at %d: %x", off, got)
				}
			}
			sequence := bytes.Repeat(f.fill, int(tt.step))
			for _, begin := range []int64{0, 1<<59 - 1<<10} {
				r := a.NewReader()
				for off := begin; off < begin+32*tt.step; off += tt.step {
					if got, err := read(r, off, tt.step); err != nil ||
						!bytes.Equal(got, sequence) {
						t.Fatalf("at %d: %d bytes that differ, or %v", off, len(got), err)
					}
				}
				r.Close()
			}
			if s := h.Status(); s.MemoryPeak > 16<<20 || s.ScratchUsed > 0 {
				t.Errorf("%d bytes of memory were in use, %d of scratch are", s.MemoryPeak,
					s.ScratchUsed)
			}
			start, end, err := a.NextData(context.Background(), 1<<59)
			if start != a.Size() || end != a.Size() || err != nil {
				t.Errorf("data from %d to %d, %v", start, end, err)
			}
		})
	}
}

func TestFillValues(t *testing.T) {
	large := make([]byte, 300_001)
	for i := range large {
		large[i] = byte(i*7 + i>>8)
	}
	tests := []struct {
		name         string
		shape, chunk int64
		element
	}{
		{"longer than the page", 600_000, 300_000, elements[0]},
		{"does not divide the page", 120_000, 60_000, elements[4]},
		{"element larger than the page", 5, 2, element{v2: "|V300001", size: 300_001,
			fillV2: `"` + base64.StdEncoding.EncodeToString(large) + `"`, fill: large}},
		{"zero element larger than the page", 5, 2,
			element{v2: "|V300001", size: 300_001, fillV2: "null", fill: make([]byte, 300_001)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &fixture{element: tt.element, format: 2, shape: []int64{tt.shape},
				chunk: []int64{tt.chunk}, separator: ".", compressor: "zstd", missing: 1, path: "a"}
			d := group(t)
			rng := rand.New(rand.NewPCG(1, 2))
			f.write(t, d, rng)
			a := openArray(t, open(t, d, nil), "a")
			for range 20 {
				off := rng.Int64N(a.Size())
				n := 1 + rng.Int64N(a.Size()-off)
				if !bytes.Equal(readAt(t, a, off, n), f.data[off:off+n]) {
					t.Fatalf("%d bytes at %d differ", n, off)
				}
			}
		})
	}
}

// TestEmpty: arrays without a byte.
func TestEmpty(t *testing.T) {
	for _, dtype := range []string{"|u1", "|S0", "<U0", "|V0"} {
		d := group(t)
		shape := "[4]"
		if dtype == "|u1" {
			shape = "[0]"
		}
		put(t, d, "a/.zarray", fmt.Appendf(nil, `{"zarr_format": 2, "shape": %s, "chunks": [2],
			"dtype": %q, "fill_value": null,
			"order": "C", "compressor": null, "filters": null}`, shape, dtype))
		h := open(t, d, nil)
		a, err := h.OpenArray(context.Background(), "a")
		if errors.Is(err, errors.ErrUnsupported) {
			t.Logf("%s: %v", dtype, err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if n, err := a.ReadAt(context.Background(), make([]byte, 1), 0); n != 0 || err != io.EOF {
			t.Errorf("%s: ReadAt returns %d, %v", dtype, n, err)
		}
		r := a.NewReader()
		if got, err := read(r, 0, 100); len(got) > 0 || err != nil {
			t.Errorf("%s: Read returns %d bytes, %v", dtype, len(got), err)
		}
		r.Close()
		if start, end, err := a.NextData(context.Background(), 0); start != 0 || end != 0 ||
			err != nil {
			t.Errorf("%s: data from %d to %d, %v", dtype, start, end, err)
		}
	}
}

// TestMemoryBudget: a request that touches chunks worth a multiple of the
// budget keeps only a few of them at a time.
func TestMemoryBudget(t *testing.T) {
	const budget = 256 << 10
	f := &fixture{path: "a", format: 3, shape: []int64{256, 4096}, chunk: []int64{256, 64},
		separator: "/", compressor: "gzip"}
	d := group(t)
	f.write(t, d, rand.New(rand.NewPCG(1, 2))) // 64 chunks of 16 KiB in each row
	h := open(t, d, &zarrcore.Options{CacheSize: budget, ScratchSize: -1})
	if !bytes.Equal(readAt(t, openArray(t, h, "a"), 0, 100_000), f.data[:100_000]) {
		t.Error("wrong bytes")
	}
	if s := h.Status(); s.MemoryPeak > budget+64<<10 || s.ChunksDecoded != 64 {
		t.Errorf("%d bytes were in use, budget %d; %d chunks decoded, expected 64 once",
			s.MemoryPeak, budget, s.ChunksDecoded)
	}
}

// TestMemoryOfManyReads: 32 readers at random each pin a quarter of the budget and keep it for a
// while. They do not take eight times the budget together.
func TestMemoryOfManyReads(t *testing.T) {
	const budget, n = 256 << 10, 150 // bytes of a read, in 3 or 4 chunks
	f := &fixture{path: "a", format: 3, shape: []int64{256, 4096}, chunk: []int64{256, 64},
		separator: "/", compressor: "gzip"}
	d := group(t)
	f.write(t, d, rand.New(rand.NewPCG(1, 2)))
	h := open(t, d, &zarrcore.Options{CacheSize: budget, ScratchSize: -1})
	a := openArray(t, h, "a")
	var readers sync.WaitGroup
	for i := range 32 {
		readers.Go(func() {
			random := rand.New(rand.NewPCG(3, uint64(i)))
			r := a.NewReader()
			defer r.Close()
			for range 20 {
				off := random.Int64N(a.Size() - n)
				p, err := r.Read(context.Background(), off, n)
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Millisecond)
				if !bytes.Equal(bytes.Join(p.Bufs, nil), f.data[off:off+n]) {
					t.Errorf("wrong bytes at %d", off)
				}
				p.Release()
			}
		})
	}
	readers.Wait()
	if s := h.Status(); s.MemoryPeak > 2*budget {
		t.Errorf("%d bytes were in use, expected at most twice the budget of %d", s.MemoryPeak,
			budget)
	}
}

// TestMemoryOfOneWrite: a write that makes 65,536 chunks dirty waits in its midst until some are
// stored. The notes of which bytes of each are dirty take hundreds of times their bytes. All of it
// is there in the end.
func TestMemoryOfOneWrite(t *testing.T) {
	const columns = 1 << 16
	f := &fixture{path: "a", format: 3, shape: []int64{2, columns}, chunk: []int64{2, columns},
		inner: []int64{2, 1}, separator: "/", missing: 1}
	d := group(t)
	f.write(t, d, rand.New(rand.NewPCG(1, 2)))
	h := open(t, d, &zarrcore.Options{DirtySize: 1 << 20, ScratchSize: -1})
	a := openArray(t, h, "a")
	row := make([]byte, columns)
	for i := range row {
		row[i] = byte(i) ^ byte(i>>8)
	}
	if n, err := a.WriteAt(context.Background(), row, columns); n != columns || err != nil {
		t.Fatalf("%d bytes written: %v", n, err)
	}
	if s := h.Status(); s.Write.MemoryPeak > 12<<20 {
		t.Errorf("%d bytes were in use, expected at most 12 MiB", s.Write.MemoryPeak)
	}
	if err := a.Flush(context.Background(), true); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(readAt(t, openArray(t, open(t, d, nil), "a"), columns, columns), row) {
		t.Error("wrong bytes")
	}
}

// TestScratchUnusable: where bands have only a scratch folder that cannot be used, arrays are read
// chunk by chunk. The log says so once.
func TestScratchUnusable(t *testing.T) {
	f := &fixture{path: "a", format: 3, shape: []int64{8, 1 << 19}, chunk: []int64{8, 1 << 16},
		separator: "/", checksum: true}
	d := group(t)
	f.write(t, d, rand.New(rand.NewPCG(1, 2)))
	var log bytes.Buffer
	h := open(t, d, &zarrcore.Options{CacheSize: 1 << 20, ScratchDir: "/nonexistent",
		Log: slog.New(slog.NewTextHandler(&log, nil))})
	r := openArray(t, h, "a").NewReader()
	defer r.Close()
	for off := int64(0); off < 1<<20; off += 1 << 17 {
		if got, err := read(r, off, 1<<17); err != nil || !bytes.Equal(got, f.data[off:off+1<<17]) {
			t.Fatalf("at %d: %d bytes that differ, or %v", off, len(got), err)
		}
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 ||
		!strings.Contains(log.String(), "/nonexistent") {
		t.Errorf("the log says %s", log.String())
	}
}

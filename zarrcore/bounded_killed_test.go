package zarrcore_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// endedNumbers is the document of an array of 10 rows in objects of 4 rows. The edge objects end
// with the array.
func endedNumbers(columns int, codecs string) []byte {
	return []byte(fmt.Sprintf(`{"zarr_format": 3, "node_type": "array", "shape": [10, %d],
		"data_type": "uint8", "fill_value": 0,
		"chunk_grid": {"name": "zarrs.regular_bounded", "configuration": {"chunk_shape": [4, 2]}},
		"chunk_key_encoding": {"name": "default"},
		"codecs": [%s]}`, columns, codecs))
}

// shards are shards whose chunks have so many rows.
func shards(rows int, codecs, index, more string) string {
	return fmt.Sprintf(`{"name": "sharding_indexed", "configuration": {"chunk_shape": [%d, 1],
		"codecs": [%s], "index_codecs": [%s]%s}}`, rows, codecs, index, more)
}

const (
	unchecked = `{"name": "bytes", "configuration": {"endian": "little"}}`
	checked   = unchecked + `, {"name": "crc32c"}`
	inTurn    = `{"name": "transpose", "configuration": {"order": [1, 0]}}, `
	atStart   = `, "index_location": "start"`
	inGzipToo = `, {"name": "gzip", "configuration": {"level": 1}}`
	gzipped   = plainBytes + inGzipToo
	bigEndian = `{"name": "bytes", "configuration": {"endian": "big"}}`
	withSums  = `, {"name": "zstd", "configuration": {"level": 1, "checksum": true}}, ` +
		`{"name": "crc32c"}`
	inBlosc = `{"name": "bytes"}, {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5,
		"shuffle": "shuffle", "typesize": 1, "blocksize": 0}}`
	inDelta     = `{"name": "numcodecs.delta", "configuration": {"dtype": "|u1"}}, `
	inSevenBits = `{"name": "packbits", "configuration": {"last_bit": 6, "padding_encoding": ` +
		`"first_byte"}}`
)

// inShard and inOpenShard are shards with chunks of one element. Only the index of inShard has a
// checksum.
var inShard, inOpenShard = shards(1, plainBytes, checked, ""), shards(1, plainBytes, unchecked, "")

// endedCodecs are codecs of objects whose length follows from different things. rows are those of
// a chunk. If holds is not nil, it reports whether an object has so many elements.
var endedCodecs = map[string]struct {
	rows   int
	codecs string
	holds  func(data []byte, n int) bool
}{
	"plain":         {1, plainBytes, holdsBytes},
	"gzip":          {1, gzipped, inGzip(holdsBytes)},
	"blosc":         {1, inBlosc, nil},
	"Fortran order": {1, inFortran, holdsBytes},
	"checksums":     {1, inFortran + withSums, nil},
	"checksum":      {1, plainBytes + `, {"name": "crc32c"}`, holdsBytesAndSum},
	"packed":        {1, inSevenBits, holdsSevenBits},

	"shards":                          {1, inShard, holdsCheckedChunks},
	"index at the start":              {1, shards(1, plainBytes, checked, atStart), nil},
	"index without checksum":          {1, inOpenShard, holdsChunks},
	"index at the start without one":  {1, shards(1, plainBytes, unchecked, atStart), nil},
	"big-endian index":                {1, shards(1, plainBytes, bigEndian, ""), nil},
	"compressed chunks":               {1, shards(1, gzipped, checked, ""), holdsCheckedChunks},
	"chunks of two rows":              {2, shards(2, plainBytes, checked, ""), nil},
	"chunks of two rows, no checksum": {2, shards(2, gzipped, unchecked, ""), nil},
	"turned":                          {1, inTurn + inOpenShard, holdsChunks},
	"shards of shards": {2,
		shards(2, shards(1, gzipped, checked, ""), checked, ""), nil},
	"shards of shards, no checksum": {2,
		shards(2, shards(1, gzipped, unchecked, ""), unchecked, ""), nil},

	// A shard is one block here, which is decoded as a whole.
	"compressed as a whole":              {1, inShard + inGzipToo, inGzip(holdsCheckedChunks)},
	"filtered":                           {1, inDelta + inOpenShard, holdsChunks},
	"compressed as a whole, no checksum": {1, inOpenShard + inGzipToo, inGzip(holdsChunks)},
}

// TestBoundedKilled kills the process at each step of storing another length of an array. The edge
// objects end with the array. After the kill all of the array can be read. Rows that it keeps are
// as before. Rows that come or go are what they were, what they are to be, or the fill value. The
// array can be resized again, and then all objects are as other programs expect them.
func TestBoundedKilled(t *testing.T) {
	for name, c := range endedCodecs {
		for _, columns := range []int{1, 3} {
			for _, rows := range sample(2, 4, 15, 3, 6, 11, 12) {
				if rows%c.rows != 0 || columns == 1 && strings.Contains(c.codecs, "sharding") {
					continue
				}
				title := fmt.Sprintf("%s, %d columns, %d rows", name, columns, rows)
				t.Run(title, func(t *testing.T) {
					r := resize{doc: endedNumbers(columns, c.codecs), rows: rows, columns: columns,
						holds: c.holds}
					r.killedEverywhere(t)
					if r.empty = true; rows > 11 {
						r.killedEverywhere(t)
					}
				})
			}
		}
	}
}

// TestRowsOfKilledAppendDoNotCount kills the process at each step of an append to 16 rows. If the
// document still says 10, the next append begins there: the rows between them and what it writes
// are the fill value, at once and in the store.
func TestRowsOfKilledAppendDoNotCount(t *testing.T) {
	for name, c := range endedCodecs {
		for _, at := range sample(1, 13, 11, 17) {
			t.Run(fmt.Sprintf("%s, row %d", name, at), func(t *testing.T) {
				r := resize{doc: endedNumbers(3, c.codecs), rows: 16, columns: 3, holds: c.holds}
				for calls, ended := 0, false; !ended; calls += stride() {
					ended = r.writtenAfterKill(t, calls, at, c.rows)
				}
			})
		}
	}
}

// writtenAfterKill ends the process after so many calls, if it makes more. Then another one writes
// the chunk whose last row is the one at that place.
func (r *resize) writtenAfterKill(t *testing.T, calls, at, rows int) bool {
	t.Helper()
	mem, ended := r.killedAppend(t, calls)
	b := openArray(t, reopened(t, mem), "a")
	if b.Size() != int64(10*r.columns) {
		return ended
	}
	first, end := at+1-rows, at+1
	want := append(upTo(10*r.columns), make([]byte, (first-10)*r.columns)...)
	want = append(want, bytes.Repeat([]byte{99}, rows*r.columns)...)
	write(t, b, int64(first*r.columns), want[first*r.columns:])
	about := fmt.Sprintf("after %d calls", calls)
	for _, when := range []string{"dirty", "stored"} {
		if found, err := readAll(t, b.Live()); err != nil || !bytes.Equal(found, want) {
			t.Fatalf("%s, %s: expected %v, found %v, %v", about, when, want, found, err)
		}
		must(t, b.Flush(t.Context(), false))
	}
	if found, err := readAll(t, openArray(t, reopened(t, mem), "a")); err != nil ||
		!bytes.Equal(found, want) {
		t.Fatalf("%s, opened again: expected %v, found %v, %v", about, want, found, err)
	}
	r.checkLengths(t, mem, end)
	return ended
}

// killedAppend lets a process append up to r.rows that ends after so many calls, if it makes more.
func (r *resize) killedAppend(t *testing.T, calls int) (mem store.Driver, ended bool) {
	t.Helper()
	k := &hook{}
	mem = memstore.New()
	a := described(t, writable(t, 3, storetest.Faulty(mem, k)), "a", r.doc)
	write(t, a, 0, upTo(10*r.columns))
	must(t, a.Flush(t.Context(), false))
	write(t, a, int64(10*r.columns), upTo(r.rows * r.columns)[10*r.columns:])
	k.endAfter(calls)
	return mem, a.Flush(t.Context(), false) == nil
}

// resize gives an array of 10 rows another number of them.
type resize struct {
	doc           []byte
	rows, columns int
	empty         bool // rows that come are fill value
	holds         func(data []byte, n int) bool
}

func (r *resize) killedEverywhere(t *testing.T) {
	t.Helper()
	for calls, ended := 0, false; !ended; calls += stride() {
		ended = r.killed(t, calls)
	}
}

// killed ends the process after so many calls, if it makes more.
func (r *resize) killed(t *testing.T, calls int) (ended bool) {
	t.Helper()
	mem, k := memstore.New(), &hook{}
	h := writable(t, 3, storetest.Faulty(mem, k))
	a := described(t, h, "a", r.doc)
	before, after := upTo(10*r.columns), upTo(r.rows*r.columns)
	write(t, a, 0, before)
	must(t, a.Flush(t.Context(), false))
	if more := after[min(len(before), len(after)):]; len(more) > 0 && !r.empty {
		write(t, a, int64(len(before)), more)
	} else {
		must(t, a.SetSize(t.Context(), int64(len(after))))
	}
	k.endAfter(calls)
	ended = a.Flush(t.Context(), false) == nil
	k.set(nil)

	b := openArray(t, reopened(t, mem), "a")
	found, err := readAll(t, b)
	about := fmt.Sprintf("after %d calls", calls)
	if err != nil {
		t.Fatalf("%s: %v", about, err)
	}
	if n := len(found); n != len(after) && (ended || n != len(before)) {
		t.Fatalf("%s there are %d bytes", about, n)
	}
	cut := r.rows < 10 && len(found) == len(after)
	kept := min(len(before), len(after))
	check := func(p []byte) {
		t.Helper()
		for i, v := range p {
			if v != byte(i+1) && (i < kept || v != 0) {
				t.Fatalf("%s: byte %d is %d of %v", about, i, v, p)
			}
		}
	}
	check(found)
	must(t, b.SetSize(t.Context(), int64(18*r.columns)))
	must(t, b.Flush(t.Context(), false))
	grown := openArray(t, reopened(t, mem), "a")
	if found, err = readAll(t, grown); err != nil {
		t.Fatalf("%s, grown: %v", about, err)
	}
	check(found)
	if back := found[len(after):]; cut && !bytes.Equal(back, make([]byte, len(back))) {
		t.Fatalf("%s: truncated rows are there again: %v", about, found)
	}
	r.checkLengths(t, mem, 18)
	return ended
}

func readAll(t *testing.T, a *zarrcore.Array) ([]byte, error) {
	p := make([]byte, a.Size())
	_, err := a.ReadAt(t.Context(), p, 0)
	return p, err
}

// checkLengths looks whether objects have as many elements as they should.
func (r *resize) checkLengths(t *testing.T, d store.Driver, rows int) {
	t.Helper()
	if r.holds == nil {
		return
	}
	for key, data := range objectsOf(t, d) {
		var i, j int
		if n, _ := fmt.Sscanf(key, "a/c/%d/%d", &i, &j); n < 2 {
			continue
		}
		if n := min(4, rows-4*i) * min(2, r.columns-2*j); n > 0 && !r.holds(data, n) {
			t.Errorf("object %d/%d expected an object of %d elements, found %q", i, j, n, data)
		}
	}
}

// holdsBytes reports whether an object is so many elements of a byte.
func holdsBytes(data []byte, n int) bool { return len(data) == n }

func holdsBytesAndSum(data []byte, n int) bool { return len(data) == n+4 }

// holdsSevenBits is holdsBytes for seven bits of each element, with a byte for the padding.
func holdsSevenBits(data []byte, n int) bool { return len(data) == (7*n+7)/8+1 }

// holdsChunks reports whether a shard is so many chunks and their index at its end.
func holdsChunks(data []byte, n int) bool {
	index := data[max(0, len(data)-16*n):]
	found := len(index)
	for ; len(index) > 0; index = index[16:] {
		if size := binary.LittleEndian.Uint64(index[8:]); size != ^uint64(0) {
			found += int(size)
		}
	}
	return found == len(data)
}

// holdsCheckedChunks is holdsChunks for an index with a checksum.
func holdsCheckedChunks(data []byte, n int) bool {
	end := len(data) - 4
	index := data[max(0, end-16*n):end]
	sum := crc32.Checksum(index, crc32.MakeTable(crc32.Castagnoli))
	return binary.LittleEndian.Uint32(data[end:]) == sum && holdsChunks(data[:end], n)
}

// inGzip is a check of what an object holds that is compressed.
func inGzip(holds func(data []byte, n int) bool) func(data []byte, n int) bool {
	return func(data []byte, n int) bool {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return false
		}
		all, err := io.ReadAll(z)
		return err == nil && holds(all, n)
	}
}

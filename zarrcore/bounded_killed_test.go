package zarrcore_test

import (
	"bytes"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// endedNumbers is the document of an array of 10 rows, whose objects of 4 rows end where it does.
func endedNumbers(columns int, codecs string) []byte {
	return []byte(fmt.Sprintf(`{"zarr_format": 3, "node_type": "array", "shape": [10, %d], "data_type": "uint8", "fill_value": 0,
		"chunk_grid": {"name": "zarrs.regular_bounded", "configuration": {"chunk_shape": [4, 2]}}, "chunk_key_encoding": {"name": "default"},
		"codecs": [%s]}`, columns, codecs))
}

// endedCodecs are codecs of objects that tell in different ways how long they are.
var endedCodecs = map[string]string{
	"plain":         plainBytes,
	"gzip":          `{"name": "bytes"}, {"name": "gzip", "configuration": {"level": 1}}`,
	"blosc":         `{"name": "bytes"}, {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 1, "blocksize": 0}}`,
	"Fortran order": inFortran,
	"checksum":      inFortran + `, {"name": "zstd", "configuration": {"level": 1, "checksum": true}}, {"name": "crc32c"}`,
}

// TestBoundedKilled: the process is killed at each step of storing another length of an array whose objects end where it does. All of the array
// can be read then: the rows that it keeps, and of those that come or go what they were, what they are to be, or the fill value. It can get
// another length, and then all objects are as others expect them.
func TestBoundedKilled(t *testing.T) {
	for name, codecs := range endedCodecs {
		for _, columns := range []int{1, 3} {
			for _, rows := range []int{3, 4, 6, 11, 15} {
				t.Run(fmt.Sprintf("%s, %d columns, %d rows", name, columns, rows), func(t *testing.T) {
					for calls, ended := 0, false; !ended; calls++ {
						ended = boundedKilled(t, endedNumbers(columns, codecs), rows, columns, calls)
					}
				})
			}
		}
	}
}

// boundedKilled ends the process after so many calls, if it makes more.
func boundedKilled(t *testing.T, doc []byte, rows, columns, calls int) (ended bool) {
	t.Helper()
	mem, k := memstore.New(), &hook{}
	h := writable(t, 3, storetest.Faulty(mem, k))
	a := described(t, h, "a", doc)
	before, after := upTo(10*columns), upTo(rows*columns)
	write(t, a, 0, before)
	must(t, a.Flush(t.Context(), false))
	if more := after[min(len(before), len(after)):]; len(more) > 0 {
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
	cut := rows < 10 && len(found) == len(after)
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
	must(t, b.SetSize(t.Context(), int64(18*columns)))
	must(t, b.Flush(t.Context(), false))
	grown := openArray(t, reopened(t, mem), "a")
	if found, err = readAll(t, grown); err != nil {
		t.Fatalf("%s, grown: %v", about, err)
	}
	check(found)
	if back := found[len(after):]; cut && !bytes.Equal(back, make([]byte, len(back))) {
		t.Fatalf("%s: rows that were cut are there again: %v", about, found)
	}
	checkLengths(t, mem, 18, columns)
	return ended
}

func readAll(t *testing.T, a *zarrcore.Array) ([]byte, error) {
	p := make([]byte, a.Size())
	_, err := a.ReadAt(t.Context(), p, 0)
	return p, err
}

// checkLengths compares the sizes of objects that are not compressed with those that they should have.
func checkLengths(t *testing.T, d store.Driver, rows, columns int) {
	t.Helper()
	obj, err := store.New(d, "").Open(t.Context(), "a/zarr.json")
	must(t, err)
	doc := make([]byte, obj.Info().Size)
	obj.ReadAt(doc, 0)
	obj.Close()
	if !slices.ContainsFunc([]string{plainBytes + "]", inFortran + "]"}, func(end string) bool { return bytes.Contains(doc, []byte(end)) }) {
		return
	}
	for i := 0; 4*i < rows; i++ {
		for j := 0; 2*j < columns; j++ {
			obj, err := store.New(d, "").Open(t.Context(), fmt.Sprintf("a/c/%d/%d", i, j))
			if errors.Is(err, iofs.ErrNotExist) {
				continue
			}
			must(t, err)
			if n := int64(min(4, rows-4*i) * min(2, columns-2*j)); obj.Info().Size != n {
				t.Errorf("object %d/%d has %d bytes of %d rows, expected %d", i, j, obj.Info().Size, rows, n)
			}
			obj.Close()
		}
	}
}

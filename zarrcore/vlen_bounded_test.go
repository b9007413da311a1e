package zarrcore_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// boundedWords is an array of strings in objects of three rows. The last object ends with the
// array.
func boundedWords(rows int64, sharded bool) words {
	w := words{shape: []int64{rows, 2},
		grid: `{"name":"zarrs.regular_bounded","configuration":{"chunk_shape":[3,2]}}`,
		cuts: [][]int64{{}, {2}}}
	for at := int64(0); at < rows; at += 3 {
		w.cuts[0] = append(w.cuts[0], min(3, rows-at))
	}
	if sharded {
		w.inner = []int64{1, 2}
	}
	return w
}

// resizeBounded are ways to give such an array of 8 rows another length, with what it has then.
var resizeBounded = map[string]struct {
	do   func(t *testing.T, h *zarrcore.Hierarchy) error
	want func(had []string) []string
}{
	"appended": {func(t *testing.T, h *zarrcore.Hierarchy) error {
		text := strings.Repeat("\"more\"\n", 6)
		return h.AppendLines(t.Context(), "a", strings.NewReader(text), int64(len(text)), true)
	}, func(had []string) []string { return append(had, slices.Repeat([]string{"more"}, 6)...) }},
	"grown": {func(t *testing.T, h *zarrcore.Hierarchy) error {
		return h.SetDocument(t.Context(), "a", []byte(`{"shape":[13,2]}`))
	}, func(had []string) []string { return append(had, slices.Repeat([]string{"none"}, 10)...) }},
	"truncate": {func(t *testing.T, h *zarrcore.Hierarchy) error {
		return h.SetDocument(t.Context(), "a", []byte(`{"shape":[4,2]}`))
	}, func(had []string) []string { return had[:8] }},
	"truncate a row": {func(t *testing.T, h *zarrcore.Hierarchy) error {
		return h.SetDocument(t.Context(), "a", []byte(`{"shape":[7,2]}`))
	}, func(had []string) []string { return had[:14] }},
}

// TestVlenBoundedKilled: whichever write to the store is the last, the array is then as it was, or
// as it was to be. More can be written to it.
func TestVlenBoundedKilled(t *testing.T) {
	for _, sharded := range []bool{false, true} {
		for name, c := range resizeBounded {
			t.Run(fmt.Sprint(name, ", sharded ", sharded), func(t *testing.T) {
				for last, done := 0, false; !done; last++ {
					w := boundedWords(8, sharded)
					d := group(t)
					w.write(t, d, "a", rand.New(rand.NewPCG(1, 2)))
					old := w.lines(t)
					err := c.do(t, open(t, storetest.Faulty(d, diesAfter(last)), nil))
					if done = err == nil; done && last < 5 {
						t.Errorf("it took only %d steps", last)
					}
					w.data = c.want(w.data)
					got := allLines(t, open(t, d, nil), "a")
					if !bytes.Equal(got, w.lines(t)) && (done || !bytes.Equal(got, old)) {
						t.Fatalf("after step %d, error %v: found\n%s", last, err, got)
					}
					vlenGoesOn(t, d, got, sharded)
				}
			})
		}
	}
}

// vlenGoesOn changes the last row of boundedWords, which has these lines, appends two rows, one by
// one, and then more.
func vlenGoesOn(t *testing.T, d store.Driver, lines []byte, sharded bool) {
	t.Helper()
	h := open(t, d, nil)
	rows := openVlen(t, h, "a").Meta().Shape[0]
	lines = append(lines[:bytes.LastIndexByte(lines[:len(lines)-1], '\n')+1], "\"last\"\n"...)
	must(t, h.WriteLines(t.Context(), "a", bytes.NewReader(lines), int64(len(lines)), false))
	checkBounded(t, d, rows, sharded)
	for _, text := range []string{"\"new\"\n\"er\"\n", "\"new\"\n\"est\"\n"} {
		must(t, h.AppendLines(t.Context(), "a", strings.NewReader(text), int64(len(text)), false))
		lines = append(lines, text...)
	}
	checkBounded(t, d, rows+2, sharded)
	must(t, h.SetDocument(t.Context(), "a", []byte(`{"shape":[20,2]}`)))
	lines = append(lines, strings.Repeat("\"none\"\n", 40-bytes.Count(lines, []byte("\n")))...)
	if after := allLines(t, open(t, d, nil), "a"); !bytes.Equal(after, lines) {
		t.Fatalf("the last line changed, two rows and more: found\n%s\nexpected\n%s", after, lines)
	}
	checkBounded(t, d, 20, sharded)
}

// diesAfter lets so many writing operations pass, and none that follows.
func diesAfter(n int) storetest.Injector {
	var left atomic.Int64
	left.Store(int64(n))
	return storetest.InjectorFunc(func(op storetest.Op) storetest.Fault {
		switch op.Kind {
		case storetest.OpStage, storetest.OpSync, storetest.OpCommit, storetest.OpDelete:
			if left.Add(-1) < 0 {
				return storetest.Fault{Err: unix.EROFS}
			}
		}
		return storetest.Fault{}
	})
}

// checkBounded counts the strings, or the chunks of a row, in each object of boundedWords.
func checkBounded(t *testing.T, d store.Driver, rows int64, sharded bool) {
	t.Helper()
	found := 0
	for key, data := range objectsOf(t, d) {
		var at int64
		if n, _ := fmt.Sscanf(key, "a/c/%d/0", &at); n == 0 || 3*at >= rows {
			continue // what is behind the end counts for nothing
		}
		found++
		holds := inGzip(func(data []byte, n int) bool {
			return int(binary.LittleEndian.Uint32(data)) == 2*n
		})
		if sharded {
			holds = holdsChunks
		}
		if n := int(min(3, rows-3*at)); !holds(data, n) {
			t.Errorf("%s of %d rows is not an object of %d", key, rows, n)
		}
	}
	if found == 0 {
		t.Error("no object is there")
	}
}

// TestVlenBoundedReaders: a program opened such an array before it got another length. It reads on
// where all of its rows are there. Otherwise it gets ErrChanged, never an error that says its
// objects were corrupt.
func TestVlenBoundedReaders(t *testing.T) {
	for _, sharded := range []bool{false, true} {
		for name, c := range resizeBounded {
			t.Run(fmt.Sprint(name, ", sharded ", sharded), func(t *testing.T) {
				w := boundedWords(8, sharded)
				d := group(t)
				w.write(t, d, "a", rand.New(rand.NewPCG(1, 2)))
				h := open(t, d, &zarrcore.Options{CacheSize: 1}) // keeps one chunk
				v, old := openVlen(t, h, "a"), w.lines(t)
				must(t, c.do(t, h))
				w.data = c.want(w.data)
				got := make([]byte, len(old))
				_, err := v.Lines().ReadAt(t.Context(), got, 0)
				if shorter := len(w.data) < 16; shorter != errors.Is(err, zarrcore.ErrChanged) ||
					!shorter && (err != nil || !bytes.Equal(got, old)) {
					t.Errorf("a program that had it open: %v, found\n%s", err, got)
				}
				if got := allLines(t, h, "a"); !bytes.Equal(got, w.lines(t)) {
					t.Errorf("a program that opens it: found\n%s", got)
				}
			})
		}
	}
}

// TestVlenBoundedReadWhileWritten: a program that reads such an array while it grows and shrinks
// finds whole rows of some moment, or ErrChanged.
func TestVlenBoundedReadWhileWritten(t *testing.T) {
	for _, sharded := range []bool{false, true} {
		t.Run(fmt.Sprint("sharded ", sharded), func(t *testing.T) {
			w := boundedWords(0, sharded)
			d := group(t)
			put(t, d, "a/zarr.json", []byte(w.document()))
			h := open(t, d, nil)
			var all strings.Builder
			for i := range 60 {
				fmt.Fprintf(&all, "\"row %d\"\n\"%s\"\n", i, strings.Repeat("x", i))
			}
			var done atomic.Bool
			var readers sync.WaitGroup
			for range 3 {
				readers.Go(func() {
					for !done.Load() {
						v, err := h.OpenVlen(t.Context(), "a")
						if err != nil {
							t.Error(err)
							return
						}
						got := make([]byte, all.Len())
						n, err := v.Lines().ReadAt(t.Context(), got, 0)
						if err != nil && err != io.EOF && !errors.Is(err, zarrcore.ErrChanged) ||
							!strings.HasPrefix(all.String(), string(got[:n])) {
							t.Errorf("shape %v: %v, found\n%s", v.Meta().Shape, err, got[:n])
							return
						}
					}
				})
			}
			lines := slices.Collect(strings.Lines(all.String()))
			rows := 0
			for _, add := range []int{1, 1, 2, 4, 7, -3, 1, 5, -11, 2, 2, 1, 9, -1, -1, 13, 3, -20,
				17, -26, 24, -15, 1, 1, 15, -5, 4, 4, -33, 33, -30, 27, 5} {
				if rows += add; add < 0 {
					must(t,
						h.SetDocument(t.Context(), "a", fmt.Appendf(nil, `{"shape":[%d,2]}`, rows)))
					continue
				}
				text := strings.Join(lines[2*(rows-add):2*rows], "")
				must(t, h.AppendLines(t.Context(), "a", strings.NewReader(text), int64(len(text)),
					false))
			}
			done.Store(true)
			readers.Wait()
		})
	}
}

// TestVlenBoundedCounts: an object of more rows than the document says is read, as a killed
// process may have left it. An object of fewer rows is corrupt. So is one of more than a chunk
// has, or with an incomplete row.
func TestVlenBoundedCounts(t *testing.T) {
	for rows, good := range map[int64]bool{1: false, 2: true, 3: true, 4: false} {
		w := boundedWords(8, false)
		d := group(t)
		w.write(t, d, "a", rand.New(rand.NewPCG(1, 2)))
		all := words{shape: []int64{10, 2},
			data: slices.Concat(w.data, []string{"x", "x", "x", "x"})}
		put(t, d, "a/c/2/0", all.encode(t, []int64{6, 0}, []int64{rows, 2}))
		got := make([]byte, len(w.lines(t)))
		_, err := openVlen(t, open(t, d, nil), "a").Lines().ReadAt(t.Context(), got, 0)
		if good != (err == nil && bytes.Equal(got, w.lines(t))) || !good &&
			!errors.Is(err, compress.ErrCorrupt) {
			t.Errorf("%d rows: %v, found\n%s", rows, err, got)
		}
	}
	w := boundedWords(8, false)
	d := group(t)
	w.write(t, d, "a", rand.New(rand.NewPCG(1, 2)))
	put(t, d, "a/c/2/0", w.encode(t, []int64{6, 0}, []int64{1, 5}))
	if _, err := openVlen(t, open(t, d, nil), "a").Count(t.Context()); !errors.Is(err,
		compress.ErrCorrupt) || !strings.Contains(err.Error(), "expected 4 elements, found 5") {
		t.Errorf("two and a half rows: %v", err)
	}
}

package zarrcore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
)

// movedWords are arrays of strings to be moved, by the way in which they are stored.
func movedWords() map[string]words {
	return map[string]words{
		"chunks": {shape: []int64{600}, chunk: []int64{20}},
		"holes":  {shape: []int64{600}, chunk: []int64{20}, missing: 0.5},
		"shards": {shape: []int64{600}, chunk: []int64{60}, inner: []int64{20},
			missing: 0.3},
		"bounded":         boundedWords(80, false),
		"bounded, shards": boundedWords(80, true),
	}
}

// readLines reads all lines of an array as a program does, a part at a time.
func readLines(v *zarrcore.VlenArray) (text []byte, err error) {
	r, p := v.Lines(), make([]byte, 500)
	for {
		n, err := r.ReadAt(context.Background(), p, int64(len(text)))
		text = append(text, p[:n]...)
		if errors.Is(err, io.EOF) {
			return text, nil
		}
		if err != nil {
			return text, err
		}
	}
}

// TestVlenMoved: an array of strings and the group above it are renamed any number of times. A
// program that has it open reads it where it is. A later open has all lines too.
func TestVlenMoved(t *testing.T) {
	for name, w := range movedWords() {
		t.Run(name, func(t *testing.T) {
			d := group(t)
			put(t, d, "g/zarr.json", []byte(`{"zarr_format": 3, "node_type": "group"}`))
			w.write(t, d, "g/a", rand.New(rand.NewPCG(1, 2)))
			want, h := w.lines(t), open(t, d, &zarrcore.Options{CacheSize: 1}) // keeps one chunk
			check := func(what string, v *zarrcore.VlenArray) {
				t.Helper()
				if got, err := readLines(v); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s: %d bytes, %v; want %d others", what, len(got), err, len(want))
				}
			}
			first := openVlen(t, h, "g/a")
			first.Open()
			for _, step := range []struct{ from, to, at string }{
				{"g/a", "z", "z"}, {"z", "g/a", "g/a"}, {"g", "k", "k/a"}, {"k", "g", "g/a"},
			} {
				must(t, h.Rename(t.Context(), step.from, step.to, false))
				check("open since the beginning, now at "+step.at, first)
				check("opened at "+step.at, openVlen(t, h, step.at))
			}
		})
	}
}

// TestVlenReadWhileAway: what a reader has not found because the array was at another path does
// not become fill value. That holds for the reader, and for a program that opens the array when it
// is back.
func TestVlenReadWhileAway(t *testing.T) {
	for name, w := range movedWords() {
		t.Run(name, func(t *testing.T) {
			d := group(t)
			w.write(t, d, "a", rand.New(rand.NewPCG(1, 2)))
			h, other := open(t, d, nil), open(t, d, nil)
			v, want := openVlen(t, h, "a"), w.lines(t)
			must(t, other.Rename(t.Context(), "a", "z", false))
			got, err := readLines(v)
			if !errors.Is(err, zarrcore.ErrChanged) && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("while another program has moved it: read %d bytes, %v", len(got), err)
			}
			must(t, other.Rename(t.Context(), "z", "a", false))
			if got, err := readLines(openVlen(t, h, "a")); err != nil || !bytes.Equal(got, want) {
				t.Errorf("when it is back: read %d bytes, %v; want %d others", len(got), err,
					len(want))
			}
		})
	}
}

// TestVlenRemovedByOther: another program removes an array of strings that is open, and creates it
// again. In between it is an error, and no fill value. A later open has the new elements.
func TestVlenRemovedByOther(t *testing.T) {
	for name, w := range movedWords() {
		t.Run(name, func(t *testing.T) {
			d := group(t)
			w.write(t, d, "a", rand.New(rand.NewPCG(1, 2)))
			h := open(t, d, nil)
			v := openVlen(t, h, "a")
			must(t, store.New(d, "").Dirs().RemoveAll(t.Context(), "a"))
			if got, err := readLines(v); err == nil {
				t.Errorf("removed: read %d bytes and no error", len(got))
			}
			w.write(t, d, "a", rand.New(rand.NewPCG(1, 2)))
			if got, err := readLines(openVlen(t, h, "a")); err != nil ||
				!bytes.Equal(got, w.lines(t)) {
				t.Errorf("created again: %d bytes, %v", len(got), err)
			}
		})
	}
}

// TestVlenRenamedWhileRead: an array of strings is renamed to and fro. A read to the end has all
// lines, or is an error. At rest, every open has all lines.
func TestVlenRenamedWhileRead(t *testing.T) {
	w := words{shape: []int64{600}, chunk: []int64{4}}
	d, err := dirstore.Open(t.TempDir(), nil)
	must(t, err)
	put(t, d, "zarr.json", []byte(`{"zarr_format": 3, "node_type": "group"}`))
	w.write(t, d, "a", rand.New(rand.NewPCG(1, 2)))
	h, want := open(t, d, &zarrcore.Options{CacheSize: 1}), w.lines(t)
	var readers sync.WaitGroup
	stop := make(chan struct{})
	var whole atomic.Int64
	for _, path := range []string{"a", "z"} {
		readers.Go(func() {
			for !closed(stop) {
				v, err := h.OpenVlen(context.Background(), path)
				if err != nil {
					continue
				}
				v.Open()
				got, err := readLines(v)
				v.Close()
				if err == nil && !bytes.Equal(got, want) {
					t.Errorf("%s: %d bytes and no error; want %d others", path, len(got), len(want))
					return
				}
				if err == nil {
					whole.Add(1)
				}
			}
		})
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		must(t, h.Rename(t.Context(), "a", "z", false))
		must(t, h.Rename(t.Context(), "z", "a", false))
	}
	close(stop)
	readers.Wait()
	if got, err := readLines(openVlen(t, h, "a")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("at rest: read %d bytes, %v; want %d others", len(got), err, len(want))
	}
	if whole.Load() == 0 {
		t.Error("no reader has read all lines meanwhile")
	}
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestVlenReadWhileTruncated: a program reads an array while the array gets more rows and fewer.
// The program finds written rows or ErrChanged, and never fill values.
func TestVlenReadWhileTruncated(t *testing.T) {
	for _, sharded := range []bool{false, true} {
		t.Run(fmt.Sprint("sharded ", sharded), func(t *testing.T) {
			w := words{shape: []int64{0, 2}, chunk: []int64{3, 2}}
			if sharded {
				w.inner = []int64{1, 2}
			}
			d := group(t)
			put(t, d, "a/zarr.json", []byte(w.document()))
			h := open(t, d, nil)
			ctx, end := context.WithCancel(t.Context())
			var readers sync.WaitGroup
			for range 3 {
				readers.Go(func() { readWritten(t, ctx, h) })
			}
			for i := range 600 {
				text := strings.Repeat("\"p\"\n\"q\"\n", []int{8, 2, 7, 3, 1}[i%5])
				in := strings.NewReader(text)
				must(t, h.WriteLines(t.Context(), "a", in, in.Size(), false))
			}
			end()
			readers.Wait()
		})
	}
}

// readWritten reads the array until ctx ends, and fails if it finds lines that nobody writes.
func readWritten(t *testing.T, ctx context.Context, h *zarrcore.Hierarchy) {
	for ctx.Err() == nil {
		v, err := h.OpenVlen(t.Context(), "a")
		if err != nil {
			t.Error(err)
			return
		}
		got := make([]byte, 100)
		n, err := v.Lines().ReadAt(t.Context(), got, 0)
		rest := strings.ReplaceAll(string(got[:n]), "\"p\"\n\"q\"\n", "")
		if err != io.EOF && !errors.Is(err, zarrcore.ErrChanged) || rest != "" {
			t.Errorf("shape %v: %v, found\n%s", v.Meta().Shape, err, got[:n])
			return
		}
	}
}

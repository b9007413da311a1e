package fs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// stringObjects is a store with two arrays. "s" has 40 chunks of 10 strings, and "long" has one
// string that is too wide for NumPy.
func stringObjects() objects {
	doc := `{"zarr_format":3,"node_type":"array","shape":[%d],"data_type":"string","fill_value":"",
		"codecs":["vlen-utf8"],
		"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[10]}},
		"chunk_key_encoding":{"name":"default"}}`
	o := objects{"zarr.json": groupDoc, "s/zarr.json": fmt.Sprintf(doc, 400),
		"long/zarr.json": fmt.Sprintf(doc, 10)}
	for c := range 40 {
		words := make([]string, 10)
		for i := range words {
			words[i] = fmt.Sprint("word ", 10*c+i)
		}
		o[fmt.Sprint("s/c/", c)] = chunkOf(words)
	}
	o["long/c/0"] = chunkOf(append(make([]string, 9), strings.Repeat("x", (64<<10)/4+1)))
	return o
}

func chunkOf(words []string) string {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(words)))
	for _, w := range words {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(w))), w...)
	}
	return string(b)
}

func TestJSONL(t *testing.T) {
	f := testFilesystem(t, stringObjects())
	var want strings.Builder
	for i := range 400 {
		fmt.Fprintf(&want, "\"word %d\"\n", i)
	}
	if got := readAll(t, f, "s", "jsonl"); string(got) != want.String() {
		t.Errorf("s.jsonl is %.100q", got)
	}
	if got := readAll(t, f, "s", "npy"); !strings.HasPrefix(string(got[10:]),
		"{'descr': '<U8', 'fortran_order': False, 'shape': (400,), }") {
		t.Errorf("s.npy is %.100q", got)
	}
	for path, name := range map[string]string{"s": "raw", "long": "npy"} {
		if _, err := view.Open(context.Background(), f.h, path, name); !errors.Is(err,
			errors.ErrUnsupported) {
			t.Errorf("%s.%s: %v, want unsupported", path, name, err)
		}
	}
}

// TestCounted: a stat with no time to count shows two bytes for each element. The next one goes on,
// and one of an open file counts to the end.
func TestCounted(t *testing.T) {
	ctx := context.Background()
	stat := func(f *filesystem, wait time.Duration) (uint64, bool) {
		t.Helper()
		n, err := f.h.Node(ctx, "s")
		if err != nil {
			t.Fatal(err)
		}
		var a fuse.Attr
		known, err := f.inodes.Counted(ctx, n, jsonlView, wait, true, &a)
		if err != nil {
			t.Fatal(err)
		}
		return a.Size, known
	}
	size := uint64(10*9 + 90*10 + 300*11)
	f := testFilesystem(t, stringObjects())
	if got, known := stat(f, 0); known || got != 2*400 {
		t.Errorf("no time: size %d, known %v", got, known)
	}
	c, err := jsonlView.Open(ctx, f.h, "s")
	if err != nil {
		t.Fatal(err)
	}
	if got, known := stat(f, 0); !known || got != size {
		t.Errorf("an open file: size %d, known %v, want %d", got, known, size)
	}
	c.Close()
	if got, known := stat(f, 0); !known || got != size {
		t.Errorf("counted before: size %d, known %v, want %d", got, known, size)
	}
	if got, known := stat(testFilesystem(t, stringObjects()), time.Minute); !known || got != size {
		t.Errorf("time enough: size %d, known %v, want %d", got, known, size)
	}
}

// TestVlenNames: the views of an array are those that its elements allow.
func TestVlenNames(t *testing.T) {
	ctx := context.Background()
	o := stringObjects()
	for key, data := range testObjects() {
		o[key] = data
	}
	f := testFilesystem(t, o)
	for name, want := range map[string]bool{"s.jsonl": true, "s.npy": true, "s.json": true,
		"a.jsonl": false, "a.raw": true} {
		_, err := f.names.Resolve(ctx, "", name)
		if (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", name, err, want)
		}
	}
	vlen := map[string]bool{}
	err := f.h.Children(ctx, "", func(c zarrcore.Child) error {
		vlen[c.Name] = c.Vlen
		return nil
	})
	if err != nil || !vlen["s"] || !vlen["long"] || vlen["a"] || vlen["ocean"] {
		t.Errorf("children of no fixed element size: %v, %v", vlen, err)
	}
}

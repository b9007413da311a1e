package zarrcore_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// TestChangesAreSeen: what was stored before OpenArray is what is read after it, however the array
// is read, and whatever was read of it in between.
func TestChangesAreSeen(t *testing.T) {
	ctx := context.Background()
	arrays := map[string]fixture{
		"cached": {format: 2, shape: []int64{40}, chunk: []int64{10}, separator: ".",
			compressor: "zstd"},
		"plain": {format: 3, shape: []int64{40}, chunk: []int64{10}, separator: "/"},
		"sharded": {format: 3, shape: []int64{40}, chunk: []int64{10}, inner: []int64{5},
			separator: "/", compressor: "gzip"},
		"bands": {element: elements[3], format: 3, shape: []int64{300_000},
			chunk: []int64{100_000}, separator: "/", checksum: true},
		"large": {format: 3, shape: []int64{320_000}, chunk: []int64{64}, separator: "/",
			compressor: "zstd"},
		"dotted": {format: 2, shape: []int64{5000, 70}, chunk: []int64{1, 70}, separator: "."},
	}
	between := map[string]func(a *zarrcore.Array){
		"nothing": func(*zarrcore.Array) {},
		"a scan": func(a *zarrcore.Array) {
			if err := zarrcore.ScanAgain(ctx, a); err != nil {
				t.Error(err)
			}
		},
	}
	for name, f := range arrays {
		for what, look := range between {
			t.Run(name+"/"+what, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, 2))
				d := group(t)
				f := f
				f.path = "a"
				f.write(t, d, rng)
				h := open(t, d, nil)
				a := openArray(t, h, "a")
				r := a.NewReader()
				defer r.Close()
				check := func(step string) {
					t.Helper()
					if !bytes.Equal(readAt(t, a, 0, a.Size()), f.data) {
						t.Errorf("%s: ReadAt differs", step)
					}
					if got, err := read(r, 0, a.Size()); err != nil || !bytes.Equal(got, f.data) {
						t.Errorf("%s: Read differs, or %v", step, err)
					}
				}
				first := make([]int64, len(f.shape))
				second := slices.Clone(first)
				second[0] = 1
				small := f.shape[0]/f.chunk[0] <= 4096
				change := func(step string, do func(key string)) {
					t.Helper()
					before := a.Fingerprint()
					do("a/" + f.key(second))
					look(a)
					if again := openArray(t, h, "a"); again != a {
						t.Fatalf("%s: another Array, though the metadata is the same", step)
					}
					if same := a.Fingerprint() == before; same && step != "unchanged" || small &&
						!same && step == "unchanged" {
						t.Errorf("%s: fingerprint before %s, after %s", step, before,
							a.Fingerprint())
					}
					check(step)
				}
				block := slices.Clone(first)
				block[0] = f.chunk[0]
				at := volume(f.chunk) * f.size
				check("as written")
				change("replaced", func(key string) {
					copy(f.data[at:], bytes.Repeat([]byte{9, 8, 7}, 3))
					put(t, d, key, f.object(block, f.chunk, rng))
				})
				change("unchanged", func(string) {})
				change("deleted", func(key string) {
					f.erase(block, f.chunk)
					if err := d.Delete(ctx, key, store.If{}); err != nil {
						t.Fatal(err)
					}
				})
				change("created", func(key string) {
					copy(f.data[at:], "hello")
					put(t, d, key, f.object(block, f.chunk, rng))
				})
			})
		}
	}
}

// TestReshape: new metadata make a new Array, and a reader of the old one goes on.
func TestReshape(t *testing.T) {
	for _, n := range []int64{1000, 300_000} {
		d := group(t)
		rng := rand.New(rand.NewPCG(1, 2))
		f := &fixture{element: elements[3], path: "a", format: 3, shape: []int64{n},
			chunk: []int64{n / 4}, separator: "/", checksum: true}
		f.write(t, d, rng)
		h := open(t, d, nil)
		old := openArray(t, h, "a")
		r := old.NewReader()
		defer r.Close()
		half := old.Size() / 2
		if _, err := read(r, 0, half); err != nil {
			t.Fatal(err)
		}
		f.shape = []int64{2 * n}
		put(t, d, "a/zarr.json", []byte(f.documents()["zarr.json"]))
		grown := openArray(t, h, "a")
		if grown == old || grown.Size() != 4*half || old.Size() != 2*half {
			t.Errorf("sizes %d and %d, expected %d before and %d after", old.Size(), grown.Size(),
				2*half, 4*half)
		}
		want := append(bytes.Clone(f.data), bytes.Repeat(f.fill, int(n))...)
		if !bytes.Equal(readAt(t, grown, 0, 4*half), want) {
			t.Error("the new array differs")
		}
		if got, err := read(r, half, half); err != nil || !bytes.Equal(got, f.data[half:]) {
			t.Errorf("the old one's reader: %d bytes that differ, or %v", len(got), err)
		}
	}
}

// TestListingFails: where the objects cannot be listed, changes are seen all
// the same.
func TestListingFails(t *testing.T) {
	d := group(t)
	rng := rand.New(rand.NewPCG(1, 2))
	f := &fixture{path: "a", format: 3, shape: []int64{100}, chunk: []int64{10}, separator: "/",
		compressor: "zstd"}
	f.write(t, d, rng)
	h := open(t, storetest.Faulty(d, storetest.Always(storetest.OpList, fs.ErrPermission)), nil)
	readAt(t, openArray(t, h, "a"), 0, 100)
	copy(f.data, "changed")
	put(t, d, "a/c/0", f.object([]int64{0}, f.chunk, rng))
	if !bytes.Equal(readAt(t, openArray(t, h, "a"), 0, 100), f.data) {
		t.Error("the change is not seen")
	}
}

// TestSeparatorProbed: v2 stores from before dimension_separator have nested
// keys without saying so.
func TestSeparatorProbed(t *testing.T) {
	tests := []struct{ name, first, then string }{
		{"dotted", "7.3", ""},
		{"nested", "7/3", ""},
		{"nested, written later", "", "7/3"},
		{"dotted, written later", "", "7.3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := group(t)
			put(t, d, "a/.zarray", []byte(`{"zarr_format": 2, "shape": [10, 10], "chunks": [1, 1],
				"dtype": "|u1", "fill_value": 0,
				"order": "C", "compressor": null, "filters": null}`))
			h := open(t, d, nil)
			if tt.first != "" {
				put(t, d, "a/"+tt.first, []byte{42})
			}
			a := openArray(t, h, "a")
			if tt.then != "" {
				put(t, d, "a/"+tt.then, []byte{42})
				a = openArray(t, h, "a")
			}
			if got := readAt(t, a, 73, 1); got[0] != 42 {
				t.Errorf("got %d", got[0])
			}
		})
	}
}

// TestStoreDirectoryReplaced: zarr-python overwrites a store by removing and recreating the whole
// directory.
func TestStoreDirectoryReplaced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s.zarr")
	write := func(name string) {
		os.RemoveAll(dir)
		for key, doc := range map[string]string{
			"zarr.json":       `{"zarr_format": 3, "node_type": "group"}`,
			name + "/.zgroup": `{"zarr_format": 2}`,
		} {
			os.MkdirAll(filepath.Dir(filepath.Join(dir, key)), 0o777)
			if err := os.WriteFile(filepath.Join(dir, key), []byte(doc), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	write("old")
	d, err := dirstore.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	h := open(t, d, nil)
	write("new")
	var names []string
	h.Children(context.Background(), "", func(c zarrcore.Child) error {
		names = append(names, c.Name)
		return nil
	})
	if strings.Join(names, " ") != "new" {
		t.Errorf("children are %v", names)
	}
}

// TestForgottenArrays: a mount on which a program walks through many arrays
// keeps only some of them open; what is in use goes on.
func TestForgottenArrays(t *testing.T) {
	d := group(t)
	doc :=
		`{"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "|u1", "fill_value": 7, ` +
			`"order": "C", "compressor": null, "filters": null}`
	const count = 3000
	for i := range count {
		put(t, d, fmt.Sprintf("a%d/.zarray", i), []byte(doc))
	}
	h := open(t, d, nil)
	inUse := openArray(t, h, "a0")
	r := inUse.NewReader()
	defer r.Close()
	for i := range count {
		openArray(t, h, fmt.Sprintf("a%d", i))
	}
	if n := h.Status().ArraysOpen; n > 1024 {
		t.Errorf("%d arrays are open", n)
	}
	if again := openArray(t, h, "a0"); again != inUse {
		t.Error("an array with a reader was forgotten")
	}
	if got, err := read(r, 0, 4); err != nil || !bytes.Equal(got, []byte{7, 7, 7, 7}) {
		t.Errorf("got %v, %v", got, err)
	}
}

package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// stored are arrays as other libraries store them, each with a peculiarity of its writer: the members that differ from those of a
// good array of the format, the objects, and the bytes of the array.
var stored = []struct {
	writer  string
	format  int
	members string
	objects map[string]string
	raw     string
}{
	// netcdf-c shuffles by the size of the array's elements, whatever the document says.
	{"netcdf-c 4.10", 2, `"dtype": "<i2", "filters": [{"id": "shuffle", "elementsize": 0}]`,
		map[string]string{"0": "\x01\x02\x03\x04\x11\x12\x13\x14"}, "\x01\x11\x02\x12\x03\x13\x04\x14"},
	{"netcdf-c 4.9", 2, `"dtype": "<i2", "filters": [{"id": "shuffle", "elementsize": "0"}]`,
		map[string]string{"0": "\x01\x02\x03\x04\x11\x12\x13\x14"}, "\x01\x11\x02\x12\x03\x13\x04\x14"},
	{"netcdf-c 4.9, of 4 bytes", 2, `"dtype": "<i4", "shape": [2], "chunks": [2], "filters": [{"id": "shuffle", "elementsize": "4"}]`,
		map[string]string{"0": "\x01\x11\x02\x12\x03\x13\x04\x14"}, "\x01\x02\x03\x04\x11\x12\x13\x14"},
	{"numcodecs", 2, `"dtype": "<i4", "shape": [2], "chunks": [2], "filters": [{"id": "shuffle", "elementsize": 2}]`,
		map[string]string{"0": "\x01\x02\x03\x04\x11\x12\x13\x14"}, "\x01\x11\x02\x12\x03\x13\x04\x14"},
	// GDAL writes no fill value for integers and complex numbers without a nodata value.
	{"GDAL 3.12", 3, `"fill_value": null, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}`,
		map[string]string{"c/1": "ab"}, "\x00\x00ab"},
	{"GDAL 3.12, complex", 3, `"shape": [1], "data_type": "complex64", "fill_value": null, "codecs": [{"name": "bytes", "configuration": {"endian": "big"}}]`,
		nil, "\x00\x00\x00\x00\x00\x00\x00\x00"},
	{"strings without a fill value", 3, `"data_type": "string", "fill_value": null, "codecs": ["vlen-utf8"]`, nil, "\"\"\n\"\"\n\"\"\n\"\"\n"},
}

// TestStoredByOthers reads what other libraries store, through a mount.
func TestStoredByOthers(t *testing.T) {
	store := t.TempDir()
	put(t, store, "zarr.json", `{"zarr_format": 3, "node_type": "group"}`)
	for _, c := range stored {
		put(t, store, c.writer+"/"+map[int]string{2: ".zarray", 3: "zarr.json"}[c.format], documentOf(c.format, c.members))
		for key, data := range c.objects {
			put(t, store, c.writer+"/"+key, data)
		}
	}
	mnt := mount(t, store)
	for _, c := range stored {
		view := ".raw"
		if strings.Contains(c.members, `"string"`) {
			view = ".jsonl"
		}
		if got, err := os.ReadFile(filepath.Join(mnt, c.writer+view)); err != nil || string(got) != c.raw {
			t.Errorf("%s: %q, %v, want %q", c.writer, got, err, c.raw)
		}
	}
}

// TestStoredNumberDoesNotDivide: what scale_offset cannot have stored is an error that names the chunk, and its neighbours are read.
func TestStoredNumberDoesNotDivide(t *testing.T) {
	store := t.TempDir()
	put(t, store, "zarr.json", `{"zarr_format": 3, "node_type": "group"}`)
	put(t, store, "a/zarr.json", documentOf(3, `"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
		"codecs": [{"name": "scale_offset", "configuration": {"offset": 1, "scale": 3}}, "bytes"]`))
	put(t, store, "a/c/0", "\x03\x06")
	put(t, store, "a/c/1", "\x03\x07")
	d := started(t, store)
	f, err := os.Open(filepath.Join(d.dir, "a.raw"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 2)
	if _, err := f.ReadAt(b, 0); err != nil || string(b) != "\x02\x03" {
		t.Errorf("what divides: %x, %v", b, err)
	}
	if _, err := f.ReadAt(b, 2); !errors.Is(err, unix.EIO) {
		t.Errorf("what does not divide: %x, %v", b, err)
	}
	if log := d.logged(); !strings.Contains(log, "a/c/1") || !strings.Contains(log, "expected a multiple of the scale 3") {
		t.Errorf("the log says %q", log)
	}
}

// TestNoFillValue makes arrays of format 2 without a fill value: xarray would take any for one that marks missing values.
func TestNoFillValue(t *testing.T) {
	for _, format := range []string{"2", "3"} {
		want := map[string]any{"2": nil, "3": 0.0}[format]
		store := formatStore(t, format)
		run(t, zarrfs(t), "create", store, "created", "--shape", "3", "--dtype", "<i2", "--fill-value", "null")
		mnt := mount(t, store, "--create-fill-value", "null")
		header := fmt.Sprintf("\x93NUMPY\x01\x00v\x00%-117s\n", "{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }")
		npy := []byte(header + "\x00\x00\x01\x00\x02\x00")
		shell(t, mnt, "mkdir own; setfattr -n user.zarrfs.create.fill_value -v 5 own; setfattr -n user.zarrfs.create.fill_value -v null g")
		for _, name := range []string{"copied", "g/recipe", "own/five"} {
			if err := os.WriteFile(filepath.Join(mnt, name+".npy"), npy, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		shell(t, mnt, "mkdir to; cp created.json to/created.json")
		for name, want := range map[string]any{"created": want, "to/created": want, "copied": want, "g/recipe": want, "own/five": 5.0} {
			var doc map[string]any
			if err := json.Unmarshal(read(t, filepath.Join(mnt, name+".json")), &doc); err != nil {
				t.Fatal(err)
			}
			if got, ok := doc["fill_value"]; !ok || got != want {
				t.Errorf("format %s, %s: fill value %v, want %v", format, name, got, want)
			}
		}
		if got := read(t, filepath.Join(mnt, "copied.raw")); string(got) != "\x00\x00\x01\x00\x02\x00" {
			t.Errorf("format %s: read as %x", format, got)
		}
	}
}

package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// stored are arrays as other libraries store them, each with a peculiarity of its writer: the
// members that differ from those of a good array of the format, the objects, and the bytes of the
// array.
var stored = []struct {
	writer  string
	format  int
	members string
	objects map[string]string
	raw     string
}{
	// netcdf-c shuffles by the size of the array's elements, whatever the document says.
	{"netcdf-c 4.10", 2, `"dtype": "<i2", "filters": [{"id": "shuffle", "elementsize": 0}]`,
		map[string]string{"0": "\x01\x02\x03\x04\x11\x12\x13\x14"},
		"\x01\x11\x02\x12\x03\x13\x04\x14"},
	{"netcdf-c 4.9", 2, `"dtype": "<i2", "filters": [{"id": "shuffle", "elementsize": "0"}]`,
		map[string]string{"0": "\x01\x02\x03\x04\x11\x12\x13\x14"},
		"\x01\x11\x02\x12\x03\x13\x04\x14"},
	{"netcdf-c 4.9, of 4 bytes", 2, `"dtype": "<i4", "shape": [2], "chunks": [2], "filters": ` +
		`[{"id": "shuffle", "elementsize": "4"}]`,
		map[string]string{"0": "\x01\x11\x02\x12\x03\x13\x04\x14"},
		"\x01\x02\x03\x04\x11\x12\x13\x14"},
	{"numcodecs", 2, `"dtype": "<i4", "shape": [2], "chunks": [2], "filters": ` +
		`[{"id": "shuffle", "elementsize": 2}]`,
		map[string]string{"0": "\x01\x02\x03\x04\x11\x12\x13\x14"},
		"\x01\x11\x02\x12\x03\x13\x04\x14"},
	// GDAL writes no fill value for integers and complex numbers without a nodata value.
	{"GDAL 3.12", 3, `"fill_value": null, "chunk_grid": {"name": "regular", "configuration": ` +
		`{"chunk_shape": [2]}}`,
		map[string]string{"c/1": "ab"}, "\x00\x00ab"},
	{"GDAL 3.12, complex", 3, `"shape": [1], "data_type": "complex64", "fill_value": null, ` +
		`"codecs": [{"name": "bytes", "configuration": {"endian": "big"}}]`,
		nil, "\x00\x00\x00\x00\x00\x00\x00\x00"},
	// zarr-python 3.2.0 and 3.2.1 call a grid regular whose chunk shape mixes numbers and lists.
	{"zarr-python 3.2", 3, `"shape": [4, 3], "chunk_grid": {"name": "regular", "configuration": ` +
		`{"chunk_shape": [2, [1, 2]]}}`,
		map[string]string{"c/0/0": "ae", "c/0/1": "bcfg", "c/1/1": "jkno"}, "abcefg\x07jk\x07no"},
	{"strings without a fill value", 3, `"data_type": "string", "fill_value": null, "codecs": ` +
		`["vlen-utf8"]`, nil, "\"\"\n\"\"\n\"\"\n\"\"\n"},
}

// TestStoredByOthers reads what other libraries store, through a mount.
func TestStoredByOthers(t *testing.T) {
	store := t.TempDir()
	put(t, store, "zarr.json", `{"zarr_format": 3, "node_type": "group"}`)
	for _, c := range stored {
		put(t, store, c.writer+"/"+map[int]string{2: ".zarray", 3: "zarr.json"}[c.format],
			documentOf(c.format, c.members))
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
		if got, err := os.ReadFile(filepath.Join(mnt, c.writer+view)); err != nil ||
			string(got) != c.raw {
			t.Errorf("%s: %q, %v, want %q", c.writer, got, err, c.raw)
		}
	}
}

// TestStoredNumberDoesNotDivide: a number that scale_offset cannot have stored is EIO. The log
// names its chunk, and other chunks are read.
func TestStoredNumberDoesNotDivide(t *testing.T) {
	store := t.TempDir()
	put(t, store, "zarr.json", `{"zarr_format": 3, "node_type": "group"}`)
	put(t, store, "a/zarr.json", documentOf(3, `"chunk_grid": {"name": "regular",
		"configuration": {"chunk_shape": [2]}},
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
	if log := d.logged(); !strings.Contains(log, "a/c/1") ||
		!strings.Contains(log, "expected a multiple of the scale 3") {
		t.Errorf("the log says %q", log)
	}
}

// TestNoFillValue makes arrays of format 2 without a fill value: xarray would take any fill value
// for the mark of missing values.
func TestNoFillValue(t *testing.T) {
	for _, format := range []string{"2", "3"} {
		want := map[string]any{"2": nil, "3": 0.0}[format]
		store := formatStore(t, format)
		run(t, zarrfs(t), "create", store, "created", "--shape", "3", "--dtype", "<i2",
			"--fill-value", "null")
		mnt := mount(t, store, "--create-fill-value", "null")
		npy := npyFile("<i2", "(3,)", "\x00\x00\x01\x00\x02\x00")
		shell(t, mnt, "mkdir own")
		for group, fill := range map[string]string{"own": "5", "g": "null"} {
			err := unix.Setxattr(filepath.Join(mnt, group), "user.zarrfs.create.fill_value",
				[]byte(fill), 0)
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"copied", "g/recipe", "own/five"} {
			if err := os.WriteFile(filepath.Join(mnt, name+".npy"), npy, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		shell(t, mnt, "mkdir to; cp created.json to/created.json")
		for name, want := range map[string]any{
			"created":    want,
			"to/created": want,
			"copied":     want,
			"g/recipe":   want,
			"own/five":   5.0,
		} {
			var doc map[string]any
			if err := json.Unmarshal(read(t, filepath.Join(mnt, name+".json")), &doc); err != nil {
				t.Fatal(err)
			}
			if got, ok := doc["fill_value"]; !ok || got != want {
				t.Errorf("format %s, %s: fill value %v, want %v", format, name, got, want)
			}
		}
		got := read(t, filepath.Join(mnt, "copied.raw"))
		if string(got) != "\x00\x00\x01\x00\x02\x00" {
			t.Errorf("format %s: read as %x", format, got)
		}
	}
}

// npyFile is a .npy file with that type and shape in its header.
func npyFile(descr, shape, data string) []byte {
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	return fmt.Appendf(nil, "\x93NUMPY\x01\x00v\x00%-117s\n%s", dict, data)
}

// narrow are the narrow integers: their codecs, an object whose upper bits are arbitrary and its
// elements, and what is shown and stored after narrowWritten was written.
var narrow = []struct{ name, descr, codecs, object, shown, written, encoded string }{
	{"int4", "|i1", `["bytes"]`, "\x08\xf8\x17\xa0", "\xf8\xf8\x07\x00", "\x04\x07\xf8\xff",
		"\x04\x07\xf8\xff"},
	{"int2", "|i1", `["bytes"]`, "\x02\xfe\x11\xa0", "\xfe\xfe\x01\x00", "\x00\xff\x00\xff",
		"\x00\xff\x00\xff"},
	{"uint4", "|u1", `["bytes"]`, "\x08\xf8\x17\xa0", "\x08\x08\x07\x00", "\x04\x07\x08\x0f",
		"\x04\x07\x08\x0f"},
	{"uint2", "|u1", `["bytes"]`, "\x02\xfe\x11\xa0", "\x02\x02\x01\x00", "\x00\x03\x00\x03",
		"\x00\x03\x00\x03"},
	{"int4", "|i1", `["packbits"]`, "\x78\x0f", "\xf8\x07\xff\x00", "\x04\x07\xf8\xff", "\x74\xf8"},
	{"uint4", "|u1", `["packbits"]`, "\x78\x0f", "\x08\x07\x0f\x00", "\x04\x07\x08\x0f",
		"\x74\xf8"},
	{"int4", "|i1", `[{"name": "sharding_indexed", "configuration": {"chunk_shape": [4], ` +
		`"codecs": ["bytes"], "index_codecs": ["bytes"]}}]`,
		"\x08\xf8\x17\xa0\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00",
		"\xf8\xf8\x07\x00", "\x04\x07\xf8\xff",
		"\x04\x07\xf8\xff\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00"},
}

// narrowWritten are 100, which ml_dtypes casts to the int4 4, 7, 0x08 and -1.
const narrowWritten = "\x64\x07\x08\xff"

// TestNarrowIntegers shows narrow integers as numbers of a byte, and stores the low bits of what is
// written, however they are written.
func TestNarrowIntegers(t *testing.T) {
	store := t.TempDir()
	put(t, store, "zarr.json", `{"zarr_format": 3, "node_type": "group"}`)
	put(t, store, "v2/.zarray", documentOf(2, `"dtype": "int4", "fill_value": -8, "shape": [6]`))
	put(t, store, "v2/0", "\x08\x07\x18\x00")
	for i, c := range narrow {
		put(t, store, fmt.Sprintf("a%d/zarr.json", i), documentOf(3,
			fmt.Sprintf(`"data_type": %q, "fill_value": 1, "codecs": %s`, c.name, c.codecs)))
		put(t, store, fmt.Sprintf("a%d/c/0", i), c.object)
	}
	mnt := mount(t, store)
	if got := read(t, filepath.Join(mnt, "v2.raw")); string(got) != "\xf8\x07\xf8\x00\xf8\xf8" {
		t.Errorf("format 2: %x", got)
	}
	raw := func(path string, data []byte) error { return writeAt(path, data, 0) }
	for i, c := range narrow {
		file := filepath.Join(mnt, fmt.Sprintf("a%d", i))
		got, want := read(t, file+".npy"), npyFile(c.descr, "(4,)", c.shown)
		if !bytes.Equal(got, want) {
			t.Errorf("%s %s: read %q, want %q", c.name, c.codecs, got, want)
		}
		for _, write := range []func() error{
			func() error { return raw(file+".raw", []byte(narrowWritten)) },
			func() error {
				return os.WriteFile(file+".npy", npyFile(c.descr, "(4,)", narrowWritten), 0o666)
			},
			// as ml_dtypes is saved
			func() error {
				return os.WriteFile(file+".npy", npyFile("<V1", "(4,)", narrowWritten), 0o666)
			},
			func() error { return mapAndWrite(file+".raw", narrowWritten) },
		} {
			if err := errors.Join(raw(file+".raw", make([]byte, 4)), write()); err != nil {
				t.Errorf("%s %s: %v", c.name, c.codecs, err)
			}
			for _, view := range []string{".raw", ".npy"} {
				if got := read(t, file+view); !strings.HasSuffix(string(got), c.written) {
					t.Errorf("%s %s: %s has %x, want %x", c.name, c.codecs, view, got, c.written)
				}
			}
			got := read(t, filepath.Join(store, fmt.Sprintf("a%d/c/0", i)))
			if string(got) != c.encoded {
				t.Errorf("%s %s: stored %x, want %x", c.name, c.codecs, got, c.encoded)
			}
			if doc := string(read(t, file+".json")); !strings.Contains(doc, `"`+c.name+`"`) {
				t.Errorf("%s %s: became %s", c.name, c.codecs, doc)
			}
		}
	}
}

// writeAt writes to a file that is there.
func writeAt(path string, data []byte, off int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, off)
	return errors.Join(err, f.Close())
}

// mapAndWrite writes through a mapping of the file.
func mapAndWrite(path, data string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	mapped, err := unix.Mmap(int(f.Fd()), 0, len(data), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED)
	if err == nil {
		copy(mapped, data)
		err = errors.Join(unix.Msync(mapped, unix.MS_SYNC), unix.Munmap(mapped))
	}
	return errors.Join(err, f.Close())
}

// TestOpaqueHeadersKeepTheType copies over arrays of types that NumPy lacks what NumPy saves of
// them: opaque bytes.
func TestOpaqueHeadersKeepTheType(t *testing.T) {
	store := t.TempDir()
	put(t, store, "zarr.json", `{"zarr_format": 3, "node_type": "group"}`)
	for _, c := range []struct{ name, descr, fill, data string }{
		{"bfloat16", "<V2", "0", "\x80\x3f\xc0\x3f"}, {"float8_e4m3", "<V1", "0", "\x38\x3c"},
		{"int2", "<V1", "0", "\x01\xff"},
		{"complex_float16", "<V4", "[0, 0]", "\x00\x3c\x00\x00\x00\x00\x00\x3c"},
	} {
		put(t, store, c.name+"/zarr.json", documentOf(3, fmt.Sprintf(`"data_type": %q,
			"fill_value": %s, "codecs": [{"name": "bytes",
			"configuration": {"endian": "little"}}, "crc32c"], "attributes": {"units": "K"}`,
			c.name, c.fill)))
		mnt := mount(t, store)
		npy, raw := filepath.Join(mnt, c.name+".npy"), filepath.Join(mnt, c.name+".raw")
		for _, write := range []func() error{
			// of another length
			func() error { return os.WriteFile(npy, npyFile(c.descr, "(2,)", c.data), 0o666) },
			func() error { return writeAt(npy, npyFile(c.descr, "(2,)", c.data), 0) },
		} {
			if err := write(); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			if got := read(t, raw); string(got) != c.data {
				t.Errorf("%s: %x", c.name, got)
			}
			doc := string(read(t, filepath.Join(mnt, c.name+".json")))
			for _, kept := range []string{c.name, "crc32c", "units"} {
				if !strings.Contains(doc, kept) {
					t.Errorf("%s: no %s in %s", c.name, kept, doc)
				}
			}
		}
	}
}

// TestEndianRefused: a list of codecs cannot make another type of what is copied in. Nothing is
// left, and the reason can be found.
func TestEndianRefused(t *testing.T) {
	const big = `[{"name": "bytes", "configuration": {"endian": "big"}}, "crc32c"]`
	for _, format := range []string{"2", "3"} {
		store := filepath.Join(t.TempDir(), "s.zarr")
		run(t, zarrfs(t), "create", store, "--group", "--format", format)
		out, err := command(zarrfs(t), "create", store, "a", "--shape", "2", "--dtype", "<i2",
			"--codecs", big)
		if err == nil || !strings.Contains(string(out), `expected an endian of "little"`) {
			t.Errorf("format %s: zarrfs create: %v, %s", format, err, out)
		}
		d := started(t, store, "--create-codecs", big)
		npy := npyFile("<i2", "(2,)", "abcd")
		if err := os.WriteFile(d.path("a.npy"), npy, 0o666); !errors.Is(err, unix.EINVAL) {
			t.Errorf("format %s: %v", format, err)
		}
		if log := d.logged(); !strings.Contains(log, "endian of") ||
			exists(filepath.Join(store, "a")) {
			t.Errorf("format %s: the log says %q", format, log)
		}
		if format == "2" {
			continue // format 2 has no crc32c under that name
		}
		if err := os.WriteFile(d.path("b.npy"), npyFile(">i2", "(2,)", "abcd"), 0o666); err != nil {
			t.Errorf("big-endian numbers: %v", err)
		}
		if got := read(t, d.path("b.raw")); string(got) != "abcd" {
			t.Errorf("big-endian numbers: %q", got)
		}
	}
}

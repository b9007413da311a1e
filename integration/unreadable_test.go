package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// unreadable are arrays that nobody can read here: the members that differ from those of a good
// array of that format, and what the error must name. They are malformed if the error is EIO,
// otherwise not supported.
var unreadable = []struct {
	format  int
	members string
	names   string
	want    unix.Errno
}{
	// codecs
	{2, `"compressor": {"id": "zfpy", "mode": 4}`, "numcodecs.zfpy", unix.EOPNOTSUPP},
	{2, `"compressor": {"id": "pcodec"}`, "numcodecs.pcodec", unix.EOPNOTSUPP},
	{2, `"compressor": {"id": "imagecodecs_jpegxl"}`, "numcodecs.imagecodecs_jpegxl",
		unix.EOPNOTSUPP},
	{2, `"compressor": {"id": "imagecodecs_tiff"}`, "numcodecs.imagecodecs_tiff", unix.EOPNOTSUPP},
	{2, `"filters": [{"id": "mystery"}]`, "numcodecs.mystery", unix.EOPNOTSUPP},
	{2, `"filters": [{"id": "pickle", "protocol": 5}]`, "numcodecs.pickle", unix.EOPNOTSUPP},
	{2, `"dtype": "|O", "filters": [{"id": "pickle", "protocol": 5}], "fill_value": null`,
		"numcodecs.pickle", unix.EOPNOTSUPP},
	{2, `"dtype": "|O", "filters": [{"id": "msgpack2"}], "fill_value": null`, "numcodecs.msgpack2",
		unix.EOPNOTSUPP},
	{2, `"dtype": "|O", "filters": [{"id": "msgpack"}], "fill_value": null`, "numcodecs.msgpack",
		unix.EOPNOTSUPP},
	{3, `"codecs": ["numcodecs.zfpy"]`, "numcodecs.zfpy", unix.EOPNOTSUPP},
	{3, `"codecs": [{"name": "zfp", "configuration": {"mode": "reversible"}}]`, `"zfp"`,
		unix.EOPNOTSUPP},
	{3, `"codecs": ["numcodecs.pcodec"]`, "numcodecs.pcodec", unix.EOPNOTSUPP},
	{3, `"codecs": ["bytes", "zarrs.gdeflate"]`, "zarrs.gdeflate", unix.EOPNOTSUPP},
	{3, `"codecs": ["bytes", {"name": "conditional", "configuration": {"codecs": ["gzip"]}}]`,
		"conditional", unix.EOPNOTSUPP},
	{3, `"codecs": [{"name": "n5_default", "configuration": {"codecs": ["bytes"]}}]`, "n5_default",
		unix.EOPNOTSUPP},
	{3, `"codecs": ["bytes", "mystery"]`, "mystery", unix.EOPNOTSUPP},
	{3, `"codecs": [{"name": "sharding_indexed", "configuration": {"chunk_shape": [2], "codecs": ` +
		`["zfp"], "index_codecs": ["bytes"]}}]`,
		`"zfp"`, unix.EOPNOTSUPP},
	{3, `"data_type": "string", "fill_value": "", "codecs": ["zarrs.vlen"]`, "zarrs.vlen",
		unix.EOPNOTSUPP},
	{3, `"data_type": "string", "fill_value": "", "codecs": ["zarrs.vlen_v2"]`, "zarrs.vlen_v2",
		unix.EOPNOTSUPP},
	{3, `"codecs": ["vlen-utf8"]`, "vlen-utf8", unix.EOPNOTSUPP},
	{3, `"codecs": ["gzip"]`, "gzip", unix.EIO},
	{3, `"codecs": []`, "array->bytes", unix.EIO},
	{3, `"codecs": [{"name": "transpose", "configuration": {"order": [1]}}, "bytes"]`,
		"transpose", unix.EIO},
	{3, `"codecs": [{"name": "sharding_indexed", "configuration": {"chunk_shape": [3], "codecs": ` +
		`["bytes"], "index_codecs": ["bytes"]}}]`,
		"chunk_shape", unix.EIO},
	// types and fill values
	{2, `"dtype": "<f3"`, "f3", unix.EOPNOTSUPP},
	{2, `"dtype": "|S0"`, "S0", unix.EOPNOTSUPP},
	{2, `"dtype": [["a", "|O"]]`, "dtype", unix.EOPNOTSUPP},
	{2, `"dtype": "<m8[5generic]"`, "m8[5generic]", unix.EOPNOTSUPP},
	{3, `"data_type": {"name": "numpy.timedelta64", "configuration": {"unit": "generic", ` +
		`"scale_factor": 5}}`, "5 generic", unix.EOPNOTSUPP},
	{2, `"fill_value": "no number"`, "fill_value", unix.EIO},
	{3, `"data_type": "int24"`, "int24", unix.EOPNOTSUPP},
	{3, `"data_type": {"name": "zarrs.optional", "configuration": {"name": "int8"}}`,
		"zarrs.optional", unix.EOPNOTSUPP},
	{3, `"fill_value": 256`, "fill_value", unix.EIO},
	{3, `"fill_value": [null]`, "fill_value", unix.EIO},
	// grids, keys and the rest
	{3, `"chunk_grid": {"name": "hexagonal"}`, "hexagonal", unix.EOPNOTSUPP},
	{3, `"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [0]}}`,
		"chunk_shape", unix.EIO},
	{3, `"chunk_key_encoding": {"name": "fanout", "configuration": {"max_children": 100}}`,
		"fanout", unix.EOPNOTSUPP},
	{3, `"chunk_key_encoding": {"name": "v2", "configuration": {"separator": "-"}}`,
		"separator", unix.EIO},
	{3, `"storage_transformers": [{"name": "indirect"}]`, "storage_transformers", unix.EOPNOTSUPP},
	{3, `"strange": 1`, "strange", unix.EOPNOTSUPP},
	{3, `"chunk_memory_layout": "C"`, "draft", unix.EOPNOTSUPP},
	{3, `"zarr_format": 4`, "zarr_format", unix.EOPNOTSUPP},
	{2, `"shape": [-1]`, "shape", unix.EIO},
	{2, `"chunks": [0]`, "chunks", unix.EIO},
	{2, `"order": "K"`, "order", unix.EIO},
	{2, `"compressor": "zlib"`, "compressor", unix.EIO},
	{2, `"dimension_separator": "-"`, "dimension_separator", unix.EIO},
	{2, `"shape": [4`, "expected", unix.EIO},
}

// goodArrays are documents by format, with the members of unreadable in the place of their own.
var goodArrays = map[int][]string{
	2: {`"zarr_format": 2`, `"shape": [4]`, `"chunks": [4]`, `"dtype": "|u1"`, `"fill_value": 7`,
		`"order": "C"`, `"compressor": null`, `"filters": null`},
	3: {`"zarr_format": 3`, `"node_type": "array"`, `"shape": [4]`, `"data_type": "uint8"`,
		`"fill_value": 7`, `"codecs": ["bytes"]`,
		`"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}}`,
		`"chunk_key_encoding": {"name": "default"}`},
}

// documentOf is a good array's document with members in the place of those of the same names.
func documentOf(format int, members string) string {
	all := []string{members}
	for _, m := range goodArrays[format] {
		if name, _, _ := strings.Cut(m, ":"); !strings.Contains(members, name+":") {
			all = append(all, m)
		}
	}
	return "{" + strings.TrimPrefix(strings.Join(all, ", "), ", ") + "}"
}

// TestMountedUnreadable: each array that cannot be read says why by name, is listed and shows its
// document, and all others work.
func TestMountedUnreadable(t *testing.T) {
	store := t.TempDir()
	put := func(format int, name, document string) {
		t.Helper()
		key := map[int]string{2: ".zarray", 3: "zarr.json"}[format]
		err := os.MkdirAll(filepath.Join(store, name), 0o777)
		if err == nil {
			err = os.WriteFile(filepath.Join(store, name, key), []byte(document), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range unreadable {
		put(c.format, fmt.Sprintf("bad%02d", i), documentOf(c.format, c.members))
	}
	put(3, ".", `{"zarr_format": 3, "node_type": "group"}`)
	put(2, "good2", documentOf(2, ""))
	put(3, "good3", documentOf(3, ""))
	dir := mount(t, store)
	if names, err := os.ReadDir(dir); err != nil ||
		len(names) < 3*(len(unreadable)+2)-len(unreadable) {
		t.Errorf("%d files, %v", len(names), err)
	}
	for i, c := range unreadable {
		name := fmt.Sprintf("bad%02d", i)
		for _, view := range []string{".npy", ".raw"} {
			if _, err := os.ReadFile(filepath.Join(dir, name+view)); !errors.Is(err, c.want) &&
				!errors.Is(err, unix.ENOENT) {
				t.Errorf("%s: reading %s: %v, expected %v", c.members, view, err, c.want)
			}
		}
		if doc, err := os.ReadFile(filepath.Join(dir, name+".json")); err != nil || len(doc) == 0 {
			t.Errorf("%s: .json: %d bytes, %v", c.members, len(doc), err)
		}
		why := make([]byte, 4096)
		n, err := unix.Getxattr(filepath.Join(dir, name+".json"), "user.zarrfs.error", why)
		if err != nil || !strings.Contains(string(why[:n]), c.names) ||
			!strings.Contains(string(why[:n]), name) {
			t.Errorf("%s: the reason is %q, %v; expected it to name %s and %s",
				c.members, why[:max(n, 0)], err, c.names, name)
		}
	}
	for _, name := range []string{"good2.raw", "good3.raw"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil ||
			string(data) != "\x07\x07\x07\x07" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}

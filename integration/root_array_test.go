package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rootArrays are the documents of an array of ten bytes, in each format.
var rootArrays = map[string]string{
	".zarray": `{"zarr_format": 2, "shape": [10], "chunks": [4], "dtype": "|u1", "fill_value": 0,
		"order": "C", "filters": null, "compressor": null}`,
	"zarr.json": `{"zarr_format": 3, "node_type": "array", "shape": [10], "data_type": "uint8",
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
		"chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": ["bytes"]}`,
}

// TestRootArrayIsWritten: the array that is a store's root is written, appended to, truncated and
// edited like any other. All of it is in the next mount.
func TestRootArrayIsWritten(t *testing.T) {
	for name, text := range rootArrays {
		t.Run(name, func(t *testing.T) {
			store := filepath.Join(t.TempDir(), "a.zarr")
			put(t, store, name, text)
			d := started(t, store)
			for _, script := range []string{
				`printf 0123456789 > a.raw`,
				`printf x | dd of=a.raw bs=1 seek=3 conv=notrunc`,
				`printf abcdef >> a.raw`,
				`truncate -s 15 a.raw`,
				`cp a.npy $TMP/n.npy; rm a.npy; cp $TMP/n.npy a.npy`,
				`sed '1s/{/{"attributes": {"units": "K"}, /' a.json > $TMP/n; mv $TMP/n a.json`,
			} {
				cmd := limited(t, "sh", "-ec", script)
				cmd.Dir, cmd.Env = d.dir, append(os.Environ(), "TMP="+t.TempDir())
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s: %v\n%s", script, err, out)
				}
			}
			if err := d.stop(); err != nil {
				t.Error(err)
			}
			if err := d.start(); err != nil {
				t.Fatal(err)
			}
			if got := string(read(t, d.path("a.raw"))); got != "012x456789abcde" {
				t.Errorf("the array has %q", got)
			}
			if text := string(read(t, d.path("a.json"))); !strings.Contains(text, `"K"`) {
				t.Errorf("the document has no units: %s", text)
			}
			if err := d.stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

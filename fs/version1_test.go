package fs

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// TestVersion1IsReadOnly: an array of Zarr format 1 is read, and no file of it can be written.
func TestVersion1IsReadOnly(t *testing.T) {
	s := store.New(memstore.New(), "test")
	for key, text := range map[string]string{
		"zarr.json": groupDoc,
		"a/meta": `{"zarr_format": 1, "shape": [4], "chunks": [4], "dtype": "|u1",
			"compression": null, "compression_opts": null, "fill_value": 0, "order": "C"}`,
		"a/attrs": "{}",
		"a/0":     "data",
	} {
		if err := s.Put(t.Context(), key, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	dir := mounted(t, s)
	if text, err := os.ReadFile(filepath.Join(dir, "a.raw")); err != nil || string(text) != "data" {
		t.Errorf("a.raw has %q, %v", text, err)
	}
	for _, name := range []string{"a.raw", "a.npy", "a.json"} {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString("x")
			err = errors.Join(err, f.Close())
		}
		if !errors.Is(err, syscall.EOPNOTSUPP) {
			t.Errorf("%s: %v, expected EOPNOTSUPP", name, err)
		}
	}
}

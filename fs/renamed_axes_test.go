package fs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// TestRenamedAxes: parts and headers follow attributes and names of axes that are changed while the
// mount goes on, by the mount and by other programs. So does the folder of an image of OME-Zarr.
func TestRenamedAxes(t *testing.T) {
	s := store.New(memstore.New(), "test")
	put := func(key, text string) {
		t.Helper()
		if err := s.Put(t.Context(), key, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	array := func(axes, attributes string) string {
		return fmt.Sprintf(`{"zarr_format": 3, "node_type": "array", "shape": [2, 2],
			"data_type": "uint8", "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
			"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 2]}},
			"codecs": [{"name": "bytes"}], "dimension_names": %s, "attributes": %s}`, axes,
			attributes)
	}
	image := func(first, second string) string {
		return fmt.Sprintf(`{"zarr_format": 3, "node_type": "group", "attributes": {"multiscales":
			[{"axes": [{"name": "%s"}, {"name": "%s"}], "datasets": [{"path": "0"}]}]}}`, first,
			second)
	}
	put("zarr.json", groupDoc)
	put("a/zarr.json", array(`["y", "x"]`, `{"units": "m", "scale_factor": 2}`))
	put("a/c/0/0", "\x01\x02\x03\x04")
	put("img/zarr.json", image("c", "z"))
	put("img/0/zarr.json", array(`null`, "{}"))
	put("img/0/c/0/0", "abcd")
	dir := mounted(t, s)
	at := func(name string) string { return filepath.Join(dir, name) }
	expect := func(when, name, want string) {
		t.Helper()
		text, err := os.ReadFile(at(name))
		if err != nil || !bytes.Contains(text, []byte(want)) ||
			strings.HasSuffix(name, ".raw") && string(text) != want {
			t.Errorf("%s: %s has %q, %v, expected %q", when, name, text, err, want)
		}
		if info, err := os.Stat(at(name)); err != nil || info.Size() != int64(len(text)) {
			t.Errorf("%s: %s has %d bytes, but stat says %+v, %v", when, name, len(text), info, err)
		}
	}
	expect("at first", "a@{y=1}.raw", "\x03\x04")
	expect("at first", "a@{y=0,x=0,scale}.raw", "\x00\x00\x00\x00\x00\x00\x00\x40") // 2
	expect("at first", "a.nrrd", "sample units: m\n")
	expect("at first", "img/0@{c=1}.raw", "cd")
	for name, value := range map[string]string{"user.zarr.dimension_names": `["x", "y"]`,
		"user.zarr.attr.units": `"K"`, "user.zarr.attr.scale_factor": "4"} {
		if err := unix.Setxattr(at("a.raw"), name, []byte(value), 0); err != nil {
			t.Fatal(err)
		}
	}
	expect("after setfattr", "a@{y=1}.raw", "\x02\x04")
	expect("after setfattr", "a@{y=0,x=0,scale}.raw", "\x00\x00\x00\x00\x00\x00\x10\x40") // 4
	expect("after setfattr", "a.nrrd", "sample units: K\n")
	put("a/zarr.json", array(`["v", "w"]`, `{"units": "kg"}`))
	put("img/zarr.json", image("z", "c"))
	time.Sleep(1100 * time.Millisecond) // what others change is seen within a second
	expect("after another program", "a@{w=1}.raw", "\x02\x04")
	expect("after another program", "a.nrrd", "sample units: kg\n")
	expect("after another program", "img/0@{c=1}.raw", "bd")
	if _, err := os.Stat(at("a@{y=1}.raw")); !os.IsNotExist(err) {
		t.Errorf("a name that no axis has any more: %v", err)
	}
}

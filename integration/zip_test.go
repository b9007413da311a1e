package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// packers write zip files of a store in a folder, by the programs that people use.
var packers = []struct {
	name  string
	needs string    // a program, otherwise "sh"
	peer  [2]string // a Python
	run   string    // by sh; $0 is the peer, $1 the folder, $2 the zip file
}{
	{"Info-ZIP, what is in the folder", "zip", none, "cd $1 && zip -q -0 -r $2 ."},
	{"Info-ZIP, the folder", "zip", none, "cd $1/.. && zip -q -r $2 s.zarr"},
	// with data descriptors
	{"Info-ZIP, by a pipe", "zip", none, "cd $1 && zip -q -r - . | cat > $2"},
	{"Python's zipfile", "python3", none, "python3 -m zipfile -c $2 $1"},
	{"Java", "jar", none, "jar cMf $2 -C $1 ."},
	{"7-Zip", "7z", none, "7z a -bd -tzip $2 $1 > /dev/null"},
	{"zarr-python 2", "sh", [2]string{"ZARRFS_PY2", ".venv-v2"}, packByZarr},
	{"zarr-python 3", "sh", [2]string{"ZARRFS_PY3", ".venv-v3"}, packByZarr},
	{"the newest zarr-python", "sh", [2]string{"ZARRFS_PY_NEWEST", ".venv-newest"}, packByZarr},
}

var none [2]string

const packByZarr = "$0 interop/pack_zip.py $1 $2"

// TestZipIsReadAsFolder: the mount of a zip file has the same files with the same bytes as that of
// the folder that was packed.
func TestZipIsReadAsFolder(t *testing.T) {
	store, want := treeInFolder(t)
	for _, p := range packers {
		t.Run(p.name, func(t *testing.T) {
			need(t, p.needs)
			zip := filepath.Join(t.TempDir(), "s.zarr.zip")
			py := "sh"
			if p.peer != none {
				py = python(t, p.peer[0], p.peer[1])
			}
			run(t, "sh", "-c", p.run, py, store, zip)
			sameTree(t, mountedTree(t, zip), want)
		})
	}
}

// TestZipReplacedWhileMounted: a mount shows the new zip file soon. While the zip file is missing,
// each read is an error that says so, and never the fill value.
func TestZipReplacedWhileMounted(t *testing.T) {
	need(t, "zip")
	store, dir := treeStore(t), t.TempDir()
	zip, other := filepath.Join(dir, "s.zip"), filepath.Join(dir, "other.zip")
	pack := func(to string) { run(t, "sh", "-c", "cd "+store+" && zip -q -r "+to+" .") }
	pack(zip)
	d := started(t, zip)
	before := read(t, d.path("g/b.raw"))
	if err := os.Rename(zip, other); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(d.path("g/sub/c.raw")); err == nil {
		t.Error("an array is read without its zip file")
	}
	const why = "it was removed or renamed"
	if errs := string(read(t, d.path(".zarrfs/status.json"))); !strings.Contains(errs, why) {
		t.Errorf("status.json does not say %q: %s", why, errs)
	}
	run(t, zarrfs(t), "create", store, "g/new", "--shape", "2", "--dtype", "int8")
	pack(zip)
	deadline := time.Now().Add(10 * time.Second)
	for _, err := os.Stat(d.path("g/new.npy")); err != nil; _, err = os.Stat(d.path("g/new.npy")) {
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if after := read(t, d.path("g/b.raw")); string(after) != string(before) {
		t.Error("an array has changed that is the same in the new zip file")
	}
	if err := d.stop(); err != nil {
		t.Error(err)
	}
}

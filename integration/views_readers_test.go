package integration

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// readViews are the views that other programs open in TestReadersOfVolumes.
var readViews = []string{"npy", "nrrd", "nhdr", "nii", "mha", "mhd", "mrc", "fits", "vtkhdf",
	"raw.hdr", "tif", "ome.tif"}

// TestReadersOfVolumes: common programs open the files of derived views, and find the values that
// zarr-python reads. Of some arrays they find the names, units and places that were stored.
func TestReadersOfVolumes(t *testing.T) {
	interpreter := viewsPython(t)
	stores := t.TempDir()
	runPython(t, interpreter, "interop/view_stores.py", stores)
	for _, name := range readViews {
		t.Run(name, func(t *testing.T) {
			// GDAL looks for listed files only, and a.nhdr is there only if it is listed.
			dir := mount(t, stores, "--views", "json,npy,raw,"+name)
			t.Log(runPython(t, interpreter, "interop/view_readers.py", stores, dir, name))
		})
	}
}

// TestReadersOfParts: common programs open files of parts of arrays, such as an image for VTK of an
// array of four axes.
func TestReadersOfParts(t *testing.T) {
	interpreter, stores := viewsPython(t), t.TempDir()
	runPython(t, interpreter, "interop/view_stores.py", stores)
	t.Log(runPython(t, interpreter, "interop/view_parts.py", stores, mount(t, stores)))
}

// TestPackedNIfTI: a program opens a packed array as .nii and finds the values that CF says, or it
// cannot open the file.
func TestPackedNIfTI(t *testing.T) {
	interpreter, store := viewsPython(t), filepath.Join(t.TempDir(), "packed.zarr")
	runPython(t, interpreter, "interop/view_packed.py", "make", store)
	dir := mount(t, store, "--views", "json,npy,raw,nii")
	if got := runPython(t, interpreter, "interop/view_packed.py", "read", dir); got != "8 files\n" {
		t.Errorf("read: %s", got)
	}
}

// runPython runs a script and returns what it prints.
func runPython(t *testing.T, interpreter string, args ...string) string {
	t.Helper()
	var errs strings.Builder
	cmd := exec.Command(interpreter, args...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v: %v\n%s%s", args, err, out, errs.String())
	}
	return string(out)
}

// TestWritersOfVolumes: what programs write to derived views in place arrives in the store.
// Programs cannot save another file under such a name, but they can under a free name.
func TestWritersOfVolumes(t *testing.T) {
	interpreter := viewsPython(t)
	stores := t.TempDir()
	runPython(t, interpreter, "interop/view_stores.py", stores)
	dir := mount(t, stores, "--views", "json,npy,raw,nhdr")
	t.Log(runPython(t, interpreter, "interop/view_writers.py", stores, dir))
}

package integration

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestGroupFilesForMATLAB: libmatio, mat73 and h5py read of a group's .mat what zarr-python reads
// of the store: classes, axes, logical values, complex numbers, texts and structures.
// Structured types are left out, and named.
func TestGroupFilesForMATLAB(t *testing.T) {
	needTools(t, map[string]string{"matdump": "matio-tools"})
	for name, arrays := range map[string]int{
		"climate": 13, "pyramid": 10, "annotated": 15, "raster": 5, "types": 33,
	} {
		for _, s := range groupStores(t, name) {
			compared := compareBy(t, "interop/mat_files.py", s.store, s.file(".mat"))
			for _, reader := range []string{"Libmatio", "Mat73", "H5py"} {
				if n := compared[reader]; n != arrays {
					t.Errorf("%s: %s has compared %d arrays, not %d", s.name, reader, n, arrays)
				}
			}
			said, err := exec.Command(zarrfs(t), "cat", "--view", "mat", s.store).CombinedOutput()
			if isWhole := name != "types"; isWhole != (err == nil) ||
				isWhole == bytes.Contains(said, []byte(`"pair" is left out`)) {
				t.Errorf("%s: zarrfs cat: %v", s.name, err)
			}
		}
	}
}

// TestMATLABFilesAreWritten: elements that are written through a .mat arrive in the store, and its
// structure stays, the user block included. A node whose name MATLAB cannot have gets another one.
func TestMATLABFilesAreWritten(t *testing.T) {
	dir := createdArrays(t, "7", "x7", "a b")
	python := `import h5py, sys
f = h5py.File(sys.argv[1], "r+")
print(f["x7_1"].attrs["zarr_name"], sorted(f))
f["x7_1"][1, 2] = 99
f.close()`
	path := filepath.Join(dir, "g.mat")
	text, err := command(viewsPython(t), "-c", python, path)
	want := "7 ['a_b', 'x7', 'x7_1']"
	if got := strings.TrimSpace(string(text)); err != nil || got != want {
		t.Fatalf("%v: %s, expected %s", err, got, want)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "g", "7.raw"))
	if err != nil || raw[502] != 99 || bytes.Count(raw, []byte{1}) != 1999 {
		t.Errorf("written through the .mat: %v, %d", err, raw[502])
	}
	open, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer open.Close()
	if _, err := open.WriteAt([]byte("MATLAB 5"), 0); !errors.Is(err, syscall.EPERM) {
		t.Errorf("another user block: %v", err)
	}
}

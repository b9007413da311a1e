package integration

import (
	"os/exec"
	"strings"
	"testing"
)

// readViews are the derived views that programs of others open in TestReadersOfVolumes.
var readViews = []string{"nrrd", "nhdr"}

// TestReadersOfVolumes: the programs that people use open the files of derived views, and find the
// values, names, units and places that zarr-python reads.
func TestReadersOfVolumes(t *testing.T) {
	interpreter := viewsPython(t)
	stores := t.TempDir()
	runPython(t, interpreter, "interop/view_stores.py", stores)
	dir := mount(t, stores)
	for _, name := range readViews {
		t.Run(name, func(t *testing.T) {
			t.Log(runPython(t, interpreter, "interop/view_readers.py", stores, dir, name))
		})
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

package integration

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/fs/view"
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
	readings, views := make(map[string]int), 0
	for _, name := range readViews {
		t.Run(name, func(t *testing.T) {
			// GDAL looks for listed files only, and a.nhdr is there only if it is listed.
			dir := mount(t, stores, "--views", "json,npy,raw,"+name)
			found := runPython(t, interpreter, "interop/view_readers.py", stores, dir, name)
			t.Log(found)
			views++
			for _, m := range readingsLine.FindAllStringSubmatch(found, -1) {
				n, _ := strconv.Atoi(m[3])
				readings[m[1]+" "+m[2]] += n
			}
		})
	}
	if views == len(readViews) { // all of them, not those of one -run
		comparePageReadings(t, readings)
	}
}

// TestEveryHeaderHasReaders: other programs open the files of each view that shows the bytes of an
// array behind, or beside, a header. Pictures and pages have tests of their own.
func TestEveryHeaderHasReaders(t *testing.T) {
	for _, v := range view.All() {
		isLooking := v.Name() == "png" || v.Name() == "html"
		if !view.IsDerived(v) || view.IsComposite(v) || isLooking {
			continue
		}
		if !slices.Contains(readViews, v.Name()) {
			t.Errorf("readViews, in view_readers.py too, has no .%s", v.Name())
		}
		if headerWriters[v.Name()] == nil {
			t.Errorf("headerWriters, and view_headers.py, have no .%s", v.Name())
		}
	}
}

// readingsLine is what view_readers.py prints of a program: its name, version and how many arrays
// it has read.
var readingsLine = regexp.MustCompile(`(?m)^\S+ (\S+) (\S+) (\d+) arrays, 0 different$`)

// readingsRow is a row of the table of programs in docs/FORMATS.md.
var readingsRow = regexp.MustCompile(
	`(?m)^\| ([\w-]+)(?:'s readers)? \| (\S+) \| .*\| (\d+) \| 0 \|$`)

// comparePageReadings compares how many arrays each program has read with docs/FORMATS.md.
func comparePageReadings(t *testing.T, readings map[string]int) {
	t.Helper()
	page := make(map[string]int)
	for _, m := range readingsRow.FindAllStringSubmatch(readPage(t, "docs/FORMATS.md"), -1) {
		program := strings.ReplaceAll(strings.ToLower(m[1]), "-", "")
		page[program+" "+m[2]], _ = strconv.Atoi(m[3])
	}
	for program, n := range page {
		name, _, _ := strings.Cut(program, " ")
		isInJava := name == "imagej" || name == "bioformats"
		if found, ok := readings[program]; found != n && (ok || !isInJava) {
			t.Errorf("docs/FORMATS.md has %d readings of %s, found %d", n, program, found)
		}
	}
	for program := range readings {
		if page[program] == 0 {
			t.Errorf("docs/FORMATS.md has no readings of %s", program)
		}
	}
}

// TestReadersOfLargeFiles: common programs find the end of files of more than 4 GiB, and the shape
// of their arrays.
func TestReadersOfLargeFiles(t *testing.T) {
	interpreter, store := viewsPython(t), filepath.Join(t.TempDir(), "large.zarr")
	runPython(t, interpreter, "interop/view_large.py", "make", store)
	t.Log(runPython(t, interpreter, "interop/view_large.py", "read", store, mount(t, store)))
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

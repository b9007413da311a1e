package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// otherReader is a library that reads what a mount has stored; see interop/read_stored.py.
type otherReader struct {
	library string
	least   int  // how many arrays of a store it must read; the others it refuses
	noZstd2 bool // it does not read arrays of format 2 as a mount compresses them by default
	plain   bool // it opens only stores of format 2 with nothing but integers and floats
}

// othersRead makes arrays through mounts of stores of both formats, by np.save, cp, mappings and
// appending. It compares what the libraries of an interpreter read from the stores.
func othersRead(t *testing.T, python string, libraries []otherReader) {
	var sum tally
	for _, format := range []string{"2", "3"} {
		for _, recipe := range [][]string{
			nil, {"--create-chunks", "rows", "--create-codecs", "blosc:lz4:5:shuffle"},
		} {
			for _, plain := range []bool{false, true} {
				fillAndRead(t, python, format, recipe, libraries, plain, &sum)
			}
		}
	}
	fmt.Printf("%s: readings compared: %d, different: %d\n", t.Name(), sum.compared, sum.different)
}

// fillAndRead fills one store and adds to sum how many arrays were read from it.
func fillAndRead(
	t *testing.T, python, format string, recipe []string, libraries []otherReader,
	plain bool, sum *tally,
) {
	t.Helper()
	base := t.TempDir()
	store, expected := filepath.Join(base, "s.zarr"), filepath.Join(base, "expected")
	var filled bool
	for _, l := range libraries {
		if l.plain != plain || plain && format == "3" ||
			l.noZstd2 && format == "2" && recipe == nil {
			continue
		}
		if !filled {
			fillStore(t, python, store, expected, format, recipe, plain)
			filled = true
		}
		sum.add(readStored(t, python, l, store, expected,
			fmt.Sprintf("format %s, %v: %s", format, recipe, l.library)))
	}
}

// readStored returns how many arrays of a store a library has read, and how many of these differ.
func readStored(
	t *testing.T, python string, l otherReader, store, expected, about string,
) (read, different int) {
	t.Helper()
	out, err := command(python, "interop/read_stored.py", l.library, store, expected)
	found := readSummary.FindSubmatch(out)
	if err != nil || found == nil {
		t.Errorf("%s: %v\n%s", about, err, out)
	}
	if found == nil {
		return 0, 0
	}
	read, _ = strconv.Atoi(string(found[1]))
	different, _ = strconv.Atoi(string(found[2]))
	if read < l.least {
		t.Errorf("%s read %d arrays, expected %d or more\n%s", about, read, l.least, out)
	}
	t.Logf("%s: %s", about, found[0])
	return read, different
}

var readSummary = regexp.MustCompile(`readings: (\d+), different: (\d+), refused: \d+`)

func fillStore(t *testing.T, python, store, expected, format string, recipe []string, plain bool) {
	t.Helper()
	run(t, zarrfs(t), "create", store, "--group", "--format", format)
	d := started(t, store, recipe...)
	args := []string{"interop/fill_mount.py", d.dir, expected, format}
	if plain {
		args = append(args, "plain")
	}
	t.Log(strings.TrimSpace(run(t, python, args...)))
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
}

// TestOthersRead compares what zarr-python 3.1 with and without zarrs, and tensorstore read of what
// mounts have stored.
func TestOthersRead(t *testing.T) {
	othersRead(t, python(t, "ZARRFS_PY3", ".venv-v3"), []otherReader{
		{library: "zarr", least: 109}, {library: "zarrs", least: 84},
		{library: "tensorstore", least: 60},
	})
}

// TestOthersReadNewest is TestOthersRead for the newest zarr-python 3, which reads all of them, by
// each of its two pipelines.
func TestOthersReadNewest(t *testing.T) {
	othersRead(t, newestPython(t),
		[]otherReader{{library: "zarr", least: 114}, {library: "zarr_fused", least: 114}})
}

// TestOthersReadAll is TestOthersRead for xarray, dask, GDAL, netcdf-c, zarrita, the zarrs crate
// and zarr-java; `make interop-all` runs it. ZARRFS_PY_ALL names a Python with the packages of
// interop/requirements-all.txt.
func TestOthersReadAll(t *testing.T) {
	libraries := []otherReader{
		{library: "xarray", least: 111}, {library: "dask", least: 114},
		{library: "gdal", least: 45}, {library: "netcdf", least: 18, plain: true},
	}
	all := allPython(t)
	for _, program := range []struct {
		reader      otherReader
		file, needs string
	}{
		{otherReader{library: "zarrita", least: 43},
			filepath.Join(filepath.Dir(all), "..", "zarrita", "zarrita.mjs"), "node and npm"},
		{otherReader{library: "zarrs_crate", least: 70},
			"interop/zarrs-crate/target/release/zarrs-interop", "cargo"},
		{otherReader{library: "zarr_java", least: 25, noZstd2: true},
			"interop/zarr-java/target/classes/Interop.class", "javac and mvn"},
	} {
		if exists(program.file) {
			libraries = append(libraries, program.reader)
		} else {
			t.Logf("SKIPPED: %s, which needs %s", program.reader.library, program.needs)
		}
	}
	othersRead(t, all, libraries)
}

// TestInteropAll is TestInterop for the libraries above the Zarr ones: xarray, dask, anndata,
// ome-zarr, acquire-zarr, netcdf-c, GDAL; and zarrita, the zarrs crate and zarr-java where the
// machine can run them.
func TestInteropAll(t *testing.T) {
	all := allPython(t)
	out := storesDir(t)
	if !exists(filepath.Join(out, "all.done")) {
		generate(t, all, "interop/make_stores.py", "--writer", "others", out)
		markDone(t, out, "all.done")
	}
	compareAll(t, all, out, regexp.MustCompile(`^others-`))
}

// allPython finds the interpreter of `make interop-all`, or skips the test.
func allPython(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("ZARRFS_PY_ALL"); path != "" && exists(path) {
		return path
	}
	t.Skip("SKIPPED: make interop-all runs this")
	return ""
}

package integration

import (
	"path/filepath"
	"strings"
	"testing"
)

// createdDates prints where an array's fill value differs from that of a new array of zarr-python,
// and where its elements are not NaT.
const createdDates = `
import json, pathlib, sys
import numpy, zarr
store = pathlib.Path(sys.argv[1])
other = pathlib.Path(sys.argv[2])
for path in sorted(p for p in store.iterdir() if p.is_dir()):
    array = zarr.open_array(path, mode="r")
    form = array.metadata.zarr_format
    new = {"shape": array.shape, "dtype": array.dtype, "zarr_format": form}
    zarr.create_array(other / path.name, **new)
    name = ".zarray" if form == 2 else "zarr.json"
    documents = [json.loads((p / name).read_text()) for p in (path, other / path.name)]
    ours, theirs = (d["fill_value"] for d in documents)
    if ours != theirs:
        print(path.name, "has the fill value", ours, "and not", theirs)
    if array.shape != (3,) or not numpy.isnat(array[:]).all():
        print(path.name, "is", array[:])
    print("seen", path.name)
`

// TestCreatedDatesAreNaT: new dates and durations have the fill value that zarr-python chooses.
// Both versions read it. Copied dates keep bytes of zero.
func TestCreatedDatesAreNaT(t *testing.T) {
	for _, format := range []string{"2", "3"} {
		store := filepath.Join(t.TempDir(), "s.zarr")
		for name, dtype := range map[string]string{
			"a": "M8[ns]", "b": "timedelta64[s]", "c": ">M8[D]", "d": "m8[10us]",
		} {
			run(t, zarrfs(t), "create", store, name,
				"--shape", "3", "--dtype", dtype, "--format", format)
		}
		for version, python := range map[string]func() string{
			"3.1":    func() string { return python(t, "ZARRFS_PY3", ".venv-v3") },
			"newest": func() string { return newestPython(t) },
		} {
			out := run(t, python(), "-W", "ignore", "-c", createdDates, store, t.TempDir())
			if out = strings.TrimSpace(out); out != "seen a\nseen b\nseen c\nseen d" {
				t.Errorf("format %s, zarr-python %s:\n%s", format, version, out)
			}
		}
		mnt := mount(t, store)
		shell(t, mnt, "cp a.npy copy.npy")
		document := string(read(t, filepath.Join(mnt, "copy.json")))
		if !strings.Contains(strings.ReplaceAll(document, " ", ""), `"fill_value":0,`) {
			t.Errorf("format %s: the copy is\n%s", format, document)
		}
	}
}

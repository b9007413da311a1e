package integration

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// chunkedStore mounts a store with groups as files whose datasets are laid out in chunks.
func chunkedStore(t *testing.T) groupStore {
	t.Helper()
	zarrfs(t)
	store := filepath.Join(t.TempDir(), "chunks.zarr")
	generate(t, viewsPython(t), "interop/group_chunks.py", "make", store)
	return groupStore{store, mount(t, store, "--hdf5-layout", "chunked"), "chunks"}
}

// TestGroupFilesInChunks: with --hdf5-layout chunked the chunks of a dataset are those of its
// array, also inner chunks of shards, so that dask reads whole ones. Values are the same, also at
// edges and where nothing is stored.
func TestGroupFilesInChunks(t *testing.T) {
	s := chunkedStore(t)
	for _, suffix := range []string{".nc", ".h5"} {
		compared := compareBy(t, "interop/group_chunks.py", "read", s.store, s.file(suffix))
		for _, reader := range []string{"h5py", "netCDF4", "dask"} {
			if compared[reader] != 7 {
				t.Errorf("%s: %s has compared %d arrays", suffix, reader, compared[reader])
			}
		}
	}
	for _, name := range []string{"climate", "pyramid", "raster", "types"} {
		for _, s := range groupStores(t, name) {
			s.dir = mount(t, s.store, "--hdf5-layout", "chunked")
			compareGroupFiles(t, "read", s.store, s.file(".nc"))
		}
	}
}

// TestDaskDecodesChunksOnce: dask reads each chunk of an array once, so that each is decoded once.
func TestDaskDecodesChunksOnce(t *testing.T) {
	s := chunkedStore(t)
	const readAll = `import sys, xarray, zarr
g, n = zarr.open_group(sys.argv[1], mode="r"), 0
f = xarray.open_dataset(sys.argv[2], engine="h5netcdf", chunks={})
for name, a in g.arrays():
    f[name].data.compute()
    n += a.nchunks if name != "holes" else 2
print(n)`
	want := strings.TrimSpace(runPython(t, viewsPython(t), "-c", readAll, s.store, s.file(".nc")))
	if n := chunksDecoded(t, s.dir); fmt.Sprint(n) != want {
		t.Errorf("%d chunks were decoded, expected %s", n, want)
	}
}

// TestGroupFilesInChunksAreWritten: elements that are written through such a file arrive in the
// store, and nothing else changes. What is written to the padding of a chunk is dropped.
func TestGroupFilesInChunksAreWritten(t *testing.T) {
	s := chunkedStore(t)
	compared := compareBy(t, "interop/group_chunks.py", "write", s.store, s.file(".nc"))
	if n := compared["write"]; n != 7 {
		t.Errorf("%d arrays were written", n)
	}
}

// TestGroupFilesInChunksAreSnapshots: where an array has other chunks by now, an open file has no
// place for them, and says so.
func TestGroupFilesInChunksAreSnapshots(t *testing.T) {
	s := chunkedStore(t)
	path := s.file(".h5")
	open, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer open.Close()
	info, err := open.Stat()
	must(t, err)
	before := make([]byte, info.Size())
	_, err = open.ReadAt(before, 0)
	must(t, err)
	remake := `import sys, zarr
a = zarr.open_group(sys.argv[1])["long"][...]
zarr.open_group(sys.argv[1]).create_array("long", data=a, chunks=(65,), overwrite=True)`
	out, err := exec.Command(viewsPython(t), "-c", remake, s.store).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	now, err := os.ReadFile(path)
	if err != nil || bytes.Equal(now, before) {
		t.Errorf("the file that is opened again: %v", err)
	}
	_, err = open.ReadAt(before, 0)
	if !errors.Is(err, syscall.ESTALE) {
		t.Errorf("a read of chunks that have been replaced: %v", err)
	}
	said, _ := command(zarrfs(t), "errors", s.dir)
	if !strings.Contains(string(said), "open the file again") {
		t.Errorf("zarrfs errors: %s", said)
	}
	again, err := os.Open(path)
	must(t, err)
	defer again.Close()
	must(t, os.WriteFile(filepath.Join(s.store, "long", "c", "0"), []byte("no chunk"), 0o666))
	if _, err = again.ReadAt(now, 0); !errors.Is(err, syscall.EIO) {
		t.Errorf("a read of a corrupt chunk: %v", err)
	}
}

package integration

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// groupTools are programs that Debian has for .h5 and .nc files, with the package of each.
var groupTools = map[string]string{
	"ncdump": "netcdf-bin", "h5dump": "hdf5-tools", "ncks": "nco", "cdo": "cdo",
	"gdalmdiminfo": "gdal-bin", "octave-cli": "octave octave-netcdf",
	"Rscript": "r-cran-ncdf4 r-bioc-rhdf5",
}

// wholeReaders are the tools that read all arrays, each with the suffix of its file.
const wholeReaders = "ncdump.nc nccopy.nc ncks.nc h5repack.h5 gdal.nc gdal.h5 ncdf4.nc rhdf5.h5 " +
	"h5dump.h5"

// TestGroupFilesInTools: programs that know neither Zarr nor Python read of a group's .h5 and .nc
// what zarr-python reads of the store. See interop/group_tools.py.
func TestGroupFilesInTools(t *testing.T) {
	needTools(t, groupTools)
	for _, test := range []struct {
		store    string
		arrays   int
		compared map[string]int // by tools that cannot read all; the others compare all arrays
	}{
		{"climate", 13, map[string]int{"h5dump.h5": 11, "cdo.nc": 9, "ncread.nc": 11}},
		{"plain", 27, map[string]int{"h5dump.h5": 23, "octave.h5": 26}},
		{"pyramid", 10, map[string]int{"octave.h5": 10}},
		{"annotated", 15, map[string]int{"h5dump.h5": 9}},
		{"raster", 5, map[string]int{"octave.h5": 5}},
	} {
		wanted := map[string]int{}
		for _, job := range strings.Fields(wholeReaders) {
			wanted[job] = test.arrays
		}
		maps.Copy(wanted, test.compared)
		for _, s := range groupStores(t, test.store) {
			compareGroupTools(t, s, wanted)
		}
	}
}

// compareGroupTools has tools read the files of a store. wanted is how many arrays each compares.
func compareGroupTools(t *testing.T, s groupStore, wanted map[string]int) {
	t.Helper()
	args := append([]string{s.store, s.file("")}, slices.Sorted(maps.Keys(wanted))...)
	compared := compareBy(t, "interop/group_tools.py", args...)
	for job, n := range wanted {
		if compared[job] != n {
			t.Errorf("%s: %s has compared %d arrays, expected %d", s.name, job, compared[job], n)
		}
	}
}

// needTools skips a test aloud where a tool is missing, which ZARRFS_REQUIRE_PEERS=1 forbids. Each
// has the packages of Debian that it is in.
func needTools(t *testing.T, tools map[string]string) {
	t.Helper()
	for tool, packages := range tools {
		if _, err := exec.LookPath(tool); err == nil {
			continue
		}
		if os.Getenv("ZARRFS_REQUIRE_PEERS") == "1" {
			t.Fatalf("no %s: apt-get install %s", tool, packages)
		}
		t.Skipf("SKIPPED: no %s: apt-get install %s", tool, packages)
	}
}

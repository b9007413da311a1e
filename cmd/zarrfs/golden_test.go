package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what info and tree print to testdata")

// TestInfoAndTree compares what info and tree print with testdata, in which the folder and times
// are left out.
func TestInfoAndTree(t *testing.T) {
	store := filepath.Join(t.TempDir(), "climate.zarr")
	for _, args := range [][]string{
		{"create", store, "--group", "--attributes", `{"title": "Climate", "bounds": [1, 2]}`},
		{"create", store, "temperature", "--shape", "24,90,180", "--dtype", "float32", "--chunks",
			"6,45,90", "--dimension-names", "time,lat,lon",
			"--attributes", `{"units": "degC", "_FillValue": -999.0}`},
		{"create", store, "ocean/salt", "--shape", "256,256", "--dtype", ">i2", "--chunks", "64,64",
			"--shards", "128,128", "--codecs", "blosc:lz4:5:shuffle"},
		{"create", store, "stations", "--shape", "5", "--dtype", "str"},
		{"create", store, "when", "--shape", "()", "--dtype", "datetime64[ns]", "--fill-value",
			`"NaT"`},
	} {
		if code, out := zarrfs(t, args...); code != 0 {
			t.Fatalf("%q: exit code %d: %s", args, code, out)
		}
	}
	var all strings.Builder
	for _, args := range []string{"info STORE", "info STORE temperature", "info STORE ocean/salt",
		"info STORE stations", "info STORE when", "tree STORE"} {
		_, out := zarrfs(t, strings.Fields(strings.ReplaceAll(args, "STORE", store))...)
		all.WriteString("$ zarrfs " + strings.ReplaceAll(args, "STORE", "climate.zarr") + "\n" +
			out + "\n")
	}
	got := strings.ReplaceAll(all.String(), filepath.Dir(store), "")
	got = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]+(Z|[+-]\d\d:\d\d)`).ReplaceAllString(got,
		"TIME")
	const file = "testdata/info.golden"
	if *update {
		noError(t, "mkdir", os.MkdirAll("testdata", 0o777))
		noError(t, "update", os.WriteFile(file, []byte(got), 0o666))
	}
	if want := string(bytesOf(t, file)); got != want {
		t.Errorf("found\n%s\nexpected\n%s\ngo test -run TestInfoAndTree -update writes what was "+
			"found", got, want)
	}
}

// TestTallyStops: of a store that holds too much a part is counted, and what is printed says so.
func TestTallyStops(t *testing.T) {
	_, h, err := openPlain(t.Context(), makeStore(t))
	noError(t, "open", err)
	defer h.Close()
	for looks, want := range map[int]string{
		0:                          "4 arrays, 1 group: 128 KiB, stored 80 KiB",
		tallyLooks - 2*nodeLooks:   "at least ",
		tallyLooks - nodeLooks - 3: "at least 1 array, 0 groups: 128 KiB, stored ",
		tallyLooks:                 "at least 0 arrays, 0 groups (too much to count all)",
	} {
		sum := &tally{looks: looks}
		noError(t, "count", sum.below(t.Context(), h, ""))
		got := sum.print()
		stopped := strings.HasSuffix(got, "(too much to count all)")
		if !strings.HasPrefix(got, want) || stopped != strings.Contains(want, "at least") {
			t.Errorf("after %d looks: found %q, expected %q", looks, got, want)
		}
	}
	i := &nodeInfo{Bytes: new(int64), Stored: new(int64), Objects: new(int64),
		ObjectsOf: new(int64), Chunks: []int64{3}, AtLeast: true}
	var out strings.Builder
	noError(t, "print", i.print(&out))
	if text := out.String(); !strings.Contains(text, "at least 0 bytes\n") ||
		!strings.Contains(text, "3, at least 0 of 0 stored\n") {
		t.Errorf("found\n%s", text)
	}
}

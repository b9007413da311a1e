package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFolderOfStores mounts a folder with stores of both formats at several depths. What is made at
// its top is a store of its own.
func TestFolderOfStores(t *testing.T) {
	data := t.TempDir()
	noError(t, "a store", os.Rename(makeStore(t), filepath.Join(data, "three.zarr")))
	write(t, data, "deep/er/two.zarr/.zgroup", `{"zarr_format": 2}`)
	write(t, data, "notes/readme.txt", "text")
	dir := mounted(t, data)
	at := func(name string) string { return filepath.Join(dir, name) }
	check(t, "an array", bytesOf(t, at("three.zarr/ocean/b.raw")), []byte(chunk(0, 6)))
	noError(t, "a group in the store of format 2", os.Mkdir(at("deep/er/two.zarr/g"), 0o777))
	noError(t, "a folder at the top", os.Mkdir(at("new.zarr"), 0o777))
	noError(t, "an array in it", os.WriteFile(at("new.zarr/x.npy"), npyFile("abcdef", 1, "(3,)"),
		0o666))
	noError(t, "an array at the top", os.WriteFile(at("y.npy"), npyFile("abcdef", 1, "(3,)"),
		0o666))
	if err := os.Remove(at("notes")); err == nil {
		t.Error("a folder that holds other files is removed")
	}
	if code, out := zarrfs(t, "umount", dir); code != 0 {
		t.Errorf("umount: exit code %d: %s", code, out)
	}
	for _, file := range []string{"deep/er/two.zarr/g/.zgroup", "new.zarr/zarr.json",
		"new.zarr/x/zarr.json", "y/zarr.json", "notes/readme.txt"} {
		if _, err := os.Stat(filepath.Join(data, file)); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"zarr.json", ".zgroup"} {
		if _, err := os.Stat(filepath.Join(data, name)); err == nil {
			t.Errorf("the folder itself has become a group: %s", name)
		}
	}
	for _, store := range []string{"new.zarr", "y", "three.zarr"} { // each is a store of its own
		if code, out := zarrfs(t, "info", filepath.Join(data, store)); code != 0 {
			t.Errorf("info %s: exit code %d: %s", store, code, out)
		}
	}
	if code, out := zarrfs(t, "tree", data); code != 0 || !strings.Contains(out, "three.zarr/") ||
		!strings.Contains(out, "two.zarr/") {
		t.Errorf("tree: exit code %d:\n%s", code, out)
	}
	two := mounted(t, data, "--create-format", "2")
	noError(t, "a store of format 2", os.Mkdir(filepath.Join(two, "old.zarr"), 0o777))
	if _, err := os.Stat(filepath.Join(data, "old.zarr/.zgroup")); err != nil {
		t.Error(err)
	}
}

// TestFolderWithoutStores is refused, however deep it is.
func TestFolderWithoutStores(t *testing.T) {
	data := t.TempDir()
	write(t, data, "a/b/c/notes.txt", "text")
	if code, out := zarrfs(t, "mount", data, t.TempDir()); code != exitStore ||
		!strings.Contains(out, "and no store lies below it") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

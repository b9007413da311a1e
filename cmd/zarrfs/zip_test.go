package main

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// zipStore packs a store in a folder.
func zipStore(t *testing.T, store, path string) {
	t.Helper()
	f, err := os.Create(path)
	noError(t, "create", err)
	w := zip.NewWriter(f)
	noError(t, "pack", w.AddFS(os.DirFS(store)))
	noError(t, "pack", w.Close())
	noError(t, "close", f.Close())
}

// TestMountOfZip: a zip file is mounted read-only, which mount says, and read as its folder.
func TestMountOfZip(t *testing.T) {
	store, dir := writableStore(t), t.TempDir()
	path := filepath.Join(t.TempDir(), "s.zarr.zip")
	zipStore(t, store, path)
	code, out := zarrfs(t, "mount", path, dir)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	t.Cleanup(func() { zarrfs(t, "umount", dir) })
	want := "mounted read-only: " + path + ": zarrfs does not change zip files. Unpack it: unzip"
	if !strings.Contains(out, want) {
		t.Errorf("mount does not say %q: %s", want, out)
	}
	got, err := os.ReadFile(filepath.Join(dir, "rows.raw"))
	noError(t, "read", err)
	check(t, "rows.raw", got, stored(t, store, "rows.raw"))
	if err := os.WriteFile(filepath.Join(dir, "new.raw"), nil, 0o644); err == nil {
		t.Error("a file is created in a zip file")
	}
	for _, verb := range []string{"info", "tree"} {
		code, out := zarrfs(t, verb, path)
		if code != 0 || !strings.Contains(out, "s.zarr.zip") {
			t.Errorf("%s: exit code %d: %s", verb, code, out)
		}
	}
	code, out = zarrfs(t, "cat", "--view", "raw", path, "rows")
	if code != 0 || !bytes.Equal([]byte(out), got) {
		t.Errorf("cat: exit code %d, %q", code, out)
	}
}

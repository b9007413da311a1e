package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestForeignFilesAreNamed: a group whose folder in the store holds what a mount does not show
// cannot be removed. The log, `zarrfs errors` and user.zarrfs.error of the group name what is in
// the way, and once that is gone the group can be removed.
func TestForeignFilesAreNamed(t *testing.T) {
	store, log := writableStore(t), filepath.Join(t.TempDir(), "log")
	write(t, store, "g/zarr.json", testGroup)
	write(t, store, "g/b/zarr.json", fmt.Sprintf(testArray, "3, 2", "3, 2", ""))
	write(t, store, "g/notes.txt", "not ours")
	noError(t, "pipe", unix.Mkfifo(filepath.Join(store, "g/pipe"), 0o666))
	noError(t, "link", os.Symlink("/etc", filepath.Join(store, "g/outward")))
	noError(t, "link", os.Symlink("notes.txt", filepath.Join(store, "g/to a file")))
	dir := mounted(t, store, "--log", log)
	group := filepath.Join(dir, "g")
	if left := removedAll(t, group); len(left) > 0 {
		t.Errorf("still shown: %q", left)
	}
	if err := unix.Rmdir(group); err != syscall.ENOTEMPTY {
		t.Errorf("rmdir: %v", err)
	}
	why := `in the store it holds "notes.txt", "pipe", "to a file", which are not arrays or ` +
		"groups and not shown; remove them in " + store + "/g"
	saysWhy(t, group, why)
	if _, out := zarrfs(t, "errors", dir); !strings.Contains(out, why) {
		t.Errorf("zarrfs errors: %s", out)
	}
	text := strings.ReplaceAll(string(bytesOf(t, log)), `\"`, `"`)
	if !strings.Contains(text, why) {
		t.Errorf("the log: %s", text)
	}
	for _, name := range []string{"notes.txt", "pipe", "to a file"} {
		noError(t, "remove in the store", os.Remove(filepath.Join(store, "g", name)))
	}
	noError(t, "rmdir", unix.Rmdir(group))
	if _, err := os.Lstat(filepath.Join(store, "g")); !os.IsNotExist(err) {
		t.Errorf("the group is still in the store: %v", err)
	}
}

// TestManyForeignFilesAreCounted: of many files only some are named.
func TestManyForeignFilesAreCounted(t *testing.T) {
	store := writableStore(t)
	write(t, store, "g/zarr.json", testGroup)
	for i := range 100 {
		write(t, store, fmt.Sprintf("g/%d.txt", i), "not ours")
	}
	group := filepath.Join(mounted(t, store), "g")
	if err := unix.Rmdir(group); err != syscall.ENOTEMPTY {
		t.Errorf("rmdir: %v", err)
	}
	saysWhy(t, group, `.txt" and more, which are not arrays or groups`)
}

// TestForeignFilesOfArrays: if an array's folder in the store holds files of others, neither rm of
// its files nor a rename onto it removes it. Hidden files are not in the way.
func TestForeignFilesOfArrays(t *testing.T) {
	const v2 = `{"zarr_format": 2, "shape": [2, 2], "chunks": [1, 2], "dtype": "|u1",
		"fill_value": 0, "order": "C", "compressor": null, "filters": null%s}`
	v3 := fmt.Sprintf(testArray, "2, 1", "1, 1", "")
	tests := map[string]map[string]string{
		"v3": {"zarr.json": testGroup, "z/zarr.json": v3, "z/c/1/0": "ab"},
		"v2": {".zgroup": `{"zarr_format": 2}`, "z/.zarray": fmt.Sprintf(v2, ""), "z/1.0": "ab"},
		"nested": {".zgroup": `{"zarr_format": 2}`, "z/1/0": "ab",
			"z/.zarray": fmt.Sprintf(v2, `, "dimension_separator": "/"`)},
		"unsaid": {".zgroup": `{"zarr_format": 2}`, "z/1/0": "ab",
			"z/.zarray": fmt.Sprintf(v2, "")},
	}
	for name, files := range tests {
		t.Run(name, func(t *testing.T) {
			store := t.TempDir()
			for key, content := range files {
				write(t, store, key, content)
			}
			for _, own := range []string{".DS_Store", ".nczarray", "0.0.a1.partial"} {
				write(t, store, "z/"+own, "")
			}
			write(t, store, "z/notes.txt", "not ours")
			write(t, store, "z/2024 results/a", "not ours")
			dir := mounted(t, store)
			why := `in the store it holds "2024 results", "notes.txt", which are not`
			for _, command := range []string{"cp z.npy y.npy && mv y.npy z.npy", "rm z.*"} {
				cmd := exec.Command("sh", "-c", command)
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); !strings.Contains(string(out), "not empty") {
					t.Errorf("%s: %v: %s", command, err, out)
				}
				if _, out := zarrfs(t, "errors", dir); !strings.Contains(out, why) {
					t.Errorf("%s: zarrfs errors: %s", command, out)
				}
			}
			shown, err := filepath.Glob(filepath.Join(dir, "z.*"))
			noError(t, "list", err)
			if len(shown) != 3 {
				t.Errorf("after rm z.*, which is refused, the mount shows %q", shown)
			}
			check(t, "notes", bytesOf(t, filepath.Join(store, "z/notes.txt")), []byte("not ours"))
			for _, other := range []string{"notes.txt", "2024 results"} {
				noError(t, "remove in the store", os.RemoveAll(filepath.Join(store, "z", other)))
			}
			noError(t, "rm", exec.Command("sh", "-c", "rm "+dir+"/z.*").Run())
			if _, err := os.Lstat(filepath.Join(store, "z")); !os.IsNotExist(err) {
				t.Errorf("the array is still in the store: %v", err)
			}
		})
	}
}

// removedAll removes all that a group shows but its document, as rm -r does, and returns what it
// then shows.
func removedAll(t *testing.T, group string) (left []string) {
	t.Helper()
	for range 2 {
		shown, err := os.ReadDir(group)
		noError(t, "list", err)
		left = nil
		for _, e := range shown {
			if e.Name() != "zarr.json" {
				os.Remove(filepath.Join(group, e.Name()))
				left = append(left, e.Name())
			}
		}
	}
	return left
}

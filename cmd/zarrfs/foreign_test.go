package main

import (
	"fmt"
	"os"
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
	why := `in the store it holds "notes.txt", "pipe", "to a file", which are not arrays or groups and not shown; remove them in ` + store + "/g"
	saysWhy(t, group, why)
	if _, out := zarrfs(t, "errors", dir); !strings.Contains(out, why) {
		t.Errorf("zarrfs errors: %s", out)
	}
	if text := strings.ReplaceAll(string(bytesOf(t, log)), `\"`, `"`); !strings.Contains(text, why) {
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

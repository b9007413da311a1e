package integration

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestRescuedLinesOfLongPaths: lines that cannot be stored are kept when the mount ends. The paths
// of their arrays are longer than the name of a file may be, and end alike.
func TestRescuedLinesOfLongPaths(t *testing.T) {
	disk, scratch := tmpfs(t, "4m"), t.TempDir()
	store, long := filepath.Join(disk, "s.zarr"), strings.Repeat("é", 100)
	arrays := []string{"a/" + long + "/w", "b/" + long + "/w"}
	run(t, zarrfs(t), "create", store, "--group")
	for _, array := range arrays {
		run(t, zarrfs(t), "create", store, array, "--shape", "1", "--dtype", "string")
	}
	d := started(t, store, "--scratch-dir", scratch)
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 8<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	for i, array := range arrays {
		text := "\"" + strings.Repeat("xy"[i:i+1], 1<<16) + "\"\n"
		err := os.WriteFile(d.path(array+".jsonl"), []byte(text), 0)
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("write: %v, expected that there is no room", err)
		}
	}
	out, err := command(d.bin, "umount", "--force", d.dir)
	kept, _ := filepath.Glob(filepath.Join(scratch, "zarrfs-unsaved-*w*.jsonl"))
	if exitCode(err) != 4 || len(kept) != len(arrays) {
		t.Fatalf("umount: %v, kept %q\n%s", err, kept, out)
	}
	letters := map[byte]bool{}
	for _, name := range kept {
		text := read(t, name)
		letters[text[1]] = true
		if len(text) != 1<<16+3 || !strings.Contains(string(out), name) {
			t.Errorf("%s has %d bytes, and umount says\n%s", name, len(text), out)
		}
	}
	if len(letters) != len(arrays) {
		t.Errorf("the files begin with %v", letters)
	}
}

// TestLinesRescuedNowhere: if there is no room for lines that cannot be stored, umount says that
// they are lost.
func TestLinesRescuedNowhere(t *testing.T) {
	disk, scratch := tmpfs(t, "4m"), tmpfs(t, "4m")
	store := filepath.Join(disk, "s.zarr")
	run(t, zarrfs(t), "create", store, "--group")
	run(t, zarrfs(t), "create", store, "w", "--shape", "1", "--dtype", "string")
	d := started(t, store, "--scratch-dir", scratch)
	err := os.WriteFile(filepath.Join(disk, "filler"), make([]byte, 8<<20), 0o600)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	text := "\"" + strings.Repeat("x", 5<<19) + "\"\n"
	if err := os.WriteFile(d.path("w.jsonl"), []byte(text), 0); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("write: %v, expected that there is no room", err)
	}
	out, err := command(d.bin, "umount", "--force", d.dir)
	kept, _ := filepath.Glob(filepath.Join(scratch, "zarrfs-unsaved-*"))
	if exitCode(err) != 4 || len(kept) > 0 || !strings.Contains(string(out), "lost: rescue w: ") {
		t.Errorf("umount: %v, kept %q\n%s", err, kept, out)
	}
}

package dirstore

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// TestReplaceBesideMounts: a directory replaces another one if both lie in one file system that is
// mounted below the root. From one file system to another this is refused, and nothing has changed.
func TestReplaceBesideMounts(t *testing.T) {
	dir := t.TempDir()
	mountTmpfs(t, filepath.Join(dir, "far"), "size=1m")
	mountTmpfs(t, filepath.Join(dir, "mounted"), "size=1m")
	writeFiles(t, dir, map[string][]byte{
		"far/a/zarr.json": []byte("a"), "far/a/c/0": nil, "far/b/zarr.json": []byte("b"),
		"near/zarr.json": []byte("near"), "near/c/0": nil, "mounted/zarr.json": nil,
	})
	s := store.New(open(t, dir, ways["beneath"]), "")
	before := readFiles(t, dir)
	for _, names := range [][2]string{{"near", "far/a"}, {"far/a", "near"}, {"near", "mounted"}} {
		err := s.Dirs().Replace(t.Context(), names[0], names[1])
		if !errors.Is(err, unix.EXDEV) && !errors.Is(err, unix.EBUSY) {
			t.Errorf("Replace(%q, %q): %v, want EXDEV or EBUSY", names[0], names[1], err)
		}
	}
	s.Close()
	if got := readFiles(t, dir); !maps.Equal(got, before) {
		t.Errorf("left: %s", names(got))
	}
	s = store.New(open(t, dir, ways["beneath"]), "")
	if err := s.Dirs().Replace(t.Context(), "far/b", "far/a"); err != nil {
		t.Error(err)
	}
	want := map[string]string{"a/zarr.json": "b"}
	if got := readFiles(t, filepath.Join(dir, "far")); !maps.Equal(got, want) {
		t.Errorf("left: %s", names(got))
	}
}

// TestReplaceUndone: in a file system mounted below the root, an old directory that cannot be
// removed gets its name back.
func TestReplaceUndone(t *testing.T) {
	dir := t.TempDir()
	mountTmpfs(t, filepath.Join(dir, "far"), "size=1m")
	writeFiles(t, dir, map[string][]byte{
		"far/a/.zarray": []byte("a"), "far/b/zarr.json": []byte("b"),
	})
	mountTmpfs(t, filepath.Join(dir, "far/a/zarr.json"), "size=1m") // which keeps it in its place
	s := store.New(open(t, dir, ways["beneath"]), "")
	if err := s.Dirs().Replace(t.Context(), "far/b", "far/a"); !errors.Is(err, unix.EBUSY) {
		t.Errorf("Replace: %v, want EBUSY", err)
	}
	s.Close()
	want := map[string]string{"far/a/.zarray": "a", "far/b/zarr.json": "b"}
	if got := readFiles(t, dir); !maps.Equal(got, want) {
		t.Errorf("left: %s", names(got))
	}
}

// TestRemoveUndone: an array in a file system that is mounted below the root keeps its documents if
// an object of it cannot be removed. The error names that object.
func TestRemoveUndone(t *testing.T) {
	for _, tree := range []string{"far/a", "far"} {
		dir := t.TempDir()
		far := filepath.Join(dir, "far")
		mountTmpfs(t, far, "size=1m")
		array := map[string][]byte{"a/.zarray": []byte("a"), "a/.zattrs": []byte("b"),
			"a/0/0": nil, "a/0/1": nil, "zarr.json": nil}
		writeFiles(t, far, array)
		busy := filepath.Join(far, "a/0/1")
		if err := unix.Mount(busy, busy, "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Unmount(busy, unix.MNT_DETACH) })
		s := store.New(open(t, dir, ways["beneath"]), "")
		err := s.Dirs().RemoveAll(t.Context(), tree)
		if !errors.Is(err, unix.EBUSY) || !strings.Contains(err.Error(), "far/a/0/1") {
			t.Errorf("RemoveAll: %v, want EBUSY of far/a/0/1", err)
		}
		got := readFiles(t, far)
		delete(got, "a/0/0")
		want := map[string]string{"a/.zarray": "a", "a/.zattrs": "b", "a/0/1": "", "zarr.json": ""}
		if !maps.Equal(got, want) {
			t.Errorf("left: %s", names(got))
		}
		if err := unix.Unmount(busy, 0); err != nil {
			t.Fatal(err)
		}
		err = s.Dirs().RemoveAll(t.Context(), "far/a")
		if _, there := os.Stat(far + "/a"); err != nil || !errors.Is(there, fs.ErrNotExist) {
			t.Errorf("the second RemoveAll: %v, %v", err, there)
		}
	}
}

// TestReplaceInOverlay: an overlay cannot exchange what it has in a lower layer, nor rename it. The
// caller is to remove the old directory only if the new one can be renamed.
func TestReplaceInOverlay(t *testing.T) {
	dir, lower := t.TempDir(), t.TempDir()
	mountTmpfs(t, dir, "size=1m")
	for _, name := range []string{"upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	writeFiles(t, lower, map[string][]byte{
		"a/zarr.json": []byte("a"), "b/zarr.json": []byte("b"),
	})
	upper, work := filepath.Join(dir, "upper"), filepath.Join(dir, "work")
	options := "lowerdir=" + lower + ",upperdir=" + upper + ",workdir=" + work
	merged := filepath.Join(dir, "merged")
	if err := unix.Mount("overlay", merged, "overlay", 0, options); err != nil {
		t.Skipf("SKIPPED: cannot mount an overlay: %v", err)
	}
	t.Cleanup(func() { unmount(t, merged) })
	s := store.New(open(t, merged, ways["beneath"]), "")
	if err := s.Dirs().Replace(t.Context(), "b", "a"); !errors.Is(err, unix.EXDEV) {
		t.Errorf("Replace by what cannot be renamed: %v, want EXDEV", err)
	}
	for _, name := range []string{"t", "u"} {
		if err := s.Put(t.Context(), name+"/zarr.json", []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Dirs().Replace(t.Context(), "t", "a"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Replace of what cannot be renamed: %v, want ErrUnsupported", err)
	}
	if err := s.Dirs().Replace(t.Context(), "t", "u"); err != nil {
		t.Error(err)
	}
	if err := errors.Join(s.Dirs().RemoveAll(t.Context(), "a"),
		s.Dirs().Rename(t.Context(), "u", "a")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(merged, "t")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	data, err := os.ReadFile(filepath.Join(merged, "a/zarr.json"))
	if err != nil || string(data) != "t" {
		t.Errorf("a is %q, %v", data, err)
	}
}

// TestCleanBesideMounts: what a dead program has not finished is removed also in a file system that
// is mounted below the root. What cannot be removed now is left to another Clean.
func TestCleanBesideMounts(t *testing.T) {
	dir := t.TempDir()
	far := filepath.Join(dir, "far")
	mountTmpfs(t, far, "size=1m")
	d := open(t, dir, ways["beneath"])
	makeUnfinished(t, dir, "far/t~0", noteUnfinished(t, d, "far/t~0"))
	die(d)
	d = open(t, dir, ways["beneath"])
	mount := func(flags uintptr) {
		if err := unix.Mount("", far, "", unix.MS_REMOUNT|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	mount(unix.MS_RDONLY)
	if err := d.Clean(t.Context()); !errors.Is(err, unix.EROFS) {
		t.Errorf("Clean: %v, want EROFS", err)
	}
	mount(0)
	if err := d.Clean(t.Context()); err != nil {
		t.Error(err)
	}
	wantNames(t, far)
	wantNames(t, dir, "far")
}

package dirstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// aclOfUser is an access control list, as the kernel has it: user::rw-, user:1234:r--, group::---,
// mask::r--, other::---.
const aclOfUser = "\x02\x00\x00\x00" + "\x01\x00\x06\x00\xff\xff\xff\xff" +
	"\x02\x00\x04\x00\xd2\x04\x00\x00\x04\x00\x00\x00\xff\xff\xff\xff" +
	"\x10\x00\x04\x00\xff\xff\xff\xff" + "\x20\x00\x00\x00\xff\xff\xff\xff"

// TestReplacedKeepsRights: an object keeps its mode, owner and extended attributes when it is
// replaced.
func TestReplacedKeepsRights(t *testing.T) {
	dir := t.TempDir()
	st := store.New(open(t, dir, ways["beneath"]), dir)
	for _, mode := range []os.FileMode{0o600, 0o640, 0o444, 0o666, 0o644} {
		path := filepath.Join(dir, "object")
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		os.Chmod(path, mode)
		uid := os.Getuid()
		if uid == 0 {
			uid = 1000
			os.Chown(path, uid, 1001)
		}
		marked := unix.Setxattr(path, "user.mark", []byte("kept"), 0) == nil
		limited := mode == 0o640 &&
			unix.Setxattr(path, "system.posix_acl_access", []byte(aclOfUser), 0) == nil
		if err := st.Put(t.Context(), "object", []byte("new")); err != nil {
			t.Fatal(err)
		}
		var got unix.Stat_t
		if err := unix.Stat(path, &got); err != nil {
			t.Fatal(err)
		}
		if int(got.Uid) != uid || os.FileMode(got.Mode&0o7777) != mode {
			t.Errorf("an object of %d with mode %o is one of %d with %o once it was replaced", uid,
				mode, got.Uid, got.Mode&0o7777)
		}
		value := make([]byte, 100)
		if n, err := unix.Getxattr(path, "user.mark", value); marked &&
			(err != nil || string(value[:n]) != "kept") {
			t.Errorf("mode %o: user.mark is %q (%v)", mode, value[:max(n, 0)], err)
		}
		if n, err := unix.Getxattr(path, "system.posix_acl_access", value); limited &&
			(err != nil || string(value[:n]) != aclOfUser) {
			t.Errorf("the access control list is %q (%v)", value[:max(n, 0)], err)
		}
		if !marked || mode == 0o640 && !limited {
			t.Log("NOT TESTED: extended attributes: the file system of the test has none")
		}
		os.Remove(path)
	}
}

// TestNewObjectHasUsualRights: as any program's new file, also where a link was replaced, whose own
// mode says nothing.
func TestNewObjectHasUsualRights(t *testing.T) {
	dir := t.TempDir()
	st := store.New(open(t, dir, ways["beneath"]), dir)
	write := func(key string, mode uint32) {
		t.Helper()
		if err := st.Put(t.Context(), key, []byte("new")); err != nil {
			t.Fatal(err)
		}
		var got unix.Stat_t
		if err := unix.Lstat(filepath.Join(dir, key), &got); err != nil ||
			got.Mode != unix.S_IFREG|mode {
			t.Errorf("%s: mode %o (%v), want %o", key, got.Mode, err, mode)
		}
	}
	umask := uint32(unix.Umask(0))
	unix.Umask(int(umask))
	write("new", 0o666&^umask)
	os.WriteFile(filepath.Join(dir, "target"), nil, 0o600)
	os.Symlink("target", filepath.Join(dir, "link"))
	write("link", 0o600)
	os.Symlink("nothing", filepath.Join(dir, "dangling"))
	write("dangling", 0o666&^umask)
}

// TestStagedIsPrivate: what is being written can be read by nobody who may not read what it
// replaces.
func TestStagedIsPrivate(t *testing.T) {
	dir := t.TempDir()
	st := store.New(open(t, dir, ways["beneath"]), dir)
	staged, err := st.Stage(t.Context(), "object", []byte("new"))
	if err != nil {
		t.Fatal(err)
	}
	defer staged.Discard()
	found, _ := filepath.Glob(filepath.Join(dir, stagingPrefix+"*"))
	if len(found) != 1 {
		t.Fatalf("staging folders: %q", found)
	}
	if info, err := os.Stat(found[0]); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the staging folder: %v (%v)", info.Mode(), err)
	}
}

// TestNewObjectsAreLimited: a new object of an array is not more open than the array's document.
// That also holds at the root, and in another file system.
func TestNewObjectsAreLimited(t *testing.T) {
	for _, document := range []string{"zarr.json", ".zarray"} {
		dir := t.TempDir()
		mountTmpfs(t, filepath.Join(dir, "far"), "size=1m")
		root := store.New(open(t, dir, ways["beneath"]), "")
		for _, array := range []string{"", "near", "far/a"} {
			os.Mkdir(filepath.Join(dir, array), 0o700)
			path := filepath.Join(dir, array, document)
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			st, err := root.Hold(t.Context(), array, array)
			if err != nil {
				t.Fatal(err)
			}
			if err := st.Put(t.Context(), store.Join(array, "c/0"), []byte("x")); err != nil {
				t.Error(err)
			}
			wantMode(t, filepath.Join(dir, array, "c/0"), 0o600)
			if array != "" {
				wantMode(t, filepath.Join(dir, array, "c"), 0o700)
				st.Close()
			}
		}
	}
}

// TestMadeAlike: a directory that is made with the rights of another one has them, also in another
// file system.
func TestMadeAlike(t *testing.T) {
	dir := t.TempDir()
	mountTmpfs(t, filepath.Join(dir, "far"), "size=1m")
	st := store.New(open(t, dir, ways["beneath"]), "")
	for _, group := range []string{"near", "far"} {
		old := filepath.Join(dir, group, "a")
		writeFiles(t, old, map[string][]byte{".zarray": nil, ".zattrs": nil})
		os.Chmod(old, 0o711)
		os.Chmod(filepath.Join(old, ".zarray"), 0o640)
		os.Chmod(filepath.Join(old, ".zattrs"), 0o604)
		made := map[string][]byte{".zarray": nil, ".zattrs": nil, "zarr.json": nil}
		if err := st.Make(t.Context(), group+"/b", group+"/a", made); err != nil {
			t.Fatal(err)
		}
		if err := st.Make(t.Context(), group+"/b", group+"/a", made); !errors.Is(err, fs.ErrExist) {
			t.Errorf("where something is: %v", err)
		}
		for name, mode := range map[string]uint32{
			"": 0o711, ".zarray": 0o640, ".zattrs": 0o604, "zarr.json": 0o640,
		} {
			wantMode(t, filepath.Join(dir, group, "b", name), mode)
		}
	}
}

// wantMode complains of a file or directory with another mode.
func wantMode(t *testing.T, path string, mode uint32) {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil || uint32(st.Mode)&0o7777 != mode {
		t.Errorf("%s: mode %o (%v), want %o", path, st.Mode&0o7777, err, mode)
	}
}

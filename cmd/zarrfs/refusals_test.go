package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRefusalsAreFound: whatever is refused, the reason is in the log once, in recent_errors, and in user.zarrfs.error of the folder, also
// where no file is left that could have it.
func TestRefusalsAreFound(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	dir := mounted(t, writableStore(t), "--log", log)
	at := func(name string) string { return filepath.Join(dir, name) }
	noError(t, "mkdir", os.Mkdir(at("g"), 0o777))
	noError(t, "mkdir", os.Mkdir(at("g/in"), 0o777))
	objects := []byte(strings.Replace(string(npyFile("", 1, "(3,)")), "'<u2'", "'|O' ", 1))
	for _, tc := range []struct {
		what, folder string
		do           func() error
		want         syscall.Errno
		why          string
		once         bool // no other refusal here has that text
	}{
		{"a text", "", func() error { return os.WriteFile(at("x.npy"), []byte("hello world, this is text"), 0o666) }, syscall.EINVAL,
			`not a NumPy file: it starts with "hello world,"`, true},
		{"Python objects", "", func() error { return os.WriteFile(at("o.npy"), objects, 0o666) }, syscall.EOPNOTSUPP, "Python objects (|O) cannot be stored: convert the array", true},
		{"an array beside a group", "", func() error { return os.WriteFile(at("g.npy"), npyFile("abcdef", 1, "(3,)"), 0o666) }, syscall.EEXIST,
			`"g" is a group, and no array can have its name; choose another for g.npy`, true},
		{"no name", "g", func() error { return os.WriteFile(at("g/.npy"), npyFile("", 1, "(0,)"), 0o666) }, syscall.EINVAL, `".npy" is the end of a name only`, true},
		{"a name that another has", "g", func() error { return os.WriteFile(at("g/50%.npy"), npyFile("", 1, "(0,)"), 0o666) }, syscall.EINVAL,
			`"50%" cannot be a file name here: write it 50%25`, false},
		{"a folder of such a name", "g", func() error { return os.Mkdir(at("g/50%"), 0o777) }, syscall.EINVAL, `"50%" cannot be a file name here: write it 50%25`, false},
		{"metadata", "", func() error { return unix.Setxattr(at("rows.npy"), "user.zarr.units", []byte("K"), 0) }, syscall.EPERM,
			"an attribute of the array or group is user.zarr.attr.units", false},
		{"a foreign attribute", "", func() error { return unix.Setxattr(at("point.npy"), "user.units", []byte("K"), 0) }, syscall.EOPNOTSUPP, "is user.zarr.attr.units", false},
		{"the shape", "", func() error { return unix.Setxattr(at("rows.npy"), "user.zarr.shape", []byte("[3]"), 0) }, syscall.EPERM, "user.zarr.shape follows from the metadata", true},
		{"a pipe", "g", func() error { return unix.Mkfifo(at("g/pipe"), 0o666) }, syscall.EPERM, "no pipes, sockets or devices", true},
		{"a hard link", "g", func() error { return os.Link(at("rows.npy"), at("g/again.npy")) }, syscall.EPERM, "copy the file instead", true},
		{"a group that is not empty", "", func() error { return unix.Rmdir(at("g")) }, syscall.ENOTEMPTY, "g", false},
		{"a name that is no view", "", func() error { return os.Rename(at("rows.npy"), at("rows.txt")) }, syscall.EPERM, "expected a name that ends in .npy", true},
	} {
		if err := tc.do(); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.what, err, tc.want)
		}
		saysWhy(t, at(tc.folder), tc.why)
		recent := stateOf(dir).RecentErrors
		if len(recent) == 0 || !strings.Contains(recent[len(recent)-1].Err, tc.why) {
			t.Errorf("%s: recent_errors has %+v", tc.what, recent)
		}
		b, err := os.ReadFile(log)
		text := strings.ReplaceAll(string(b), `\"`, `"`)
		if n := strings.Count(text, tc.why); err != nil || n == 0 || n > 1 && tc.once {
			t.Errorf("%s: the log has %d times %q: %v\n%s", tc.what, n, tc.why, err, text)
		}
	}
	list := make([]byte, 1000)
	if n, err := unix.Listxattr(at("g"), list); err != nil || strings.Contains(string(list[:max(n, 0)]), "user.zarrfs.error") {
		t.Errorf("the folder lists %q: %v", list[:max(n, 0)], err)
	}
	noError(t, "an array at last", os.WriteFile(at("o.npy"), npyFile("abcdef", 1, "(3,)"), 0o666))
	saysWhy(t, at("o.npy"), "")
}

// TestStoreRemovedIsSaid: after the store's folder was removed no write is taken, and what is refused names the store.
func TestStoreRemovedIsSaid(t *testing.T) {
	store, log := writableStore(t), filepath.Join(t.TempDir(), "log")
	dir := mounted(t, store, "--log", log)
	f := openFile(t, filepath.Join(dir, "rows.raw"), os.O_RDWR)
	noError(t, "remove the store", os.RemoveAll(store))
	_, err := f.WriteAt([]byte("xx"), 0)
	if err = errors.Join(err, f.Close()); err == nil {
		t.Error("a write after the store was removed is taken")
	}
	if err := os.WriteFile(filepath.Join(dir, "new.npy"), npyFile("abcdef", 1, "(3,)"), 0o666); err == nil {
		t.Error("an array is made in a store that was removed")
	}
	why := "the store " + store + " was removed"
	saysWhy(t, dir, why)
	if b, _ := os.ReadFile(log); !strings.Contains(string(b), why) {
		t.Errorf("the log has\n%s", b)
	}
	if code, out := zarrfs(t, "umount", dir); code != exitMount || !strings.Contains(out, why) {
		t.Errorf("umount of what cannot be stored: exit code %d: %s", code, out)
	}
	zarrfs(t, "umount", "--force", dir)
}

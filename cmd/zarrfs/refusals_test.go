package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRefusalsAreFound: the reason of each refusal is in the log once, in recent_errors, and in
// user.zarrfs.error of the folder. It is there also if no file is left that could have it.
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
		{"a text", "", func() error {
			return os.WriteFile(at("x.npy"), []byte("hello world, this is text"), 0o666)
		}, syscall.EINVAL,
			`not a NumPy file: it starts with "hello world,"`, true},
		{"Python objects", "", func() error {
			return os.WriteFile(at("o.npy"), objects, 0o666)
		}, syscall.EOPNOTSUPP, "arrays of Python objects (|O) cannot be stored: convert the array",
			true},
		{"an array beside a group", "", func() error {
			return os.WriteFile(at("g.npy"), npyFile("abcdef", 1, "(3,)"), 0o666)
		}, syscall.EEXIST,
			`"g" is a group, and no array can have its name; choose another for g.npy`, true},
		{"no name", "g", func() error {
			return os.WriteFile(at("g/.npy"), npyFile("", 1, "(0,)"), 0o666)
		}, syscall.EINVAL, `".npy" is the end of a name only`, true},
		{"a name that another has", "g", func() error {
			return os.WriteFile(at("g/50%.npy"), npyFile("", 1, "(0,)"), 0o666)
		}, syscall.EINVAL,
			`"50%" cannot be a file name here: write it 50%25`, false},
		{"a folder of such a name", "g", func() error {
			return os.Mkdir(at("g/50%"), 0o777)
		}, syscall.EINVAL, `"50%" cannot be a file name here: write it 50%25`, false},
		{"metadata", "", func() error {
			return unix.Setxattr(at("rows.npy"), "user.zarr.units", []byte("K"), 0)
		}, syscall.EPERM,
			"an attribute of the array or group is user.zarr.attr.units", false},
		{"a foreign attribute", "", func() error {
			return unix.Setxattr(at("point.npy"), "user.units", []byte("K"), 0)
		}, syscall.EOPNOTSUPP, "is user.zarr.attr.units", false},
		{"the shape", "", func() error {
			return unix.Setxattr(at("rows.npy"), "user.zarr.shape", []byte("[3]"), 0)
		}, syscall.EPERM, "user.zarr.shape follows from the metadata", true},
		{"a pipe", "g", func() error {
			return unix.Mkfifo(at("g/pipe"), 0o666)
		}, syscall.EPERM, "no pipes, sockets or devices", true},
		{"a hard link", "g", func() error {
			return os.Link(at("rows.npy"), at("g/again.npy"))
		}, syscall.EPERM, "copy the file instead", true},
		{"a group that is not empty", "", func() error {
			return unix.Rmdir(at("g"))
		}, syscall.ENOTEMPTY, "g", false},
		{"a name that is not a view", "", func() error {
			return os.Rename(at("rows.npy"), at("rows.txt"))
		}, syscall.EPERM, "expected a name that ends in .npy", true},
	} {
		if err := tc.do(); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.what, err, tc.want)
		}
		saysWhy(t, at(tc.folder), tc.why)
		recent := stateFrom(dir).RecentErrors
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
	if n, err := unix.Listxattr(at("g"), list); err != nil ||
		strings.Contains(string(list[:max(n, 0)]), "user.zarrfs.error") {
		t.Errorf("the folder lists %q: %v", list[:max(n, 0)], err)
	}
	noError(t, "an array at last", os.WriteFile(at("o.npy"), npyFile("abcdef", 1, "(3,)"), 0o666))
	saysWhy(t, at("o.npy"), "")
}

// TestEveryRefusalIsFound: whatever a mount refuses, `zarrfs errors` prints the reason, and the
// file, or its folder, has it as an extended attribute. What the kernel refuses before it asks the
// mount is not among it: writing in a read-only mount, rmdir of a file, an owner's rights.
func TestEveryRefusalIsFound(t *testing.T) {
	store, log := writableStore(t), filepath.Join(t.TempDir(), "log")
	write(t, store, "cut/zarr.json", fmt.Sprintf(testArray, "8", "8", ""))
	write(t, store, "cut/c/0", "short")
	write(t, store, "strange/zarr.json", fmt.Sprintf(testArray, "8", "8", `, {"name": "mystery"}`))
	write(t, store, "enormous/zarr.json", fmt.Sprintf(testArray, "4294967296, 4294967296",
		"4096, 4096", ""))
	write(t, store, "garbled/zarr.json", "no document")
	dir := mounted(t, store, "--log", log)
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"g", "g/in", "full", "full/in"} {
		noError(t, "mkdir", os.Mkdir(at(name), 0o777))
	}
	noError(t, "a file that is not an array", os.WriteFile(at("notes.txt"), []byte("text"), 0o666))
	read := func(name string) func() error {
		return func() error { _, err := os.ReadFile(at(name)); return err }
	}
	put := func(name, text string) func() error {
		return func() error { return os.WriteFile(at(name), []byte(text), 0o666) }
	}
	set := func(name, attr, value string) func() error {
		return func() error { return unix.Setxattr(at(name), attr, []byte(value), 0) }
	}
	allocate := func(name string, mode uint32, size int64) func() error {
		return func() error {
			f := openFile(t, at(name), os.O_RDWR)
			defer f.Close()
			return unix.Fallocate(int(f.Fd()), mode, 0, size)
		}
	}
	trusted := "trusted.bar" // of root only
	if os.Getuid() != 0 {
		trusted = "user.bar"
	}
	for _, tc := range []struct {
		where, what string // of the folder, or file, that has the reason
		do          func() error
		want        syscall.Errno
		why         string
	}{
		{"cut.raw", "a chunk that is short", read("cut.raw"), syscall.EIO,
			`cannot read "cut": chunk cut/c/0: corrupt data: expected 16`},
		{"strange.npy", "an unknown codec", read("strange.npy"), syscall.EOPNOTSUPP,
			`codec "mystery"`},
		{"enormous.raw", "too many bytes", read("enormous.raw"), syscall.EFBIG, "2^63-1"},
		{"garbled.npy", "a text that is not a document", read("garbled.npy"), syscall.EIO,
			`cannot open "garbled": zarr.json: line 1, column 1`},
		{"rows.json", "a text that is not a document", put("rows.json", "no document"),
			syscall.EINVAL, "line 1, column 1"},
		{"rows.json", "a document truncated", func() error {
			return os.Truncate(at("rows.json"), 5)
		}, syscall.EINVAL, "cannot be truncated to 5 bytes"},
		{"rows.json", "space for a document", allocate("rows.json", 0, 4096), syscall.EOPNOTSUPP,
			"no space is set aside for a text"},
		{"rows.raw", "a part of a row", func() error {
			return os.Truncate(at("rows.raw"), 33)
		}, syscall.EINVAL, "not a whole number of rows"},
		{"point.raw", "growing what has no axis", func() error {
			return os.Truncate(at("point.raw"), 4)
		}, syscall.EFBIG, "cannot"},
		{"", "a name that is too long", put(strings.Repeat("n", 245)+".npy", "x"),
			syscall.ENAMETOOLONG, "choose a shorter one"},
		{"", "a name of a document", put(".zarray", "{}"), syscall.EOPNOTSUPP,
			"open the store itself"},
		{"", "a change of places", func() error {
			return unix.Renameat2(unix.AT_FDCWD, at("rows.npy"), unix.AT_FDCWD, at("point.npy"),
				unix.RENAME_EXCHANGE)
		}, syscall.EINVAL, "two files cannot change places at once"},
		{"", "a group's document renamed", func() error {
			return os.Rename(at("g/zarr.json"), at("x.json"))
		}, syscall.EPERM, "stays with its group"},
		{"", "a view as another", func() error {
			return os.Rename(at("rows.npy"), at("rows2.raw"))
		}, syscall.EPERM, "cannot become"},
		{"", "a group onto one that is not empty", func() error {
			return unix.Rename(at("g"), at("full"))
		}, syscall.ENOTEMPTY, `the group is not empty: "full" holds "in"`},
		{"", "a link that leaves the store", func() error {
			return os.Symlink("/etc", at("etc"))
		}, syscall.EPERM, "would leave the store"},
		{"g", "a copy of a link that leaves the store", func() error {
			return os.Symlink("../.zarrfs/outside", at("g/etc"))
		}, syscall.EPERM, "a copy of a link that leads outside the store"},
		{"rows.json", "a document that is too long", func() error {
			f := openFile(t, at("rows.json"), os.O_RDWR)
			defer f.Close()
			return f.Truncate(1 << 60)
		}, syscall.EFBIG, "expected at most 67108864"},
		{"", "a file beside status.json", put(".zarrfs/x.npy", "x"), syscall.EPERM,
			"the folder of the mount's own files"},
		{"", "a folder beside status.json", func() error {
			return os.Mkdir(at(".zarrfs/x"), 0o777)
		}, syscall.EPERM, "the folder of the mount's own files"},
		{"", "status.json removed", func() error {
			return os.Remove(at(".zarrfs/status.json"))
		}, syscall.EPERM, "the folder of the mount's own files"},
		{"", "status.json written", put(".zarrfs/status.json", "{}"), syscall.EPERM,
			"the folder of the mount's own files"},
		{"", "the folder of status.json removed", func() error {
			return unix.Rmdir(at(".zarrfs"))
		}, syscall.EPERM, "the folder of the mount's own files"},
		{"", "an attribute of what is not an array", set("notes.txt", "user.zarr.attr.units", "K"),
			syscall.EOPNOTSUPP, "notes.txt is not an array, and has no attributes"},
		{"rows.raw", "an attribute that cannot be set", set("rows.raw", "user.zarrfs.error", "x"),
			syscall.EPERM, "is set by zarrfs itself"},
		{"rows.raw", "bytes that are no text", set("rows.raw", "user.zarr.attr.units", "\xff"),
			syscall.EINVAL, "expected JSON, or text in UTF-8"},
		{"rows.raw", "an attribute that is not of Zarr", set("rows.raw", "user.foo", "1"),
			syscall.EOPNOTSUPP, "an attribute of the array or group is user.zarr.attr.foo"},
		{"rows.raw", "an attribute of another kind", set("rows.raw", trusted, "1"),
			syscall.EOPNOTSUPP, "an attribute of the array or group is user.zarr.attr.bar"},
		{"notes.txt", "such an attribute of another file", set("notes.txt", "user.foo", "1"),
			syscall.EOPNOTSUPP, "is not an array, and has no attributes such as user.foo"},
		{"", "an attribute of what is not an array yet", func() error {
			f, err := os.Create(at("new.json"))
			noError(t, "create", err)
			defer os.Remove(at("new.json"))
			defer f.Close()
			return set("new.json", "user.zarr.attr.units", "K")()
		}, syscall.EOPNOTSUPP, "set user.zarr.attr.units once it is written and closed"},
		{"g", "chunks that are not lengths", set("g", "user.zarrfs.create.chunks", "many"),
			syscall.EINVAL, "expected auto, rows, or a length for each axis"},
	} {
		if err := tc.do(); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.what, err, tc.want)
		}
		saysWhy(t, at(tc.where), tc.why)
		_, out := zarrfs(t, "errors", dir)
		b, _ := os.ReadFile(log)
		for place, text := range map[string]string{"zarrfs errors": out,
			"the log": strings.ReplaceAll(string(b), `\"`, `"`)} {
			lines := strings.Split(strings.TrimSpace(text), "\n")
			if !strings.Contains(strings.Join(lines[max(0, len(lines)-3):], "\n"), tc.why) {
				t.Errorf("%s: %s ends in %q, expected %q", tc.what, place,
					lines[max(0, len(lines)-3):], tc.why)
			}
		}
	}
	known := stateFrom(dir).Mount.Errors
	label := set("notes.txt", "security.bar", "1")() // refused by the kernel, unless root sets it
	if os.Getuid() == 0 && !errors.Is(label, syscall.EOPNOTSUPP) {
		t.Errorf("a label: %v", label)
	}
	if now := stateFrom(dir).Mount.Errors; now != known {
		t.Errorf("a label, as editors set it: there are %d errors, expected %d", now, known)
	}
	write(t, store, "cut/c/0", chunk(0, 8))
	noError(t, "read what was mended", read("cut.raw")())
	saysWhy(t, at("cut.raw"), "")
	if state := bytesOf(t, at(".zarrfs/status.json")); len(state) == 0 {
		t.Error("status.json is empty")
	}
}

// TestStoreRemovedIsSaid: after the store's folder was removed nothing is taken. The reason names
// the store: in the log, by `zarrfs errors`, in recent_errors, and in user.zarrfs.error of the
// folder.
func TestStoreRemovedIsSaid(t *testing.T) {
	put := func(name string) func(string) error {
		file := npyFile("abcdef", 1, "(3,)")
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), file, 0o666) }
	}
	set := func(name string) func(string) error {
		return func(dir string) error {
			return unix.Setxattr(filepath.Join(dir, name), "user.zarr.attr.units", []byte("K"), 0)
		}
	}
	for what, do := range map[string]func(dir string) error{
		"a new array":             put("new.npy"),
		"a file of no array":      put("notes.txt"),
		"the bytes of an array":   put("rows.raw"),
		"a group":                 func(dir string) error { return os.Mkdir(dir+"/g", 0o777) },
		"an attribute":            set("rows.npy"),
		"an attribute of a group": set(""),
		"a size": func(dir string) error {
			return os.Truncate(dir+"/rows.raw", 0)
		},
		"a removal": func(dir string) error { return os.Remove(dir + "/rows.raw") },
		"a rename":  func(dir string) error { return os.Rename(dir+"/rows.npy", dir+"/r.npy") },
		"a link":    func(dir string) error { return os.Symlink("rows.npy", dir+"/l.npy") },
	} {
		store, log := writableStore(t), filepath.Join(t.TempDir(), "log")
		if what == "a group" { // also in a folder without a document
			noError(t, "remove the document", os.Remove(filepath.Join(store, "zarr.json")))
		}
		dir := mounted(t, store, "--log", log)
		noError(t, "remove the store", os.RemoveAll(store))
		if err := do(dir); !errors.Is(err, syscall.ENOENT) {
			t.Errorf("%s: %v, want ENOENT", what, err)
		}
		removedIsSaid(t, what, store, dir, log)
		if what == "a removal" { // it has left nothing in the mount
			again := os.DirFS(writableStore(t))
			noError(t, "the store again", os.CopyFS(store, again))
			saysWhy(t, dir, "")
		}
		if code, out := zarrfs(t, "umount", dir); code != 0 {
			t.Errorf("%s: umount: exit code %d: %s", what, code, out)
		}
	}
}

// removedIsSaid checks that all places where reasons are found say that the store was removed.
func removedIsSaid(t *testing.T, what, store, dir, log string) {
	t.Helper()
	why := "the store " + store + " was removed"
	saysWhy(t, dir, why)
	b, _ := os.ReadFile(log)
	_, printed := zarrfs(t, "errors", dir)
	for place, text := range map[string]string{
		"the log":       string(b),
		"zarrfs errors": printed,
		"recent_errors": fmt.Sprint(stateFrom(dir).RecentErrors),
	} {
		if !strings.Contains(text, why) || strings.Contains(text, "again: "+why) {
			t.Errorf("%s: %s has\n%s", what, place, text)
		}
	}
}

// TestStoreRemovedWhileWritten: bytes for an array that is open when the store's folder is removed
// keep the mount, and the reason names the store.
func TestStoreRemovedWhileWritten(t *testing.T) {
	store, log := writableStore(t), filepath.Join(t.TempDir(), "log")
	dir := mounted(t, store, "--log", log)
	f := openFile(t, filepath.Join(dir, "rows.raw"), os.O_RDWR)
	noError(t, "remove the store", os.RemoveAll(store))
	_, err := f.WriteAt([]byte("xx"), 0)
	if err = errors.Join(err, f.Close()); err == nil {
		t.Error("a write after the store was removed is accepted")
	}
	removedIsSaid(t, "a write", store, dir, log)
	code, out := zarrfs(t, "umount", dir)
	if code != exitMount || !strings.Contains(out, "the store "+store+" was removed") {
		t.Errorf("umount of what cannot be stored: exit code %d: %s", code, out)
	}
	zarrfs(t, "umount", "--force", dir)
}

package integration

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// vanishing mounts a store, writes "hello" to the array g/b, and calls vanish with the store's path
// before that is stored.
func vanishing(
	t *testing.T, vanish func(store string) error, flags ...string,
) (d *daemon, f *os.File) {
	t.Helper()
	d = started(t, treeStore(t), flags...)
	f, err := os.OpenFile(d.path("g/b.raw"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err = f.WriteAt([]byte("hello"), 0); err == nil {
		err = vanish(d.store)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d, f
}

// TestVanishedArray: an array is removed behind the mount's back while what was written to it is
// not stored. Its writer gets an error. The name is free again as soon as the array is closed,
// whatever is made there.
func TestVanishedArray(t *testing.T) {
	source := mount(t, treeStore(t))
	for _, tc := range []struct{ name, removed, again string }{
		{"copied", "g/b", "cp $NEW.npy g/b.npy && cmp $NEW.npy g/b.npy"},
		{"document", "g/b", "cp $NEW.json g/b.json; cp $NEW.raw g/b.raw; cmp $NEW.raw g/b.raw"},
		{"bytes", "g/b", "cp $NEW.raw g/b.raw; cp $NEW.json g/b.json; cmp $NEW.raw g/b.raw"},
		{"temporary", "g/b", "cp $NEW.npy g/.tmp && mv g/.tmp g/b.npy && cmp $NEW.npy g/b.npy"},
		{"renamed", "g/b", "mv g/sub/c.npy g/b.npy && cmp $NEW.npy g/b.npy"},
		{"group", "g/b", "mkdir g/b && cp $NEW.npy g/b/c.npy"},
		{"with its group", "g",
			"sleep 1.1; mkdir -p g && cp $NEW.npy g/b.npy && cmp $NEW.npy g/b.npy"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			scratch := t.TempDir()
			d, f := vanishing(t, func(store string) error {
				return os.RemoveAll(filepath.Join(store, tc.removed))
			}, "--scratch-dir", scratch)
			again := "export NEW=" + filepath.Join(source, "g/sub/c") + "; cd " + d.dir +
				" && " + tc.again
			out, err := command("bash", "-ec", again)
			if err == nil || !strings.Contains(string(out), "busy") {
				t.Errorf("while the array is open: %v\n%s", err, out)
			}
			out, _ = command("rm", d.path("g/b.npy"))
			if !strings.Contains(string(out), "No such file") {
				t.Errorf("rm: %s", out)
			}
			if err := f.Sync(); !errors.Is(err, syscall.ESTALE) {
				t.Errorf("fsync: %v", err)
			}
			if err := f.Close(); !errors.Is(err, syscall.ESTALE) {
				t.Errorf("close: %v", err)
			}
			shell(t, d.dir, again)
			kept, err := filepath.Glob(filepath.Join(scratch, "zarrfs-unsaved-*.unsaved"))
			if err != nil || len(kept) != 1 || !bytes.HasPrefix(read(t, kept[0]), []byte("hello")) {
				t.Errorf("kept in %q, %v", kept, err)
			}
			said := regexp.MustCompile(`no longer exists is now in a file.* array=g/b bytes=5 `)
			if got := said.FindAllString(d.logged(), -1); len(got) != 1 {
				t.Errorf("the log says it %d times, expected once", len(got))
			}
			out, err = command(d.bin, "umount", d.dir)
			if code := exitCode(err); code != 4 || !strings.Contains(string(out), kept[0]) {
				t.Errorf("umount: exit code %d\n%s", code, out)
			}
		})
	}
}

// TestVanishedLines: the name of an array of strings that another program has removed is free at
// once, for numbers and for strings. A writer of its lines gets an error, and the next array of
// that name has none of them. The mount can be unmounted.
func TestVanishedLines(t *testing.T) {
	source := mount(t, treeStore(t))
	for _, tc := range []struct{ name, again, check string }{
		{"nothing", "true", "test ! -e g/sub/w.json"},
		{"numbers", "cp $FROM/c.npy g/sub/w.npy", "cmp $FROM/c.npy g/sub/w.npy"},
		{"strings", "cp $FROM/w.json* g/sub/", "cmp $FROM/w.jsonl g/sub/w.jsonl"},
		{
			"renamed strings",
			"for v in json jsonl; do cp $FROM/w.$v g/sub/v.$v; done; mv g/sub/v.json g/sub/w.json",
			"cmp $FROM/w.jsonl g/sub/w.jsonl",
		},
		{"group", "mkdir g/sub/w", "test ! -e g/sub/w.jsonl"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := started(t, treeStore(t))
			in := "export FROM=" + filepath.Join(source, "g/sub") + "; "
			f, err := os.OpenFile(d.path("g/sub/w.jsonl"), os.O_RDWR|os.O_APPEND, 0)
			if err == nil {
				_, err = f.WriteString("\"new\"\n")
			}
			if err == nil {
				err = os.RemoveAll(filepath.Join(d.store, "g/sub/w"))
			}
			if err != nil {
				t.Fatal(err)
			}
			shell(t, d.dir, in+tc.again)
			n, err := f.ReadAt(make([]byte, 100), 0)
			if err == nil || errors.Is(err, io.EOF) {
				t.Errorf("the removed array's lines are %d bytes, %v, expected an error", n, err)
			}
			if err := f.Sync(); !errors.Is(err, syscall.ESTALE) {
				t.Errorf("fsync: %v", err)
			}
			if err := f.Close(); !errors.Is(err, syscall.ESTALE) {
				t.Errorf("close: %v", err)
			}
			shell(t, d.dir, in+"sync g/sub && "+tc.check)
			if err := d.stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestVanishedGroup: another program removes a group while files of its arrays are open, and
// something else gets its name. The writers get errors, and what is there now has nothing of them.
// It is not parallel: a program that another test starts would flush the open files.
func TestVanishedGroup(t *testing.T) {
	const moved = "cmp $OLD/w.jsonl g/sub/w.jsonl; cmp $OLD/c.raw g/sub/c.raw"
	for _, tc := range []struct {
		name, again, check string
		empty              bool // only what is in the group is removed
		late               bool // the line is written after the removal
	}{
		{name: "renamed group", again: "mv -T h g/sub", check: moved},
		{name: "renamed group, late line", late: true, again: "mv -T h g/sub", check: moved},
		{name: "emptied", empty: true, again: "mv -T h g/sub", check: moved},
		{name: "array", again: "mv h/c.npy g/sub.npy", check: "cmp $OLD/c.raw g/sub.raw"},
		{name: "link", again: "sleep 1.1; ln -s ../h g/sub", check: "cmp $OLD/w.jsonl h/w.jsonl"},
		{name: "group", again: "sleep 1.1; mkdir g/sub; cp h/* g/sub/", check: moved},
	} {
		t.Run(tc.name, func(t *testing.T) {
			scratch := t.TempDir()
			d := started(t, treeStore(t), "--scratch-dir", scratch)
			in := "export OLD=" + t.TempDir() + "; "
			shell(t, d.dir, in+`mkdir h; cp g/sub/c.json g/sub/w.json h/
				printf '"x"\n"y"\n' > h/w.jsonl; sync h; cp h/* $OLD/`)
			numbers := opened(t, d.path("g/sub/c.raw"), os.O_RDWR)
			lines := opened(t, d.path("g/sub/w.jsonl"), os.O_RDWR|os.O_APPEND)
			write := func() error {
				_, err := lines.WriteString("\"new\"\n")
				return err
			}
			_, err := numbers.WriteAt([]byte("hello"), 0)
			if !tc.late {
				err = errors.Join(err, write())
			}
			err = errors.Join(err, removeGroup(filepath.Join(d.store, "g/sub"), tc.empty))
			if err != nil {
				t.Fatal(err)
			}
			out, err := command("sh", "-ec", "cd "+d.dir+"; "+tc.again)
			if err == nil || !strings.Contains(string(out), "busy") {
				t.Errorf("while an array of it is open: %v\n%s", err, out)
			}
			if err := numbers.Sync(); !errors.Is(err, syscall.ESTALE) {
				t.Errorf("fsync of numbers: %v", err)
			}
			if err := numbers.Close(); !errors.Is(err, syscall.ESTALE) {
				t.Errorf("close of numbers: %v", err)
			}
			shell(t, d.dir, tc.again)
			if tc.late {
				err = write()
			} else {
				err = lines.Sync()
			}
			if !errors.Is(err, syscall.ESTALE) {
				t.Errorf("write and fsync of a line: %v", err)
			}
			if err := lines.Close(); !tc.late && !errors.Is(err, syscall.ESTALE) {
				t.Errorf("close of lines: %v", err)
			}
			shell(t, d.dir, in+"sync .; "+tc.check)
			kept, err := filepath.Glob(filepath.Join(scratch, "zarrfs-unsaved-*.unsaved"))
			if err != nil || len(kept) != 1 || !bytes.HasPrefix(read(t, kept[0]), []byte("hello")) {
				t.Errorf("kept in %q, %v", kept, err)
			}
		})
	}
}

// opened opens a file until the end of the test.
func opened(t *testing.T, path string, flags int) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// removeGroup removes a group, or only what is in it, as another program does.
func removeGroup(dir string, empty bool) error {
	if !empty {
		return os.RemoveAll(dir)
	}
	return errors.Join(os.RemoveAll(filepath.Join(dir, "c")), os.RemoveAll(filepath.Join(dir, "w")))
}

// TestVanishedDocument: another program removes an array or group whose document is open. What is
// written to the document neither brings it back nor changes what has its name by then.
func TestVanishedDocument(t *testing.T) {
	source := mount(t, treeStore(t))
	for _, tc := range []struct{ name, document, removed, again, check string }{
		{"array", "g/b.json", "g/b", "true", "test ! -e g/b.json"},
		{"group", "g/sub/zarr.json", "g/sub", "true", "test ! -e g/sub"},
		{"copied", "g/b.json", "g/b", "cp $FROM/sub/c.json g/b.json",
			"diff g/b.json $FROM/sub/c.json"},
		{"group of its name", "g/b.json", "g/b", "mkdir g/b", "! grep shape g/b/zarr.json"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := started(t, treeStore(t))
			in := "export FROM=" + filepath.Join(source, "g") + "; "
			f, err := os.OpenFile(d.path(tc.document), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(f)
			if err == nil {
				err = os.RemoveAll(filepath.Join(d.store, tc.removed))
			}
			if err != nil {
				t.Fatal(err)
			}
			shell(t, d.dir, "sleep 1.1; "+in+tc.again)
			_, err = f.WriteAt(append(text, '\n'), 0)
			if err != nil && !errors.Is(err, syscall.ESTALE) {
				t.Error(err)
			}
			if err := f.Close(); !errors.Is(err, syscall.ESTALE) {
				t.Errorf("close: %v", err)
			}
			shell(t, d.dir, in+tc.check)
			if err := d.stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestStoreVanishesTemporarily: a store that is not there for a while, as a whole, loses nothing.
func TestStoreVanishesTemporarily(t *testing.T) {
	away := ""
	d, f := vanishing(t, func(store string) error {
		away = store + ".away"
		return os.Rename(store, away)
	})
	if out, err := command("cp", filepath.Join(away, "zarr.json"), d.path("g/b.npy")); err == nil {
		t.Errorf("cp: %s", out)
	}
	if err := os.Rename(away, d.store); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if got := read(t, d.path("g/b.raw")); !bytes.HasPrefix(got, []byte("hello")) {
		t.Errorf("the array begins with %q", got[:5])
	}
	if err := d.stop(); err != nil {
		t.Error(err)
	}
}

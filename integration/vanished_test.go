package integration

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// vanishing mounts a store, writes "hello" to the array g/b, and calls vanish with the store's path
// before that is stored.
func vanishing(t *testing.T, vanish func(store string) error, flags ...string) (d *daemon, f *os.File) {
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
// not stored. That is said to its writer, and the name can be had again: not while the array is
// open, but as soon as it is closed, by whatever makes an array or group.
func TestVanishedArray(t *testing.T) {
	source := mount(t, treeStore(t))
	for _, tc := range []struct{ name, removed, again string }{
		{"copied", "g/b", "cp $NEW.npy g/b.npy && cmp $NEW.npy g/b.npy"},
		{"document", "g/b", "cp $NEW.json g/b.json && cp $NEW.raw g/b.raw && cmp $NEW.raw g/b.raw"},
		{"bytes", "g/b", "cp $NEW.raw g/b.raw && cp $NEW.json g/b.json && cmp $NEW.raw g/b.raw"},
		{"temporary", "g/b", "cp $NEW.npy g/.tmp && mv g/.tmp g/b.npy && cmp $NEW.npy g/b.npy"},
		{"renamed", "g/b", "mv g/sub/c.npy g/b.npy && cmp $NEW.npy g/b.npy"},
		{"group", "g/b", "mkdir g/b && cp $NEW.npy g/b/c.npy"},
		{"with its group", "g", "sleep 1.1; mkdir -p g && cp $NEW.npy g/b.npy && cmp $NEW.npy g/b.npy"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			scratch := t.TempDir()
			d, f := vanishing(t, func(store string) error {
				return os.RemoveAll(filepath.Join(store, tc.removed))
			}, "--scratch-dir", scratch)
			again := "export NEW=" + filepath.Join(source, "g/sub/c") + "; cd " + d.dir + " && " + tc.again
			if out, err := command("bash", "-c", again); err == nil || !strings.Contains(string(out), "busy") {
				t.Errorf("while the array is open: %v\n%s", err, out)
			}
			if out, _ := command("rm", d.path("g/b.npy")); !strings.Contains(string(out), "No such file") {
				t.Errorf("rm: %s", out)
			}
			if err := f.Sync(); !errors.Is(err, syscall.ESTALE) {
				t.Errorf("fsync: %v", err)
			}
			if err := f.Close(); !errors.Is(err, syscall.ESTALE) {
				t.Errorf("close: %v", err)
			}
			shell(t, d.dir, again)
			kept, err := filepath.Glob(filepath.Join(scratch, "zarrfs-unsaved-*.raw"))
			if err != nil || len(kept) != 1 || !bytes.HasPrefix(read(t, kept[0]), []byte("hello")) {
				t.Errorf("kept in %q, %v", kept, err)
			}
			said := regexp.MustCompile(`given up: .* array=g/b bytes=5 `)
			if got := said.FindAllString(d.logged(), -1); len(got) != 1 {
				t.Errorf("the log says it %d times, expected once", len(got))
			}
			if out, err := command(d.bin, "umount", d.dir); err != nil || !strings.Contains(string(out), kept[0]) {
				t.Errorf("umount: %v\n%s", err, out)
			}
		})
	}
}

// TestVanishedLines: the name of an array of strings that another program has removed is free at
// once, also for an array of numbers. A writer of its lines gets an error, and nothing stands
// against the end of the mount.
func TestVanishedLines(t *testing.T) {
	source := mount(t, treeStore(t))
	d := started(t, treeStore(t))
	f, err := os.OpenFile(d.path("g/sub/w.jsonl"), os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString("\"new\"\n")
	}
	if err == nil {
		err = os.RemoveAll(filepath.Join(d.store, "g/sub/w"))
	}
	if err != nil {
		t.Fatal(err)
	}
	shell(t, d.dir, "cp "+filepath.Join(source, "g/sub/c.npy")+" g/sub/w.npy")
	if err := f.Sync(); !errors.Is(err, syscall.ESTALE) {
		t.Errorf("fsync: %v", err)
	}
	if err := f.Close(); !errors.Is(err, syscall.ESTALE) {
		t.Errorf("close: %v", err)
	}
	shell(t, d.dir, "sync g/sub && cmp "+filepath.Join(source, "g/sub/c.npy")+" g/sub/w.npy")
	if err := d.stop(); err != nil {
		t.Error(err)
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

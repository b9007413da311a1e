package integration

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMappedTexts: a program maps a document or lines, closes the file, and writes to the mapping.
// The kernel hands over the pages when the mapping ends, after the last close. Their text is stored
// then, and a refusal is among the errors of the mount.
func TestMappedTexts(t *testing.T) {
	for _, tc := range []struct{ name, file, old, new, errors string }{
		{"document", "g/b.json", `"K"`, `"C"`, ""},
		{"group's document", "g/zarr.json", `"tree"`, `"herb"`, ""},
		{"lines", "g/sub/w.jsonl", `"grün"`, `"blau-"`, ""},
		{"refused document", "g/b.json", `"K"`, `!!!`, "g/b"},
		{"refused lines", "g/sub/w.jsonl", `"grün"`, `!!!!!!!`, "g/sub/w"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := started(t, treeStore(t))
			before := read(t, d.path(tc.file))
			want := bytes.Replace(before, []byte(tc.old), []byte(tc.new), 1)
			if len(want) != len(before) || bytes.Equal(want, before) {
				t.Fatalf("%q is not replaced by %q in:\n%s", tc.old, tc.new, before)
			}
			writeMapped(t, d.path(tc.file), want)
			found := func() bool { return bytes.Equal(read(t, d.path(tc.file)), want) }
			if tc.errors != "" {
				want = before
				found = func() bool {
					out, err := command(d.bin, "errors", d.dir)
					return err == nil && strings.Contains(string(out), tc.errors)
				}
			}
			end := time.Now().Add(20 * time.Second)
			for ; !found(); time.Sleep(20 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("not found:\n%s", want)
				}
			}
			if err := d.stop(); err != nil {
				t.Error(err)
			}
			dir := mount(t, d.store)
			if got := read(t, filepath.Join(dir, tc.file)); !bytes.Equal(got, want) {
				t.Errorf("stored:\n%s\nexpected:\n%s", got, want)
			}
		})
	}
}

// writeMapped writes a text over all of a file, by a mapping that outlives the descriptor.
func writeMapped(t *testing.T, path string, text []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	p, err := unix.Mmap(int(f.Fd()), 0, len(text), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	copy(p, text)
	if err := unix.Munmap(p); err != nil {
		t.Error(err)
	}
}

package integration

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// setAside are files a.raw that wait for an array, and ways to make the array with other data.
var setAside = []struct{ name, text, script string }{
	{"r1.raw", "of r1\n", "cp $SRC/b.npy r1.npy"},
	{"r2.raw", "of r2\n", "cp $SRC/b.npy c.npy; mv c.npy r2.npy"},
	{"r3.raw", "of r3\n", "cp $SRC/b.npy .r3.npy.Xy7z12; mv .r3.npy.Xy7z12 r3.npy"},
	{"r4.raw", "of r4\n", "dd if=$SRC/b.npy of=r4.npy bs=50 status=none"},
	{"g/r5.raw", "of r5\n", "cp $SRC/b.npy g/r5.npy; mv g h; mv h g"},
	{"r6.raw", "of r6\n", "exec 7>>r6.raw; cp $SRC/b.npy r6.npy; echo more >&7; exec 7>&-"},
	{"r7.raw", strings.Repeat("as long ", 10), "cp $SRC/b.npy r7.npy"},
}

// TestFileOfNoArrayIsSetAside makes arrays where a file has the name of their .raw already. Its
// bytes are not lost: they are in the folder of other files after the mount, and the log says so at
// once.
func TestFileOfNoArrayIsSetAside(t *testing.T) {
	for _, format := range []string{"2", "3"} {
		t.Run("format "+format, func(t *testing.T) {
			state := t.TempDir()
			t.Setenv("XDG_STATE_HOME", state)
			t.Setenv("SRC", oneArray(t))
			d := started(t, libraryStore(t, format))
			want := make(map[string]string)
			for _, c := range setAside {
				if err := os.WriteFile(d.path(c.name), []byte(c.text), 0o640); err != nil {
					t.Fatal(err)
				}
				shell(t, d.dir, c.script)
				at, file := filepath.Split(c.name)
				want[at+"not of arrays/"+file] = c.text
				awaitAside(t, d, c.name)
				if shown := string(read(t, d.path(c.name))); strings.HasPrefix(shown, c.text) {
					t.Errorf("%s does not show the array", c.name)
				}
			}
			want["not of arrays/r6.raw"] += "more\n"
			shell(t, d.dir, "mv r1.npy moved.npy; echo again > r1.raw; cp $SRC/b.npy r1.npy")
			want["not of arrays~/r1.raw"] = "again\n"
			checkAside(t, d, state, want)
		})
	}
}

// awaitAside waits until the log says that a file was set aside.
func awaitAside(t *testing.T, d *daemon, name string) {
	t.Helper()
	want := "not of that array: it is kept in a folder when the mount ends\" file=" + name + " "
	for end := time.Now().Add(patience); !strings.Contains(d.logged(), want); {
		time.Sleep(20 * time.Millisecond)
		if time.Now().After(end) {
			t.Fatalf("the log does not say that %s is kept:\n%s", name, d.logged())
		}
	}
}

// checkAside ends a mount, and looks for what was set aside in its folder of other files.
func checkAside(t *testing.T, d *daemon, state string, want map[string]string) {
	t.Helper()
	said := run(t, d.bin, "umount", d.dir)
	if err := d.wait(); err != nil {
		t.Fatal(err)
	}
	d.process = nil
	folders, _ := filepath.Glob(filepath.Join(state, "zarrfs/other-files/s-*"))
	got := make(map[string]string)
	for _, folder := range folders {
		maps.Copy(got, tree(t, folder))
	}
	delete(got, "zarrfs-note.json")
	sameTree(t, got, want)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !strings.Contains(said, `"`+name+`"`) {
			t.Errorf("umount does not name %s:\n%s", name, said)
		}
	}
}

// TestSameBytesAreNotSetAside: a file of the name and the bytes of the array's .raw is not kept.
func TestSameBytesAreNotSetAside(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	t.Setenv("SRC", oneArray(t))
	d := started(t, libraryStore(t, "3"))
	shell(t, d.dir, `cp $SRC/b.npy b.npy; cp b.raw $SRC/b.raw
		cp $SRC/b.raw c.raw; cp $SRC/b.npy c.npy
		exec 7>e.raw; head -c 9 $SRC/b.raw >&7; cp $SRC/b.npy e.npy; tail -c +10 $SRC/b.raw >&7
		exec 7>&-
		touch f.raw; cp $SRC/b.npy f.npy
		cp $SRC/b.raw m.raw; mv b.npy m.npy`)
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if !strings.Contains(string(read(t, d.path(".zarrfs/status.json"))), "not of arrays") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("set aside:\n%s", read(t, d.path(".zarrfs/status.json")))
		}
	}
	checkAside(t, d, state, nil)
	if strings.Contains(d.logged(), "not of that array") {
		t.Errorf("the log says\n%s", d.logged())
	}
}

// oneArray returns a folder with b.npy, of 10 numbers.
func oneArray(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	data := make([]byte, 80)
	for i := range data {
		data[i] = byte(i % 8)
	}
	npy := npyFile("<f8", "(10,)", string(data))
	if err := os.WriteFile(filepath.Join(dir, "b.npy"), npy, 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

package integration

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestEmptyFileAndArrayOfAnother: a file is made and stays empty, and another program then makes
// that array in the store. The file is the array's from then on, and is listed once.
func TestEmptyFileAndArrayOfAnother(t *testing.T) {
	for _, name := range []string{"v.npy", "v.json"} {
		for _, first := range []string{"list", "read", "append"} {
			t.Run(name+" "+first, func(t *testing.T) { becomesOfAnother(t, name, first) })
		}
	}
}

// becomesOfAnother does that with one file, and begins with one of the things that a program does.
func becomesOfAnother(t *testing.T, name, first string) {
	store := semanticsStore(t)
	dir := mount(t, store)
	file := filepath.Join(dir, name)
	want := read(t, filepath.Join(dir, "a"+filepath.Ext(name)))
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := read(t, file); len(got) != 0 {
		t.Fatalf("%d bytes of a file that was made empty", len(got))
	}
	shell(t, store, "cp -r a v")
	switch first {
	case "append": // opened, and nothing is written
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil || f.Close() != nil {
			t.Fatal(err)
		}
	case "read":
		if got := read(t, file); !bytes.Equal(got, want) {
			t.Errorf("%d bytes, expected the %d of the array", len(got), len(want))
		}
	}
	expectListedOnce(t, dir, "v.json", "v.npy", "v.raw")
	if got := read(t, file); !bytes.Equal(got, want) {
		t.Errorf("%d bytes, expected the %d of the array", len(got), len(want))
	}
}

// expectListedOnce lists a folder, without attributes and with them.
func expectListedOnce(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, how := range []string{"ls -U", "ls -l | sed 's/.* //'"} {
		out, err := command("sh", "-c", "cd "+dir+" && "+how)
		if err != nil {
			t.Fatal(err)
		}
		listed := bytes.Fields(out)
		for _, name := range names {
			is := func(word []byte) bool { return string(word) == name }
			i := slices.IndexFunc(listed, is)
			if i < 0 || slices.ContainsFunc(listed[i+1:], is) {
				t.Errorf("%s: %q, expected %s once", how, listed, name)
			}
		}
	}
}

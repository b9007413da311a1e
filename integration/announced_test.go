package integration

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
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

// TestCreatedWhileGroupIsRenamed: a group is renamed back and forth while a program writes the
// document and the .npy of an array in it. No rename fails. Afterwards each file is listed once,
// and is the array's.
func TestCreatedWhileGroupIsRenamed(t *testing.T) {
	store := semanticsStore(t)
	shell(t, store, "cp -r a g/c")
	dir := mount(t, store)
	document, npy := read(t, filepath.Join(dir, "g/c.json")), read(t, filepath.Join(dir, "g/c.npy"))
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for name, content := range map[string][]byte{"c.json": document, "c.npy": npy} {
		writers.Go(func() { rewriteUntil(t, stop, filepath.Join(dir, "g", name), content) })
	}
	for end := time.Now().Add(raceTime()); time.Now().Before(end); {
		for _, names := range [][2]string{{"g", "g2"}, {"g2", "g"}} {
			from, to := filepath.Join(dir, names[0]), filepath.Join(dir, names[1])
			if err := os.Rename(from, to); err != nil {
				t.Errorf("rename %s: %v", names, err)
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
	close(stop)
	writers.Wait()
	expectListedOnce(t, filepath.Join(dir, "g"), "c.json", "c.npy", "c.raw")
	for name, want := range map[string][]byte{"c.json": document, "c.npy": npy} {
		if got := read(t, filepath.Join(dir, "g", name)); len(got) != len(want) {
			t.Errorf("%s: %d bytes, expected %d", name, len(got), len(want))
		}
	}
}

// rewriteUntil writes a file again and again. It may have another path at any moment, but what is
// written is always valid.
func rewriteUntil(t *testing.T, stop <-chan struct{}, path string, content []byte) {
	for {
		select {
		case <-stop:
			return
		default:
			err := os.WriteFile(path, content, 0o644)
			if errors.Is(err, syscall.EINVAL) || errors.Is(err, os.ErrExist) {
				t.Error(err)
			}
		}
	}
}

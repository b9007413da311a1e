package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
)

// plainStores is the variable that gives the program of the tests a plain backend. That backend
// cannot write, and has no advice of its own.
const plainStores = "ZARRFS_PLAIN_STORES"

func init() {
	if os.Getenv(plainStores) != "" {
		backends["plain"] = backend{open: inFile(openUnadvised, "")}
	}
}

// openUnadvised opens a folder, as a driver that reads and lists, and can do nothing else.
func openUnadvised(path string) (store.Driver, error) {
	d, err := dirstore.Open(path, nil)
	return struct{ store.Driver }{d}, err
}

// TestStoreWithoutAdvice: the user of a store that cannot be written to is told what to do, though
// its backend says nothing of it.
func TestStoreWithoutAdvice(t *testing.T) {
	needFuse(t)
	t.Setenv(plainStores, "1")
	folder, dir := writableStore(t), t.TempDir()
	name := "plain://" + folder
	const advice = ": zarrfs cannot change this store. Copy it to a folder"
	code, out := zarrfs(t, "mount", "--log", filepath.Join(t.TempDir(), "log"), name, dir)
	t.Cleanup(func() { zarrfs(t, "umount", dir) })
	want := "zarrfs: mounted read-only: " + name + advice + "\n"
	if code != 0 || !strings.Contains(out, want) {
		t.Errorf("exit code %d: %q, want %q", code, out, want)
	}
	got, err := os.ReadFile(filepath.Join(dir, "rows.raw"))
	noError(t, "read", err)
	check(t, "rows.raw", got, stored(t, folder, "rows.raw"))
	for _, args := range [][]string{
		{"create", name, "x", "--shape", "3", "--dtype", "i4"}, {"migrate", name, "--to", "2"},
	} {
		code, out := zarrfs(t, args...)
		if code != exitStore || !strings.Contains(out, name+advice) {
			t.Errorf("%v: exit code %d: %q, want %q", args, code, out, name+advice)
		}
	}
}

// TestEndingsOfFiles: a new kind of local files is one row of the table. Its names and its scheme
// open such files, and the text about a file of no kind names it.
func TestEndingsOfFiles(t *testing.T) {
	errOpened := errors.New("opened")
	backends["jar"] = backend{endings: []string{".jar"},
		open: func(path string, _ *openOptions) (*source, error) {
			return nil, fmt.Errorf("%w %s", errOpened, path)
		}}
	t.Cleanup(func() { delete(backends, "jar") })
	at := func(name string) string { return filepath.Join(t.TempDir(), name) }
	ending, upper, none, folder := at("a.jar"), at("a.JAR"), at("a.bin"), at("b.jar")
	for _, file := range []string{ending, upper, none} {
		noError(t, "write", os.WriteFile(file, nil, 0o666))
	}
	noError(t, "mkdir", os.Mkdir(folder, 0o777))
	for name, want := range map[string]string{
		ending: ending, upper: upper, "file://" + ending: ending,
		"jar:" + none: none, "jar://" + none: none,
	} {
		_, err := openSource(name, nil)
		if !errors.Is(err, errOpened) || err.Error() != "opened "+want {
			t.Errorf("%s: %v, want that %s was opened", name, err, want)
		}
	}
	_, err := openSource(none, nil)
	want := none + " is a file; a store is a folder, or a jar or zip file " +
		"(for one of another name: jar:" + none + " or zip:" + none + ")"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	s, err := openSource(folder, nil)
	noError(t, "open a folder with such a name", err)
	s.Close()
}

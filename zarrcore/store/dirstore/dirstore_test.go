package dirstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// ways are the two that paths are resolved: openat2, where there is one, and os.Root.
var ways = map[string]func(*root){
	"beneath": func(*root) {},
	"slowly":  func(r *root) { r.beneath = false },
}

// open opens the store in path; the test's end closes it.
func open(t testing.TB, path string, way func(*root)) *Driver {
	t.Helper()
	d, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	way(d.root.Load())
	t.Cleanup(func() { d.Close() })
	return d
}

func TestConformance(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T, objects map[string][]byte) store.Driver {
				dir := t.TempDir()
				writeFiles(t, dir, objects)
				return open(t, dir, way)
			})
		})
	}
}

// TestConformanceHeld: a directory that is held keeps the contract of a store.
func TestConformanceHeld(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T, objects map[string][]byte) store.Driver {
				dir := t.TempDir()
				if err := os.MkdirAll(filepath.Join(dir, "g/a"), 0o777); err != nil {
					t.Fatal(err)
				}
				writeFiles(t, filepath.Join(dir, "g/a"), objects)
				held, err := open(t, dir, way).Hold(t.Context(), "g/a")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { held.(*Driver).Close() })
				return held
			})
		})
	}
}

// writeFiles is faster than Put, which syncs.
func writeFiles(t testing.TB, dir string, objects map[string][]byte) {
	t.Helper()
	for key, data := range objects {
		path := filepath.Join(dir, filepath.FromSlash(key))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string][]byte{"file": nil})
	if _, err := Open(filepath.Join(dir, "none"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of nothing: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "file"), nil); err == nil {
		t.Error("Open of a file: no error")
	}
}

func TestClosedDriver(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string][]byte{"a": []byte("abc")})
	d := open(t, dir, ways["beneath"])
	o, err := d.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := d.Open(t.Context(), "a"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Open after Close: %v", err)
	}
	nothing := func(store.Parts) error { return nil }
	if _, err := d.Stage(t.Context(), "b", nothing); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Stage after Close: %v", err)
	}
	if n, err := o.ReadAt(make([]byte, 3), 0); n != 3 || err != nil {
		t.Errorf("an open object after the driver's Close: %d, %v", n, err)
	}
	d.Refresh("")
}

// What other writers leave is hidden from listings, but a directory never is.
func TestHidden(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string][]byte{
		"c/0": nil, "c/0.4c1f.partial": nil, "c/0.__lock": nil, "c/.zarrfs-12-34.tmp": nil,
		"c/.zarrfs-12": nil, "c/x.tmp": nil,
		"c/group.partial/zarr.json": nil, "c/.zattrs": nil,
	})
	var names []string
	err := open(t, dir, ways["beneath"]).List(t.Context(), "c", func(e store.Entry) error {
		names = append(names, e.Name)
		return nil
	})
	slices.Sort(names)
	if want := []string{".zarrfs-12", ".zattrs", "0", "group.partial", "x.tmp"}; err != nil ||
		!slices.Equal(names, want) {
		t.Errorf("List = %q, %v; want %q", names, err, want)
	}
}

// A Put that fails leaves the directory as it was.
func TestPutFails(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string][]byte{"g/a/x": nil, "f": nil})
	d := store.New(open(t, dir, ways["beneath"]), "")
	if err := d.Put(t.Context(), "g/a", []byte("over a directory")); err == nil {
		t.Error("Put over a directory: no error")
	}
	if err := d.Put(t.Context(), "f/x", []byte("below a file")); err == nil {
		t.Error("Put below a file: no error")
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "g")); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// Pipes, sockets and devices are refused, at once.
func TestNotRegular(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	listenUnix(t, filepath.Join(dir, "socket"))
	for name, way := range ways {
		d := open(t, dir, way)
		for _, key := range []string{"fifo", "socket"} {
			start := time.Now()
			if _, err := d.Open(t.Context(), key); !errors.Is(err, ErrNotRegular) {
				t.Errorf("%s: Open(%q): %v, want ErrNotRegular", name, key, err)
			}
			if _, err := d.Stat(t.Context(), key); !errors.Is(err, ErrNotRegular) {
				t.Errorf("%s: Stat(%q): %v, want ErrNotRegular", name, key, err)
			}
			n, err := d.Peek(t.Context(), key, make([]byte, 10))
			if !errors.Is(err, ErrNotRegular) {
				t.Errorf("%s: Peek(%q): %d, %v, want ErrNotRegular", name, key, n, err)
			}
			if took := time.Since(start); took > time.Second {
				t.Errorf("%s: %q took %v", name, key, took)
			}
		}
	}
}

// The store's directory is removed and recreated, as zarr-python overwrites a store.
func TestRefresh(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.zarr")
	writeFiles(t, path, map[string][]byte{"zarr.json": []byte("old")})
	d := open(t, path, ways["beneath"])
	if (d.root.Load().id == identity{}) {
		t.Skip("this system has no statx with mount numbers")
	}
	before := d.root.Load()
	if d.Refresh(""); d.root.Load() != before {
		t.Error("Refresh of an unchanged store opened it again")
	}
	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Stat(t.Context(), ""); err != nil {
		t.Errorf("Stat of a moved store: %v", err)
	}
	if err := os.RemoveAll(path + ".moved"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Stat(t.Context(), ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat of a removed store: %v", err)
	}
	d.Refresh("") // nothing there: keeps the old one, in which everything is missing
	if _, err := d.Open(t.Context(), "zarr.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open in a removed store: %v", err)
	}
	writeFiles(t, path, map[string][]byte{"zarr.json": []byte("new")})
	d.Refresh("")
	s := store.New(d, path)
	if data, _, err := s.ReadAll(t.Context(), "zarr.json", 100); string(data) != "new" {
		t.Errorf("after Refresh: %q, %v", data, err)
	}
}

// An object that is replaced while it is looked at is there, the old one or the new one. Whether a
// root is removed can be seen by its links, but an old object has none either.
func TestStatWhileReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.zarr")
	writeFiles(t, path, map[string][]byte{"0": []byte("old")})
	d := open(t, path, ways["beneath"])
	over := make(chan struct{})
	var replacing sync.WaitGroup
	replacing.Go(func() {
		for chunk, fresh := filepath.Join(path, "0"), filepath.Join(path, "fresh"); ; {
			select {
			case <-over:
				return
			default:
			}
			err := errors.Join(os.WriteFile(fresh, []byte("new"), 0o666), os.Rename(fresh, chunk))
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	for start := time.Now(); time.Since(start) < 500*time.Millisecond; {
		if _, err := d.Stat(t.Context(), "0"); err != nil {
			t.Errorf("Stat: %v", err)
			break
		}
	}
	close(over)
	replacing.Wait()
}

// A path longer than the kernel takes in one call is a path nevertheless.
func TestLongPath(t *testing.T) {
	d := store.New(open(t, t.TempDir(), ways["beneath"]), "")
	key := strings.Repeat("deep/", 1000) + "obj"
	if err := d.Put(t.Context(), key, []byte("deep")); err != nil {
		t.Fatal(err)
	}
	if data, _, err := d.ReadAll(t.Context(), key, 10); string(data) != "deep" {
		t.Errorf("%q, %.100v", data, err)
	}
	if err := d.Delete(t.Context(), key, store.If{}); err != nil {
		t.Errorf("Delete: %.100v", err)
	}
}

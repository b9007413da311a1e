package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/migrate"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
)

// TestMigration migrates every array that zarr-python 2 can write, in formats 1 and 2, to format 3.
// Each that is migrated reads as before, through a mount and by zarr-python 3, and going back
// leaves every file as it was. Those that are refused are listed. It takes minutes, so only `make
// interop` goes through all stores, by ZARRFS_INTEROP_ALL; otherwise it takes every sixth.
func TestMigration(t *testing.T) {
	v3, v2 := python(t, "ZARRFS_PY3", ".venv-v3"), python(t, "ZARRFS_PY2", ".venv-v2")
	out := storesDir(t)
	if !exists(filepath.Join(out, "interop.done")) {
		generate(t, v2, "interop/make_stores.py", "--writer", "zarr1", "--writer", "zarr2", out)
	}
	files, err := filepath.Glob(filepath.Join(out, "manifests", "zarr[12]-*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no stores: %v", err)
	}
	only := regexp.MustCompile(os.Getenv("ZARRFS_INTEROP_ONLY"))
	refused, migrated := map[string]int{}, 0
	for i, file := range files {
		if os.Getenv("ZARRFS_INTEROP_ALL") == "" && i%6 != 0 {
			continue
		}
		m := readManifest(t, file)
		if !only.MatchString(m.Store) {
			continue
		}
		t.Run(m.Store,
			func(t *testing.T) { migrated += testMigration(t, v3, out, file, m, refused) })
	}
	fmt.Printf("%s: arrays migrated: %d, refused: %d\n", t.Name(), migrated, sumOf(refused))
	for _, why := range slices.Sorted(maps.Keys(refused)) {
		fmt.Printf("  %4d  %s\n", refused[why], why)
	}
}

func sumOf(counts map[string]int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// testMigration migrates a copy of one store, array by array, and returns how many were. It counts
// the others by why.
func testMigration(
	t *testing.T, python, out, file string, m manifest, refused map[string]int,
) (migrated int) {
	copied := filepath.Join(t.TempDir(), filepath.Base(m.Store))
	if err := os.CopyFS(copied, os.DirFS(filepath.Join(out, "stores", m.Store))); err != nil {
		t.Fatal(err)
	}
	before := treeOf(t, copied)
	st, h := openStore(t, copied)
	type array struct {
		Path     string `json:"path"`
		Expected string `json:"expected"`
	}
	var done []array
	for _, a := range m.Arrays {
		p, err := migrate.Make(t.Context(), h, st, a.Path, 3)
		if err != nil {
			if !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%s: %v", a.Path, err)
			}
			refused[strings.TrimPrefix(err.Error(), fmt.Sprintf("%q: ", a.Path))]++
			continue
		}
		if err := p.Apply(t.Context(), st); err != nil {
			t.Fatalf("%s: %v", a.Path, err)
		}
		done = append(done, array{a.Path, a.Expected})
	}
	compareStore(t, python, out, copied, file, m)
	list := filepath.Join(t.TempDir(), "arrays.json")
	data, err := json.Marshal(done)
	if err == nil {
		err = os.WriteFile(list, data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	if printed, err := command(python, "interop/compare_migrated.py", copied,
		filepath.Join(out, "expected", m.Store), list); err != nil {
		t.Errorf("zarr-python 3: %s", printed)
	}
	for _, a := range done {
		r, err := migrate.Reverse(t.Context(), h, st, a.Path)
		if err == nil {
			err = r.Apply(t.Context(), st)
		}
		if err != nil {
			t.Fatalf("%s: %v", a.Path, err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	after := treeOf(t, copied)
	for name := range after {
		if content, ok := before[name]; !ok || content != after[name] {
			t.Errorf("%s is not as it was", name)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files, expected %d", len(after), len(before))
	}
	return len(done)
}

func openStore(t *testing.T, dir string) (*store.Store, *zarrcore.Hierarchy) {
	d, err := dirstore.Open(dir, &dirstore.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	st := store.New(d, dir)
	h, err := zarrcore.Open(t.Context(), st, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return st, h
}

// treeOf returns the content of all files below dir.
func treeOf(t *testing.T, dir string) map[string]string {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

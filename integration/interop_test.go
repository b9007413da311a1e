package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestInterop writes stores with the libraries that people use, mounts each, and compares every
// array byte for byte.
//
// ZARRFS_PY3 and ZARRFS_PY2 name Pythons with the packages of interop/requirements-v3.txt and
// -v2.txt; the default is .venv-v3 and .venv-v2 at the top of the repository. Without them the test
// skips, or fails if ZARRFS_REQUIRE_PEERS=1. ZARRFS_INTEROP_DIR names a folder for the stores,
// which are kept there and used again; ZARRFS_INTEROP_ONLY picks stores by a regular expression.
func TestInterop(t *testing.T) {
	py, out := interopStores(t)
	compareAll(t, py, out, interopNames)
}

// interopNames are the stores of TestInterop.
var interopNames = regexp.MustCompile(`^(zarr\d|zarrs|tensorstore|handmade)-?`)

// interopStores returns the folder of the stores of TestInterop, and the Python that compares them.
func interopStores(t *testing.T) (py, out string) {
	t.Helper()
	v3, v2 := python(t, "ZARRFS_PY3", ".venv-v3"), python(t, "ZARRFS_PY2", ".venv-v2")
	out = storesDir(t)
	if !exists(filepath.Join(out, "interop.done")) {
		script := "interop/make_stores.py"
		generate(t, v2, script, "--writer", "zarr1", "--writer", "zarr2", out)
		generate(t, v3, script, "--writer", "zarr3", "--writer", "tensorstore", "--writer",
			"handmade", out)
		generate(t, v3, script, "--writer", "zarrs", out)
		markDone(t, out, "interop.done")
	}
	return v3, out
}

// TestInteropNewest is TestInterop for the newest zarr-python 3, which needs Python 3.12 or later.
// ZARRFS_PY_NEWEST names one with the packages of interop/requirements-newest.txt; the default is
// .venv-newest.
func TestInteropNewest(t *testing.T) {
	newest := newestPython(t)
	out := storesDir(t)
	if !exists(filepath.Join(out, "newest.done")) {
		generate(t, newest, "interop/make_stores.py", "--writer", "newest", out)
		markDone(t, out, "newest.done")
	}
	names := `^newest-`
	if os.Getenv("ZARRFS_INTEROP_ALL") == "" {
		// most stores are as those of 3.1.6, and `make interop` goes through all
		names = `^newest-(v3-new|v3-types|both)`
	}
	compareAll(t, newest, out, regexp.MustCompile(names))
}

// newestPython finds the interpreter that has the newest zarr-python, or skips the test aloud: not
// all machines have a Python for it. ZARRFS_REQUIRE_NEWEST=1 forbids that.
func newestPython(t *testing.T) string {
	t.Helper()
	path, ok := findPython("ZARRFS_PY_NEWEST", ".venv-newest")
	if ok {
		return path
	}
	if os.Getenv("ZARRFS_REQUIRE_NEWEST") == "1" {
		t.Fatalf("no Python at %s: run `make peers`, or set ZARRFS_PY_NEWEST", path)
	}
	t.Skipf("SKIPPED: no Python of 3.12 or later with the newest zarr-python at %s: "+
		"run `make peers`, or set ZARRFS_PY_NEWEST", path)
	return ""
}

// TestCorpora reads golden data that others wrote through a mount. ZARRFS_CORPORA names the folder
// that holds zarr-python-2/fixture, numcodecs/fixture and c-blosc/compat, or the archives of them.
func TestCorpora(t *testing.T) {
	corpora := os.Getenv("ZARRFS_CORPORA")
	if corpora == "" {
		t.Skip("SKIPPED: ZARRFS_CORPORA is not set")
	}
	v3, v2 := python(t, "ZARRFS_PY3", ".venv-v3"), python(t, "ZARRFS_PY2", ".venv-v2")
	out := storesDir(t)
	if !exists(filepath.Join(out, "corpora.done")) {
		generate(t, v2, "interop/make_corpora.py", corpora, out)
		markDone(t, out, "corpora.done")
	}
	compareAll(t, v3, out, regexp.MustCompile(`^corpus-`))
}

// python finds the interpreter of one of the two environments, or skips the test.
func python(t *testing.T, env, venv string) string {
	t.Helper()
	path, ok := findPython(env, venv)
	if ok {
		return path
	}
	if os.Getenv("ZARRFS_REQUIRE_PEERS") == "1" {
		t.Fatalf("no Python at %s: run `make interop`, or set %s", path, env)
	}
	t.Skipf("SKIPPED: no Python with the peers' packages at %s: run `make interop`, or set %s",
		path, env)
	return ""
}

// findPython returns where the interpreter of an environment should be, and whether it is there.
func findPython(env, venv string) (path string, ok bool) {
	if path = os.Getenv(env); path == "" {
		path = filepath.Join("..", venv, "bin", "python")
	}
	if whole, err := filepath.Abs(path); err == nil { // tests run it in other folders
		path = whole
	}
	return path, exists(path)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func storesDir(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("ZARRFS_INTEROP_DIR"); dir != "" {
		return dir
	}
	return t.TempDir()
}

func markDone(t *testing.T, out, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(out, name), nil, 0o666); err != nil {
		t.Fatal(err)
	}
}

// generate runs a generator; what it prints (arrays per store, and what could not be written) goes
// to the test's log.
func generate(t *testing.T, python, script string, args ...string) {
	t.Helper()
	printed, err := exec.Command(python, append([]string{script}, args...)...).CombinedOutput()
	t.Logf("%s %v\n%s", script, args, printed)
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
}

// manifest is what a generator says of one store.
type manifest struct {
	Store   string
	Arrays  []struct{ Path, Expected string }
	Skipped []struct{ What, Reason string }
}

// compareAll mounts each store whose name matches, one after the other, and prints the sum of all
// comparisons.
func compareAll(t *testing.T, python, out string, names *regexp.Regexp) {
	t.Helper()
	compareAllAt(t, python, out, names, func(store string) string {
		return filepath.Join(out, "stores", store)
	})
}

// compareAllAt is compareAll for stores at the places that at returns.
func compareAllAt(
	t *testing.T, python, out string, names *regexp.Regexp, at func(store string) string,
) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(out, "manifests", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	only := regexp.MustCompile(os.Getenv("ZARRFS_INTEROP_ONLY"))
	var sum tally
	for _, file := range files {
		m := readManifest(t, file)
		if !names.MatchString(m.Store) || !only.MatchString(m.Store) {
			continue
		}
		t.Run(m.Store, func(t *testing.T) {
			sum.add(compareStore(t, python, out, at(m.Store), file, m))
		})
		sum.wanted += len(m.Arrays)
		sum.notWritten += len(m.Skipped)
	}
	fmt.Printf(
		"%s: arrays compared: %d, different: %d (%d could not be written by their library)\n",
		t.Name(), sum.compared, sum.different, sum.notWritten)
	if sum.compared != sum.wanted || sum.wanted == 0 {
		t.Errorf("%d arrays were to be compared, %d were", sum.wanted, sum.compared)
	}
}

// tally counts arrays.
type tally struct{ wanted, compared, different, notWritten int }

func (s *tally) add(compared, different int) {
	s.compared += compared
	s.different += different
}

func readManifest(t *testing.T, file string) manifest {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return m
}

var summary = regexp.MustCompile(`arrays compared: (\d+), different: (\d+)`)

// compareStore mounts a store, and returns how many arrays were compared and how many of them
// differ.
func compareStore(
	t *testing.T, python, out, store, file string, m manifest,
) (compared, different int) {
	dir := mount(t, store)
	printed, err := command(python, "interop/compare.py", dir,
		filepath.Join(out, "expected", m.Store), file)
	found := summary.FindSubmatch(printed)
	if err != nil || found == nil {
		t.Errorf("%s", strings.TrimSpace(string(printed)))
	}
	if found == nil {
		return 0, 0
	}
	compared, _ = strconv.Atoi(string(found[1]))
	different, _ = strconv.Atoi(string(found[2]))
	return compared, different
}

package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestWebIsReadAsFolder: the mount of a store on a web server has the same files with the same
// bytes as that of the folder that is served.
func TestWebIsReadAsFolder(t *testing.T) {
	store, want := treeInFolder(t)
	files := http.FileServer(http.Dir(filepath.Dir(store)))
	server := httptest.NewServer(files)
	t.Cleanup(server.Close)
	d := started(t, server.URL+"/s.zarr")
	sameTree(t, d.tree(t), want)
	for _, name := range []string{"requests", "bytes", "round_trip_ms"} {
		for _, text := range []string{
			string(read(t, d.path(".zarrfs/status.json"))),
			string(run(t, zarrfs(t), "status", "--json", d.dir)),
		} {
			has := regexp.MustCompile(`"traffic": {[^}]*"` + name + `": [0-9.]*[1-9]`)
			if !has.MatchString(text) {
				t.Errorf("there are no %s: %s", name, text)
			}
		}
	}
	if err := d.stop(); err != nil {
		t.Error(err)
	}
}

// TestWebWithoutListing: on a server that makes no indexes, consolidated metadata name the arrays.
func TestWebWithoutListing(t *testing.T) {
	py := python(t, "ZARRFS_PY3", ".venv-v3")
	for _, format := range []string{"2", "3"} {
		t.Run("format "+format, func(t *testing.T) {
			store := consolidatedStore(t, py, format)
			want := valuesOf(t, mountedTree(t, store, "--read-only"))
			server := httptest.NewServer(withoutIndex(filepath.Dir(store)))
			t.Cleanup(server.Close)
			sameTree(t, valuesOf(t, mountedTree(t, server.URL+"/s.zarr")), want)
		})
	}
}

// consolidatedStore returns a store that zarr-python has written, with consolidated metadata.
func consolidatedStore(t *testing.T, py, format string) string {
	t.Helper()
	store := filepath.Join(t.TempDir(), "s.zarr")
	run(t, py, "-W", "ignore", "-c", `
import sys, numpy, zarr
g = zarr.open_group(sys.argv[1], mode="w", zarr_format=int(sys.argv[2]))
g.create_array("g/sub/a", shape=(50, 7), chunks=(8, 3), dtype="i4", fill_value=5)[3:30] = 9
g.create_array("b", shape=(3,), chunks=(2,), dtype="f8")[:] = [1, 2, 3]
zarr.consolidate_metadata(sys.argv[1])
`, store, format)
	return store
}

// valuesOf replaces the documents among files by their values: consolidated metadata keep neither
// indentation nor order.
func valuesOf(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	for name, data := range files {
		if !strings.HasSuffix(name, ".json") {
			continue
		}
		var v any
		if err := json.Unmarshal([]byte(data), &v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, _ := json.Marshal(v)
		files[name] = string(text)
	}
	return files
}

// withoutIndex serves the files of a folder, and no indexes.
func withoutIndex(folder string) http.Handler {
	files := http.FileServer(http.Dir(folder))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, err := os.Stat(filepath.Join(folder, filepath.FromSlash(r.URL.Path)))
		if err == nil && info.IsDir() && strings.HasSuffix(r.URL.Path, "/") {
			http.Error(w, "no index", http.StatusForbidden)
			return
		}
		files.ServeHTTP(w, r)
	})
}

// TestWebZipIsReadAsFolder: a zip file on a web server is mounted as the folder that was packed, by
// few requests.
func TestWebZipIsReadAsFolder(t *testing.T) {
	need(t, "zip")
	store, want := treeInFolder(t)
	dir := t.TempDir()
	for method, flag := range map[string]string{"stored": "-0", "deflated": "-9"} {
		run(t, "sh", "-c", "cd "+store+" && zip -q -r "+flag+" "+dir+"/"+method+".zip .")
		run(t, "cp", dir+"/"+method+".zip", dir+"/"+method)
	}
	requests := new(atomic.Int64)
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	for _, url := range []string{
		server.URL + "/stored.zip", server.URL + "/deflated.zip",
		"zip+" + server.URL + "/stored", "zip+" + server.URL + "/deflated",
	} {
		t.Run(url, func(t *testing.T) {
			requests.Store(0)
			d := started(t, url)
			if n := requests.Load(); n > 2 {
				t.Errorf("the mount took %d requests, want at most 2", n)
			}
			sameTree(t, d.tree(t), want)
			if err := d.stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWebSecrets: the query of a URL, which may be a signature, goes to the server with each
// request, and is shown nowhere.
func TestWebSecrets(t *testing.T) {
	const secret = "sig=s3cr3t"
	store := treeStore(t)
	files := http.FileServer(http.Dir(filepath.Dir(store)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != secret {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	url, dir := server.URL+"/s.zarr", t.TempDir()
	if out, err := command(zarrfs(t), "mount", url, dir); err == nil {
		t.Errorf("the store is mounted without its signature: %s", out)
	}
	d := started(t, url+"?"+secret) // in the foreground, where a program keeps its arguments
	defer d.stop()
	dir = d.dir
	if len(read(t, filepath.Join(dir, "g/b.raw"))) == 0 {
		t.Error("an array is empty")
	}
	if _, err := os.ReadFile(filepath.Join(dir, "g/none.raw")); err == nil {
		t.Error("a file of an array that does not exist can be read")
	}
	var status struct{ Pid int }
	text := read(t, filepath.Join(dir, ".zarrfs/status.json"))
	if err := json.Unmarshal(text, &status); err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{"status.json": string(text)}
	cmdline := fmt.Sprintf("/proc/%d/cmdline", status.Pid)
	for _, path := range []string{"/proc/self/mountinfo", cmdline} {
		shown[path] = string(read(t, path))
		if !strings.Contains(shown[path], url) {
			t.Errorf("%s does not name the store", path)
		}
	}
	for _, verb := range []string{"status", "errors"} {
		out, _ := command(zarrfs(t), verb, dir)
		shown[verb] = string(out)
	}
	for where, text := range shown {
		if strings.Contains(text, "s3cr3t") {
			t.Errorf("%s shows the signature: %s", where, text)
		}
	}
}

// TestWebFolderOfStores: a URL above several stores shows them all.
func TestWebFolderOfStores(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.zarr", "deep/er/b.zarr"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		run(t, zarrfs(t), "create", filepath.Join(dir, name), "x", "--shape", "3", "--dtype", "i4")
	}
	want := mountedTree(t, dir, "--read-only")
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	sameTree(t, mountedTree(t, server.URL), want)
}

// TestWebHidesMissing: a server that answers 403 for what is missing is refused with advice, and
// read with --missing 403. Chunks that are not stored are then fill value.
func TestWebHidesMissing(t *testing.T) {
	store := consolidatedStore(t, python(t, "ZARRFS_PY3", ".venv-v3"), "2")
	files := http.FileServer(http.Dir(filepath.Dir(store)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, err := os.Stat(filepath.Join(filepath.Dir(store), filepath.FromSlash(r.URL.Path)))
		if err != nil || info.IsDir() {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	url := server.URL + "/s.zarr"
	out, err := command(zarrfs(t), "cat", "--view", "raw", url, "g/sub/a")
	if err == nil || !strings.Contains(string(out), "say --missing 403") {
		t.Errorf("without the flag: %v: %s", err, out)
	}
	got := run(t, zarrfs(t), "cat", "--missing", "403", "--view", "raw", url, "g/sub/a")
	if want := run(t, zarrfs(t), "cat", "--view", "raw", store, "g/sub/a"); got != want {
		t.Errorf("with the flag: %d bytes, want these %d", len(got), len(want))
	}
}

// TestWebLosesStore: while a server answers 404 to everything, chunks that were not read yet are
// errors, at once, and never fill value. When the store is back, they are read.
func TestWebLosesStore(t *testing.T) {
	store := treeStore(t)
	var isLost, noHead atomic.Bool
	files := http.FileServer(http.Dir(filepath.Dir(store)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case isLost.Load():
			http.NotFound(w, r)
		case noHead.Load() && r.Method == http.MethodHead:
			w.WriteHeader(http.StatusForbidden)
		default:
			files.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	noHead.Store(true)
	d := started(t, server.URL+"/s.zarr")
	want := run(t, zarrfs(t), "cat", "--view", "raw", store, "g/b")
	f, err := os.Open(d.path("g/b.raw"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	isLost.Store(true)
	if n, err := f.ReadAt(make([]byte, len(want)), 0); !errors.Is(err, syscall.EIO) {
		t.Errorf("of a lost store: %d bytes, %v, want EIO", n, err)
	}
	isLost.Store(false)
	copied := filepath.Join(t.TempDir(), "copy")
	run(t, "cp", "--sparse=auto", d.path("g/b.raw"), copied)
	if got := read(t, copied); string(got) != want {
		t.Errorf("cp has made %d bytes, want these %d", len(got), len(want))
	}
	f.Close()
	if err := d.stop(); err != nil {
		t.Error(err)
	}
}

// TestWebInterrupted: a program that lists or reads on a stalled server ends at once when it is
// told to stop.
func TestWebInterrupted(t *testing.T) {
	// Where a shell has started the tests in the background, they ignore SIGINT, and so would cat.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt)
	defer signal.Stop(caught)
	store := treeStore(t)
	var stalls atomic.Value // a part of the URLs that get no answer
	stalls.Store("nothing")
	files := http.FileServer(http.Dir(filepath.Dir(store)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, stalls.Load().(string)) {
			<-r.Context().Done()
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	d := started(t, server.URL+"/s.zarr")
	for _, c := range []struct{ command, path, stalls string }{
		{"ls", "g", "/g/b/"}, {"cat", "g/b.raw", "/c/"},
	} {
		for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM, os.Kill} {
			stalls.Store(c.stalls)
			cmd := exec.Command(c.command, d.path(c.path))
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(500 * time.Millisecond)
			began := time.Now()
			cmd.Process.Signal(signal)
			err := cmd.Wait()
			if took := time.Since(began); err == nil || took > 2*time.Second {
				t.Errorf("%v: %s has ended after %v: %v", signal, c.command, took, err)
			} else {
				t.Logf("%s, %v: %v", c.command, signal, took)
			}
		}
		stalls.Store("nothing")
	}
	if err := d.stop(); err != nil {
		t.Error(err)
	}
}

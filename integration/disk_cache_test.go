package integration

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store/storetest/cloud"
)

// aged gives all files below a folder an old modification time, which a server without ETags takes
// for a version.
func aged(t *testing.T, folder string) {
	t.Helper()
	old := time.Now().Add(-time.Hour)
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, old, old)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// counted counts what a server sends.
type counted struct {
	http.Handler
	requests, bytes atomic.Int64 // bytes of objects, except single bytes
}

func (c *counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.requests.Add(1)
	c.Handler.ServeHTTP(&countedAnswer{w, c, 0}, r)
}

type countedAnswer struct {
	http.ResponseWriter
	of     *counted
	status int
}

func (w *countedAnswer) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *countedAnswer) Write(p []byte) (int, error) {
	isData := w.status == http.StatusOK || w.status == http.StatusPartialContent
	// a request for one byte is for the header
	if isData && w.Header().Get("Content-Length") != "1" {
		w.of.bytes.Add(int64(len(p)))
	}
	return w.ResponseWriter.Write(p)
}

// TestDiskCache: what one mount has read, a later one reads from the disk: the server sends no
// data. With --fresh never the server gets no request, and may be down.
func TestDiskCache(t *testing.T) {
	store, want := treeInFolder(t)
	aged(t, store)
	files := &counted{Handler: http.FileServer(http.Dir(filepath.Dir(store)))}
	server := httptest.NewServer(files)
	t.Cleanup(server.Close)
	url, cache := server.URL+"/s.zarr", filepath.Join(t.TempDir(), "cache")
	mounted := func(requests, data bool, flags ...string) {
		t.Helper()
		files.requests.Store(0)
		files.bytes.Store(0)
		d := started(t, url, append(flags, "--cache-dir", cache)...)
		sameTree(t, d.tree(t), want)
		status := string(read(t, d.path(".zarrfs/status.json")))
		if !data && !regexp.MustCompile(`"disk_cache": {\s*"hits": [1-9]`).MatchString(status) {
			t.Errorf("no hits are shown: %s", status)
		}
		if err := d.stop(); err != nil {
			t.Error(err)
		}
		n, sent := files.requests.Load(), files.bytes.Load()
		if n > 0 != requests || sent > 0 != data {
			t.Errorf("%v: %d requests, %d bytes", flags, n, sent)
		}
	}
	mounted(true, true)
	mounted(true, false)
	mounted(false, false, "--fresh", "never")
	server.Close()
	mounted(false, false, "--fresh", "never")
}

// statusOf returns a number of the cache on disk from the status of a mount.
func statusOf(t *testing.T, d *daemon, name string) (n int64) {
	t.Helper()
	var status struct {
		Traffic struct {
			Disk map[string]any `json:"disk_cache"`
		} `json:"traffic"`
	}
	if err := json.Unmarshal(read(t, d.path(".zarrfs/status.json")), &status); err != nil {
		t.Fatal(err)
	}
	v, ok := status.Traffic.Disk[name].(float64)
	if !ok {
		t.Fatalf("there is no %s in %v", name, status.Traffic.Disk)
	}
	return int64(v)
}

// TestDiskCacheOfBuckets: what one mount has read of a bucket, a later one reads from the disk.
func TestDiskCacheOfBuckets(t *testing.T) {
	store, want := treeInFolder(t)
	eachCloud(t, func(t *testing.T, s *cloud.Server, url func(string) string) {
		s.FillFolder(t, "s.zarr/", store)
		cache := t.TempDir()
		for i, flags := range [][]string{nil, nil, {"--fresh", "never"}} {
			d := started(t, url("s.zarr"), append(flags, "--cache-dir", cache)...)
			sameTree(t, d.tree(t), want)
			bytes, misses := statusOf(t, d, "bytes"), statusOf(t, d, "misses")
			if i > 0 && bytes < 2000 || i == 2 && misses > 0 {
				t.Errorf("mount %d: %d bytes from the disk, %d misses", i, bytes, misses)
			}
			if err := d.stop(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestDiskCacheOfZip: a zip file on a web server is read from the disk. When it is replaced, the
// new one is read.
func TestDiskCacheOfZip(t *testing.T) {
	need(t, "zip")
	dir, cache := t.TempDir(), t.TempDir()
	files := &counted{Handler: http.FileServer(http.Dir(dir))}
	server := httptest.NewServer(files)
	t.Cleanup(server.Close)
	for _, age := range []time.Duration{2 * time.Hour, time.Hour} {
		store := treeStore(t)
		if age == time.Hour {
			run(t, zarrfs(t), "create", store, "g/new", "--shape", "3", "--dtype", "i4")
		}
		want := mountedTree(t, store, "--read-only")
		zip := dir + "/s.zip"
		os.Remove(zip)
		run(t, "sh", "-c", "cd "+store+" && zip -q -0 -r "+zip+" .")
		old := time.Now().Add(-age)
		if err := os.Chtimes(zip, old, old); err != nil {
			t.Fatal(err)
		}
		for i, flags := range [][]string{nil, nil, {"--fresh", "never"}} {
			files.bytes.Store(0)
			d := started(t, server.URL+"/s.zip", append(flags, "--cache-dir", cache)...)
			sameTree(t, d.tree(t), want)
			if sent := files.bytes.Load(); sent == 0 != (i > 0) {
				t.Errorf("mount %d: %d bytes were sent", i, sent)
			}
			if err := d.stop(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestDiskCacheKilled: two mounts share a cache, and are killed while they fill it. Nothing that
// they leave in the cache reads as a wrong byte.
func TestDiskCacheKilled(t *testing.T) {
	store, want := treeInFolder(t)
	aged(t, store)
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(store))))
	t.Cleanup(server.Close)
	url, cache := server.URL+"/s.zarr", t.TempDir()
	for round := range 10 {
		var mounts []*daemon
		for range 2 {
			d := newDaemon(t, url, "--cache-dir", cache, "--cache-disk", "20KiB")
			if err := d.start(); err != nil {
				t.Fatal(err)
			}
			mounts = append(mounts, d)
			go command("cat", d.path("g/b.raw"), d.path("g/sub/c.raw"), d.path("g/sub/w.jsonl"))
		}
		time.Sleep(time.Duration(round) * 2 * time.Millisecond)
		for _, d := range mounts {
			d.kill()
		}
		whole := started(t, url, "--cache-dir", cache, "--cache-disk", "20KiB")
		sameTree(t, whole.tree(t), want)
		if err := whole.stop(); err != nil {
			t.Error(err)
		}
	}
}

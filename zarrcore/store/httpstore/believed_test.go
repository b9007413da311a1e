package httpstore_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
)

// surveyed returns what a survey of c yields: names and sizes.
func surveyed(t *testing.T, d *remote.Driver) (all []string, err error) {
	t.Helper()
	err = d.Survey(t.Context(), "c", func(e store.Entry, info store.Info) error {
		all = append(all, fmt.Sprint(e.Name, info.Size))
		return nil
	})
	return all, err
}

// TestNoHead: what a server says to HEAD does not count: it may refuse that and give the object.
func TestNoHead(t *testing.T) {
	for _, code := range []int{400, 403, 404, 405, 500} {
		s := serve(t, map[string][]byte{"zarr.json": []byte(document), "c/0": large}, true)
		d := s.open(t, remote.Options{Patience: time.Second})
		s.fault(func(w http.ResponseWriter, r *http.Request, data []byte) bool {
			return r.Method == http.MethodHead && status(code)(s, w, r, data)
		})
		info, err := d.Stat(t.Context(), "c/0")
		if err != nil || info.Size != int64(len(large)) {
			t.Errorf("%d: %+v, %v", code, info, err)
		}
		if all, err := surveyed(t, d); err != nil || len(all) != 1 {
			t.Errorf("%d: the survey has %q, %v", code, all, err)
		}
	}
}

// TestSurveyFails: a survey is an error if an object that it lists cannot be asked for.
func TestSurveyFails(t *testing.T) {
	for _, code := range []int{403, 404, 500} {
		s := serve(t, map[string][]byte{"zarr.json": []byte(document), "c/0": large}, true)
		d := s.open(t, remote.Options{Patience: time.Second})
		if _, err := d.Open(t.Context(), "zarr.json"); err != nil {
			t.Fatal(err)
		}
		s.fault(func(w http.ResponseWriter, r *http.Request, data []byte) bool {
			return data != nil && status(code)(s, w, r, data)
		})
		if all, err := surveyed(t, d); err == nil {
			t.Errorf("%d: the survey has %q and no error", code, all)
		}
	}
}

// TestLostArray: chunks of an array that is lost are an error at once, though the rest of the store
// is there. When the array was removed, its document is missing.
func TestLostArray(t *testing.T) {
	s := serve(t, map[string][]byte{
		"zarr.json": []byte(document), "a/zarr.json": []byte(document), "a/c/0": {1}, "b/c/0": {1},
	}, false)
	d := s.open(t, remote.Options{})
	for _, key := range []string{"zarr.json", "a/zarr.json", "a/c/0"} {
		if _, err := d.Open(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	s.fault(func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
		isLost := strings.HasPrefix(r.URL.Path, "/x.zarr/a/")
		if isLost {
			http.NotFound(w, r)
		}
		return isLost
	})
	for _, key := range []string{"a/c/0", "a/c/1"} {
		if _, err := d.Open(t.Context(), key); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s of an array that is lost: %v", key, err)
		}
	}
	if _, err := d.Open(t.Context(), "b/c/1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a chunk of another array: %v, want fs.ErrNotExist", err)
	}
	if _, err := d.Open(t.Context(), "a/zarr.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the document: %v, want fs.ErrNotExist", err)
	}
}

// TestWitnessesShare: many chunks that are missing at once share the look at their array.
func TestWitnessesShare(t *testing.T) {
	s := serve(t, map[string][]byte{"zarr.json": []byte(document)}, false)
	d := s.open(t, remote.Options{NoListing: true})
	if _, err := d.Open(t.Context(), "zarr.json"); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	looks := 0
	s.fault(func(w http.ResponseWriter, r *http.Request, data []byte) bool {
		time.Sleep(20 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		if data != nil {
			looks++
		}
		return false
	})
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			if _, err := d.Open(t.Context(), fmt.Sprint("c/", i)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("chunk %d: %v, want fs.ErrNotExist", i, err)
			}
		})
	}
	wg.Wait()
	if looks == 0 || looks > 20 {
		t.Errorf("%d looks for 60 missing chunks", looks)
	}
}

// TestCutIndex: an index that ends with its connection is only believed if it is whole.
func TestCutIndex(t *testing.T) {
	s := serve(t, map[string][]byte{"a/x": {1}, "b/x": {1}, "c/0": {1}}, true)
	d := s.open(t, remote.Options{Patience: time.Second})
	index := "<html><head><title>Index of /</title></head><body><a href=\"a/\">a</a>\n"
	s.fault(func(w http.ResponseWriter, _ *http.Request, _ []byte) bool {
		hangUp(w, "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n"+index, false)
		return true
	})
	err := d.List(t.Context(), "", func(store.Entry) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "cut") {
		t.Errorf("of a cut index: %v", err)
	}
}

// TestErrorBodies: the bodies of errors prolong nothing, and the error says what the server said.
func TestErrorBodies(t *testing.T) {
	s := serve(t, map[string][]byte{"zarr.json": []byte(document)}, true)
	d := s.open(t, remote.Options{Patience: time.Second})
	tries := 0
	s.fault(func(w http.ResponseWriter, _ *http.Request, _ []byte) bool {
		tries++
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(503)
		w.Write(make([]byte, 5000))
		return true
	})
	began := time.Now()
	_, err := d.Open(t.Context(), "zarr.json")
	if took := time.Since(began); took > 5*time.Second || tries > 30 {
		t.Errorf("%d tries in %v", tries, took)
	}
	if err == nil || !strings.Contains(err.Error(), "503 Service Unavailable") {
		t.Errorf("the error is %v", err)
	}
}

// TestIndexFails: a server that fails for directories counts as one without listings.
func TestIndexFails(t *testing.T) {
	s := serve(t, map[string][]byte{"zarr.json": []byte(document)}, true)
	s.fault(func(w http.ResponseWriter, r *http.Request, data []byte) bool {
		return data == nil && status(500)(s, w, r, data)
	})
	d := s.open(t, remote.Options{})
	if got := d.Traits().List; got != store.ListNever {
		t.Errorf("List is %v, want ListNever", got)
	}
	if _, err := d.Open(t.Context(), "zarr.json"); err != nil {
		t.Error(err)
	}
}

// TestFreshModTime: a Last-Modified of a moment ago is not taken for a version. The object may be
// replaced within the same second. Reads of the open object go on all the same.
func TestFreshModTime(t *testing.T) {
	for age, isVersion := range map[time.Duration]bool{time.Second: false, time.Hour: true} {
		s := serve(t, map[string][]byte{"c/0": large}, false)
		s.tag = func([]byte) string { return "" }
		s.modTime = time.Now().Add(-age)
		d := s.open(t, remote.Options{})
		o, err := d.Open(t.Context(), "c/0")
		if err != nil {
			t.Fatal(err)
		}
		if got := o.Info().Version; (got != "") != isVersion {
			t.Errorf("the version of an object of %v ago is %q", age, got)
		}
		got, want, err := read(o, nil)(200_000, 210_000)
		if err != nil || string(got) != string(want) {
			t.Errorf("%v, or wrong bytes", err)
		}
	}
}

// TestOlderObject: a server that goes by dates calls an object unmodified if it is older than the
// known one. Such an object counts as another one all the same.
func TestOlderObject(t *testing.T) {
	objects := map[string][]byte{"zarr.json": []byte(document), "c/0": []byte("first")}
	s := serve(t, objects, false)
	s.tag = func([]byte) string { return "" }
	s.modTime = time.Now().Add(-time.Hour)
	d := s.open(t, remote.Options{})
	_, info, err := d.GetIf(t.Context(), "c/0", "", 100)
	if err != nil || info.Version == "" {
		t.Fatalf("%+v, %v", info, err)
	}
	all := store.Want{N: store.All, Unless: info.Version}
	if _, err := store.OpenFor(t.Context(), d, "c/0", all); !errors.Is(err, store.ErrUnchanged) {
		t.Errorf("the same object: %v", err)
	}
	s.mu.Lock()
	s.objects["c/0"], s.modTime = []byte("other"), time.Now().Add(-2*time.Hour)
	s.mu.Unlock()
	if data, _, err := d.GetIf(t.Context(), "c/0", info.Version, 100); string(data) != "other" {
		t.Errorf("GetIf: %q, %v", data, err)
	}
	o, err := store.OpenFor(t.Context(), d, "c/0", all)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if p := make([]byte, 5); o.Size() == 5 {
		if _, err := o.ReadAt(p, 0); err != nil || string(p) != "other" {
			t.Errorf("OpenFor: %q, %v", p, err)
		}
	}
}

package httpstore_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
	"github.com/zarrfs/zarrfs/zarrcore/store/zipstore"
)

// zipped returns a zip file of objects.
func zipped(t testing.TB, objects map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, data := range objects {
		member, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = member.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// openZip opens a zip file that a server has.
func openZip(t testing.TB, s *server, fresh time.Duration) *zipstore.Driver {
	t.Helper()
	base := store.New(s.open(t, remote.Options{NoListing: true}), "x.zarr")
	d, err := zipstore.Open(t.Context(), base, "s.zip", zipstore.Options{Fresh: fresh})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestZipConformance: a zip file on a web server keeps the contract.
func TestZipConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T, objects map[string][]byte) store.Driver {
		s := serve(t, map[string][]byte{"s.zip": zipped(t, objects)}, false)
		return openZip(t, s, time.Minute)
	})
}

// noise returns bytes that cannot be taken for others.
func noise(seed uint64, n int) []byte {
	r, data := rand.NewChaCha8([32]byte{byte(seed)}), make([]byte, n)
	r.Read(data)
	return data
}

// TestZipReplaced: an object of a zip file that is replaced on its server is an error, and never
// bytes of both. When it is opened again, it is the new one.
func TestZipReplaced(t *testing.T) {
	old, now := noise(1, 3<<20), noise(2, 3<<20)
	s := serve(t, map[string][]byte{"s.zip": zipped(t, map[string][]byte{"a": old})}, false)
	d := openZip(t, s, time.Hour)
	o, err := d.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 1000)
	if _, err := o.ReadAt(p, 500); err != nil || !bytes.Equal(p, old[500:1500]) {
		t.Fatalf("before: %v, or wrong bytes", err)
	}
	s.mu.Lock()
	s.objects["s.zip"] = zipped(t, map[string][]byte{"a": now})
	s.mu.Unlock()
	if _, err := o.ReadAt(p, 100_000); !errors.Is(err, store.ErrChanged) {
		t.Errorf("of the old object: %v, want store.ErrChanged", err)
	}
	data, _, err := store.New(d, "").ReadAll(t.Context(), "a", 4<<20)
	if err != nil || !bytes.Equal(data, now) {
		t.Errorf("of the new object: %d bytes, %v, or wrong ones", len(data), err)
	}
}

// TestZipRequests: a member takes one request, a second look at the zip file none.
func TestZipRequests(t *testing.T) {
	objects := map[string][]byte{}
	for i := range 50 {
		objects[fmt.Sprint("c/", i)] = noise(uint64(i), 100_000)
	}
	s := serve(t, map[string][]byte{"s.zip": zipped(t, objects)}, false)
	d := openZip(t, s, time.Hour)
	s.fault(nil)
	for key, want := range objects {
		data, _, err := store.New(d, "").ReadAll(t.Context(), key, 1<<20)
		if err != nil || !bytes.Equal(data, want) {
			t.Errorf("%s: %d bytes, %v, or wrong ones", key, len(data), err)
		}
	}
	if s.requests > len(objects) {
		t.Errorf("%d requests for %d members", s.requests, len(objects))
	}
}

// TestZipCancelled: a read of a zip file on a server that has stalled ends with its context.
func TestZipCancelled(t *testing.T) {
	data := zipped(t, map[string][]byte{"a": noise(1, 3<<20)})
	s := serve(t, map[string][]byte{"s.zip": data}, false)
	d := openZip(t, s, time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	o, err := d.Open(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	s.fault(func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		time.AfterFunc(50*time.Millisecond, cancel)
		<-r.Context().Done()
		return true
	})
	began := time.Now()
	_, err = o.ReadAt(make([]byte, 10), 5)
	if took := time.Since(began); !errors.Is(err, context.Canceled) || took > time.Second {
		t.Errorf("%v after %v, want context.Canceled at once", err, took)
	}
}

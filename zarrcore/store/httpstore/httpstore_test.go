package httpstore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// TestConformance: a web server, with indexes of directories and without, keeps the contract.
func TestConformance(t *testing.T) {
	for name, index := range map[string]bool{"index": true, "no index": false} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T, objects map[string][]byte) store.Driver {
				return serve(t, objects, index).open(t, remote.Options{})
			})
		})
	}
}

// TestMissing: an object is missing only while another one is known to be there. A server that has
// lost the whole store is an error.
func TestMissing(t *testing.T) {
	s := serve(t, map[string][]byte{"zarr.json": []byte("{}"), "c/0": {1}}, false)
	d := s.open(t, remote.Options{Witness: time.Nanosecond})
	if _, err := d.Open(t.Context(), "c/7"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before anything was seen: %v, want fs.ErrNotExist", err)
	}
	for range 2 {
		if _, err := d.Open(t.Context(), "zarr.json"); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Open(t.Context(), "c/7"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("beside an object that is there: %v, want fs.ErrNotExist", err)
		}
	}
	s.fault(func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
		http.NotFound(w, r)
		return true
	})
	for _, key := range []string{"c/0", "c/7", "zarr.json"} {
		_, err := d.Open(t.Context(), key)
		if errors.Is(err, fs.ErrNotExist) || !strings.Contains(fmt.Sprint(err), "another server") {
			t.Errorf("%s of a server that has lost the store: %v", key, err)
		}
	}
	s.fault(nil)
	if _, err := d.Open(t.Context(), "c/0"); err != nil {
		t.Error(err)
	}
	if _, err := d.Open(t.Context(), "c/7"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("when the store is back: %v, want fs.ErrNotExist", err)
	}
}

// TestCancelled: a read of a server that has stalled ends at once when its context is cancelled.
func TestCancelled(t *testing.T) {
	s := serve(t, map[string][]byte{"zarr.json": []byte(document), "c/0": large}, true)
	for _, op := range operations {
		t.Run(op.name, func(t *testing.T) {
			d := s.open(t, remote.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			opened, err := d.Open(ctx, "c/0")
			if err != nil {
				t.Fatal(err)
			}
			stalled := make(chan struct{}, 10)
			s.fault(func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
				stalled <- struct{}{}
				<-r.Context().Done()
				return true
			})
			defer s.fault(nil)
			ended := make(chan error, 1)
			go func() {
				_, _, err := op.run(ctx, d, opened)
				ended <- err
			}()
			<-stalled
			began := time.Now()
			cancel()
			err = <-ended
			if took := time.Since(began); !errors.Is(err, context.Canceled) || took > time.Second {
				t.Errorf("%v after %v, want context.Canceled at once", err, took)
			}
		})
	}
}

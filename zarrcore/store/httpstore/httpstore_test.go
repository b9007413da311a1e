package httpstore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
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
	d := s.open(t, remote.Options{})
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

// TestRedirect: credentials go to the host of the URL alone. What it redirects to is read without.
func TestRedirect(t *testing.T) {
	var told []string
	note := func(to string) func(http.ResponseWriter, *http.Request, []byte) bool {
		return func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
			told = append(told, r.Header.Get("Authorization")+r.Header.Get("X-Key"))
			if to != "" {
				http.Redirect(w, r, to+r.URL.Path, http.StatusFound)
			}
			return to != ""
		}
	}
	other := serve(t, map[string][]byte{"zarr.json": []byte(document)}, false)
	first := serve(t, nil, false)
	headers := filepath.Join(t.TempDir(), "headers")
	text := "# for tests\nAuthorization: Bearer t0ken\nX-Key: k3y\n"
	if err := os.WriteFile(headers, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ZARRFS_HTTP_HEADERS", headers)
	d := first.open(t, remote.Options{NoListing: true})
	other.fault(note(""))
	first.fault(note(other.URL))
	data, _, err := d.GetIf(t.Context(), "zarr.json", "", 1000)
	if err != nil || string(data) != document {
		t.Errorf("got %q, %v", data, err)
	}
	if want := []string{"Bearer t0kenk3y", ""}; !slices.Equal(told, want) {
		t.Errorf("the servers were told %q, want %q", told, want)
	}
}

// TestCredentials: where a server finds its users' names and passwords.
func TestCredentials(t *testing.T) {
	netrc := filepath.Join(t.TempDir(), "netrc")
	lines := "# mine\nmacdef init\nmachine 127.0.0.1 login wrong password wrong\n\n" +
		"machine other.example login wrong password wrong\n" +
		"machine 127.0.0.1\n login me\n password pa55\n" +
		"default login anonymous password x\n"
	if err := os.WriteFile(netrc, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"NETRC": "/nonexistent"}, ""},
		{map[string]string{"NETRC": netrc}, "Basic bWU6cGE1NQ=="}, // me:pa55
		{map[string]string{"NETRC": netrc, "ZARRFS_HTTP_TOKEN": "t0ken"}, "Bearer t0ken"},
		{map[string]string{"ZARRFS_HTTP_USER": "me", "ZARRFS_HTTP_PASSWORD": "pa55"},
			"Basic bWU6cGE1NQ=="},
	} {
		t.Run(c.want, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			s, got := serve(t, map[string][]byte{"zarr.json": []byte(document)}, false), ""
			d := s.open(t, remote.Options{NoListing: true})
			s.fault(func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
				got = r.Header.Get("Authorization")
				return false
			})
			if _, err := d.Open(t.Context(), "zarr.json"); err != nil || got != c.want {
				t.Errorf("Authorization: %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// TestRenewed: expired credentials are read again, because another program may have renewed them.
func TestRenewed(t *testing.T) {
	headers := filepath.Join(t.TempDir(), "headers")
	write := func(token string) {
		if err := os.WriteFile(headers, []byte("Authorization: Bearer "+token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	t.Setenv("ZARRFS_HTTP_HEADERS", headers)
	s := serve(t, map[string][]byte{"zarr.json": []byte(document)}, false)
	d := s.open(t, remote.Options{NoListing: true})
	s.fault(func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
		isOld := r.Header.Get("Authorization") != "Bearer new"
		if isOld {
			w.WriteHeader(http.StatusUnauthorized)
		}
		return isOld
	})
	if _, err := d.Open(t.Context(), "zarr.json"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("with the old token: %v, want fs.ErrPermission", err)
	}
	write("new")
	if _, err := d.Open(t.Context(), "zarr.json"); err != nil {
		t.Errorf("with the new token: %v", err)
	}
}

package s3store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
	"github.com/zarrfs/zarrfs/zarrcore/store/s3store"
)

// TestExpired: a token that has expired is renewed once, and the request goes on with the new one.
// If that is refused, too, it is an error, and nothing is asked in a loop.
func TestExpired(t *testing.T) {
	f := newFake(t)
	var issued atomic.Int64
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := issued.Add(1)
		fmt.Fprintf(w, `{"AccessKeyId": "KEY%d", "SecretAccessKey": "%s", "Token": "token%d",
			"Expiration": "2099-01-01T00:00:00Z"}`, n, secret, n)
	}))
	t.Cleanup(source.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", source.URL)
	d := open(t, "bucket/x.zarr", s3store.Options{}, remote.Options{})
	f.say(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Amz-Security-Token") == "token1" {
			failing(400, "ExpiredToken")(w, r)
			return
		}
		w.Header().Set("ETag", `"e"`)
		w.Header().Set("Content-Range", "bytes 0-2/3")
		w.WriteHeader(http.StatusPartialContent)
		fmt.Fprint(w, "abc")
	})
	o, err := d.Open(t.Context(), "c/0")
	if err != nil {
		t.Fatal(err)
	}
	o.Close()
	if n := f.requests(); n != 2 || issued.Load() != 2 {
		t.Errorf("%d requests and %d tokens, want 2 and 2", n, issued.Load())
	}
	f.say(failing(400, "ExpiredToken"))
	_, err = d.Open(t.Context(), "c/0")
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "container") {
		t.Errorf("with tokens that are all refused: %v", err)
	}
	if n := f.requests(); n > 2 {
		t.Errorf("%d requests with tokens that are all refused, want 2 at most", n)
	}
}

// TestNoCredentials: where there are none, opening says so, and what to do.
func TestNoCredentials(t *testing.T) {
	newFake(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("HOME", t.TempDir())
	place, _ := s3store.Parse("bucket/x.zarr")
	_, err := s3store.Open(t.Context(), place, s3store.Options{}, remote.Options{})
	if err == nil || !strings.Contains(err.Error(), "--anonymous") {
		t.Errorf("without credentials: %v", err)
	}
	if _, err := s3store.Open(t.Context(), place, s3store.Options{Anonymous: true},
		remote.Options{}); err != nil {
		t.Errorf("anonymous: %v", err)
	}
}

// TestAnonymous: no credentials are sent, though there are some.
func TestAnonymous(t *testing.T) {
	f := newFake(t)
	f.say(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("X-Amz-Request-Payer") == "" {
			failing(403, "AccessDenied")(w, r)
			return
		}
		fmt.Fprint(w, "<ListBucketResult></ListBucketResult>")
	})
	o := s3store.Options{Anonymous: true, RequesterPays: true}
	if d := open(t, "bucket/x.zarr", o, remote.Options{}); d.List(t.Context(), "", nil) != nil {
		t.Error("the listing was refused")
	}
}

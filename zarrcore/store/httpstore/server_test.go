package httpstore_test

import (
	"crypto/md5"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store/httpstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
)

// server is a web server of objects below /x.zarr.
type server struct {
	*httptest.Server
	index bool // makes indexes
	tag   func(data []byte) string

	mu       sync.Mutex
	objects  map[string][]byte
	modTime  time.Time
	requests int
	meddle   func(w http.ResponseWriter, r *http.Request, data []byte) (done bool) // nil: none
}

// serve starts a server.
func serve(t testing.TB, objects map[string][]byte, index bool) *server {
	t.Helper()
	s := &server{objects: objects, index: index, tag: sum, modTime: time.Now().Add(-time.Second)}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// sum is an ETag that tells objects apart.
func sum(data []byte) string { return fmt.Sprintf(`"%x"`, md5.Sum(data)) }

// open opens the store on the server.
func (s *server) open(t testing.TB, o remote.Options) *remote.Driver {
	t.Helper()
	at, err := httpstore.Parse(s.URL+"/x.zarr", "")
	if err != nil {
		t.Fatal(err)
	}
	d, err := httpstore.Open(t.Context(), at, httpstore.Credentials{}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// fault makes the server answer otherwise from now on.
func (s *server) fault(meddle func(w http.ResponseWriter, r *http.Request, data []byte) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meddle, s.requests = meddle, 0
}

// ServeHTTP answers a request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key, ok := strings.CutPrefix(r.URL.Path, "/x.zarr/")
	s.mu.Lock()
	data, found := s.objects[key]
	meddle := s.meddle
	s.requests++
	s.mu.Unlock()
	switch {
	case meddle != nil && meddle(w, r, data):
	case ok && found:
		s.serveObject(w, r, data)
	case ok && (key == "" || strings.HasSuffix(key, "/")):
		s.serveIndex(w, r, key)
	case ok && len(s.children(key+"/")) > 0:
		to := (&url.URL{Path: r.URL.Path + "/"}).EscapedPath()
		http.Redirect(w, r, to, http.StatusMovedPermanently)
	default:
		http.NotFound(w, r)
	}
}

// serveObject answers with an object, as nginx does.
func (s *server) serveObject(w http.ResponseWriter, r *http.Request, data []byte) {
	if tag := s.tag(data); tag != "" {
		w.Header().Set("ETag", tag)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", s.modTime, strings.NewReader(string(data)))
}

// children returns the names below a prefix; those of directories end in a slash.
func (s *server) children(prefix string) (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[string]bool{}
	for key := range s.objects {
		rest, ok := strings.CutPrefix(key, prefix)
		if !ok {
			continue
		}
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			rest = rest[:i+1]
		}
		if !seen[rest] {
			seen[rest] = true
			names = append(names, rest)
		}
	}
	sort.Strings(names)
	return names
}

// serveIndex answers with the index of a directory.
func (s *server) serveIndex(w http.ResponseWriter, r *http.Request, prefix string) {
	names := s.children(prefix)
	if len(names) == 0 && prefix != "" {
		http.NotFound(w, r)
		return
	}
	if !s.index {
		http.Error(w, "no index", http.StatusForbidden)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<html>\r\n<head><title>Index of %s</title></head>\r\n<body>\r\n"+
		"<h1>Index</h1><hr><pre><a href=\"../\">../</a>\r\n", html.EscapeString(r.URL.Path))
	for _, name := range names {
		dir := strings.HasSuffix(name, "/")
		href := "./" + url.PathEscape(strings.TrimSuffix(name, "/"))
		if dir {
			href += "/"
		}
		fmt.Fprintf(w, "<a href=\"%s\">%s</a>  01-Jan-2026 00:00  1\r\n",
			html.EscapeString(href), html.EscapeString(name))
	}
	fmt.Fprint(w, "</pre><hr></body>\r\n</html>\r\n")
}

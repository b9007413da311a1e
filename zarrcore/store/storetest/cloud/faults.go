package cloud

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/parallel"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
)

// This file holds what a dialect makes of a server's faults: each fault with each operation, once
// passing and once for good. Package httpstore has more faults, of what is the same for all.

// A Speech is how one kind of server says what faults need. Its objects are in the bucket "bucket",
// below "x.zarr/".
type Speech struct {
	Open  func(ctx context.Context, url string, o remote.Options) (*remote.Bucket, error)
	Key   func(r *http.Request) (key string, isObject bool) // in the bucket
	List  func(w http.ResponseWriter, prefixes, keys []string)
	Error func(w http.ResponseWriter, status int, code string)
	Codes map[int][]string // errors that pass (429, 500, 503) or not (403, 404 of the bucket)
}

const chunkKey, documentKey = "x.zarr/c/0", "x.zarr/zarr.json"

// faultObjects are what the server has.
var faultObjects = map[string][]byte{
	chunkKey:    []byte(strings.Repeat("0123456789abcdef-", 20_000)),
	documentKey: []byte(`{"node_type": "group", "zarr_format": 3}`),
}

// A fault is what a server does in place of an answer. done is false if the answer follows.
type fault struct {
	name   string
	does   func(w http.ResponseWriter, r *http.Request) (done bool)
	passes bool // trying again helps
}

// faults returns those of a kind of server.
func (s Speech) faults() (all []fault) {
	hijack := func(begin string) func(w http.ResponseWriter, r *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				conn.Write([]byte(begin))
				conn.Close()
			}
			return true
		}
	}
	all = []fault{
		{"cut before the answer", hijack(""), true},
		{"cut in the head", hijack("HTTP/1.1 206 Partial Con"), true},
		{"cut in the body", func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Range") == "" {
				return hijack("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n<")(w, r)
			}
			var first, last int
			fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last)
			return hijack(fmt.Sprintf("HTTP/1.1 206 Partial Content\r\nETag: \"%d\"\r\n"+
				"x-goog-generation: 7\r\nContent-Range: bytes %d-%d/%[1]d\r\n"+
				"Content-Length: %d\r\n\r\n", len(faultObjects[chunkKey]), first, last,
				last-first+1))(w, r)
		}, true},
		{"no HTTP", hijack("SSH-2.0-OpenSSH_9.2\r\n"), true},
		{"stalled", func(_ http.ResponseWriter, r *http.Request) bool {
			<-r.Context().Done()
			return true
		}, true},
		{"another range", func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Range", "bytes 7-9/340000")
			w.WriteHeader(http.StatusPartialContent)
			fmt.Fprint(w, "789")
			return true
		}, false},
		{"a page", func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>Please log in</html>")
			return true
		}, false},
		{"nothing, with 200", func(http.ResponseWriter, *http.Request) bool { return true }, false},
		{"redirect to itself", func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, r.URL.String(), http.StatusFound)
			return true
		}, false},
	}
	for status, codes := range s.Codes {
		for _, code := range codes {
			all = append(all, fault{fmt.Sprint(status, " ", code),
				func(w http.ResponseWriter, _ *http.Request) bool {
					s.Error(w, status, code)
					return true
				}, status == 429 || status >= 500})
		}
	}
	return all
}

// server is a server with faults.
type server struct {
	Speech
	mu    sync.Mutex
	fault func(w http.ResponseWriter, r *http.Request) bool // nil: none
	once  bool
}

// set makes the server have a fault, for one request or for good.
func (s *server) set(f func(w http.ResponseWriter, r *http.Request) bool, once bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault, s.once = f, once
}

// ServeHTTP answers a request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f := s.fault
	if s.once {
		s.fault = nil
	}
	s.mu.Unlock()
	if f != nil && f(w, r) {
		return
	}
	key, isObject := s.Key(r)
	data, has := faultObjects[key]
	switch {
	case !isObject:
		s.list(w, r.URL.Query().Get("prefix"), r.URL.Query().Get("delimiter"))
	case !has:
		s.Error(w, http.StatusNotFound, map[bool]string{true: "BlobNotFound",
			false: "NoSuchKey"}[slices.Contains(s.Codes[404], "ContainerNotFound")])
	default:
		w.Header().Set("ETag", fmt.Sprintf(`"%d"`, len(data)))
		w.Header().Set("x-goog-generation", "7")
		at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		http.ServeContent(w, r, "", at, strings.NewReader(string(data)))
	}
}

// list answers with what is below a prefix.
func (s *server) list(w http.ResponseWriter, prefix, delimiter string) {
	var dirs, keys []string
	for key := range faultObjects {
		rest, below := strings.CutPrefix(key, prefix)
		i := strings.Index(rest, "/")
		switch {
		case !below:
		case delimiter != "" && i >= 0:
			dirs = append(dirs, prefix+rest[:i+1])
		default:
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	slices.Sort(dirs)
	s.List(w, slices.Compact(dirs), keys)
}

type bucket = remote.Bucket

// attempts are what is done to the store. Each returns what it got and what is right.
var attempts = map[string]func(ctx context.Context, d *bucket, o store.Object) (
	got, want string, err error){
	"open": func(ctx context.Context, d *bucket, _ store.Object) (_, _ string, _ error) {
		return readSome(ctx, d, store.Want{N: 1000}, 0, 1000)
	},
	"open whole": func(ctx context.Context, d *bucket, _ store.Object) (_, _ string, _ error) {
		return readSome(ctx, d, store.Want{N: store.All}, 0, len(faultObjects[chunkKey]))
	},
	"open tail": func(ctx context.Context, d *bucket, _ store.Object) (_, _ string, _ error) {
		n := len(faultObjects[chunkKey])
		return readSome(ctx, d, store.Want{Off: -500, N: 500}, n-500, n)
	},
	"read": func(_ context.Context, _ *bucket, o store.Object) (_, _ string, _ error) {
		return readOf(o, 100_000, 150_000)
	},
	"stat": func(ctx context.Context, d *bucket, _ store.Object) (_, _ string, _ error) {
		info, err := d.Stat(ctx, "c/0")
		return fmt.Sprint(info.Size), fmt.Sprint(len(faultObjects[chunkKey])), err
	},
	"get": func(ctx context.Context, d *bucket, _ store.Object) (_, _ string, _ error) {
		data, _, err := d.GetIf(ctx, "zarr.json", "", 1<<20)
		return string(data), string(faultObjects[documentKey]), err
	},
	"list": func(ctx context.Context, d *bucket, _ store.Object) (_, _ string, _ error) {
		var names []string
		err := d.List(ctx, "", func(e store.Entry) error {
			names = append(names, fmt.Sprint(e.Name, e.Dir))
			return nil
		})
		slices.Sort(names)
		return fmt.Sprint(names), "[ctrue zarr.jsonfalse]", err
	},
	"walk": func(ctx context.Context, d *bucket, _ store.Object) (_, _ string, _ error) {
		var names []string
		err := d.Walk(ctx, "", func(key string, _ store.Info) error {
			names = append(names, key)
			return nil
		})
		return fmt.Sprint(names), "[c/0 zarr.json]", err
	},
	"missing": func(ctx context.Context, d *bucket, _ store.Object) (_, _ string, _ error) {
		_, err := d.Open(ctx, "c/7")
		if errors.Is(err, fs.ErrNotExist) {
			return "nothing", "nothing", nil
		}
		return "something", "nothing", err
	},
}

// readSome opens the chunk and reads a part of it.
func readSome(
	ctx context.Context, d *remote.Bucket, w store.Want, lo, hi int,
) (got, want string, err error) {
	o, err := d.OpenFor(ctx, "c/0", w)
	if err != nil {
		return "", "", err
	}
	defer o.Close()
	return readOf(o, lo, hi)
}

// readOf reads a part of the chunk.
func readOf(o store.Object, lo, hi int) (got, want string, err error) {
	p := make([]byte, hi-lo)
	n, err := o.ReadAt(p, int64(lo))
	if n == len(p) {
		err = nil
	}
	return string(p[:n]), string(faultObjects[chunkKey][lo:hi]), err
}

// hangs is how long an attempt may take, with the patience that these tests have.
const hangs = 60 * time.Second

// A scenario is one operation with one fault, which passes after one request or stays.
type scenario struct {
	fault
	attempt string
	once    bool
}

// String names the scenario.
func (c scenario) String() string {
	return fmt.Sprintf("%s, while %s, once %v", c.name, c.attempt, c.once)
}

// atOnce returns how many scenarios are tried at once: most of them wait. In short runs, as under
// the race detector, a quarter of them is tried, and the machine may be slow.
func atOnce() (n, everyNth int, patience remote.Options) {
	if testing.Short() {
		return 16, 4, remote.Options{Stall: 4 * time.Second, Patience: 12 * time.Second}
	}
	return 64, 1, remote.Options{Stall: time.Second, Patience: 3 * time.Second}
}

// Faults tries each operation with each fault: it gives the right bytes, or an error that does not
// say that something is missing, in time.
func (s Speech) Faults(t *testing.T) {
	var all []scenario
	for _, f := range s.faults() {
		for name := range attempts {
			all = append(all, scenario{f, name, true}, scenario{f, name, false})
		}
	}
	var right atomic.Int64
	n, everyNth, patience := atOnce()
	parallel.Each(n, len(all)/everyNth, func(i int) {
		i *= everyNth
		isRight, err := s.try(t.Context(), all[i], patience)
		if err != nil {
			t.Errorf("%v: %v", all[i], err)
		}
		if isRight {
			right.Add(1)
		}
	})
	t.Logf("%d scenarios: %d gave the right bytes, the others an error", len(all)/everyNth,
		right.Load())
}

// try tries a scenario with so much patience. It reports whether the bytes were right, and returns
// what is wrong.
func (s Speech) try(
	ctx context.Context, c scenario, o remote.Options,
) (isRight bool, err error) {
	faulty := &server{Speech: s}
	web := httptest.NewServer(faulty)
	defer web.Close()
	ctx, stop := context.WithTimeout(ctx, hangs)
	defer stop()
	d, err := s.Open(ctx, web.URL, o)
	if err != nil {
		return false, err
	}
	defer d.Close()
	opened, err := d.OpenFor(ctx, "c/0", store.Want{N: 100})
	if err != nil {
		return false, err
	}
	defer opened.Close()
	if _, _, err := d.GetIf(ctx, "zarr.json", "", 1<<20); err != nil {
		return false, err
	}
	faulty.set(c.does, c.once)
	got, want, err := attempts[c.attempt](ctx, d, opened)
	switch {
	case ctx.Err() != nil:
		return false, fmt.Errorf("it hangs: %w", err)
	case err == nil && got != want:
		return false, fmt.Errorf("%d bytes that are wrong, want %d", len(got), len(want))
	case errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("it says that something is missing: %w", err)
	case err != nil && c.once && c.passes:
		return false, fmt.Errorf("the fault passes, and still there is an error: %w", err)
	case err != nil && strings.Contains(err.Error(), "\n"):
		return false, fmt.Errorf("an error of several lines: %w", err)
	}
	return err == nil, nil
}

// ListS3 answers a listing as S3 does.
func ListS3(w http.ResponseWriter, prefixes, keys []string) {
	fmt.Fprint(w, "<ListBucketResult>")
	for _, key := range keys {
		fmt.Fprintf(w, "<Contents><Key>%s</Key><Size>%d</Size><ETag>\"%[2]d\"</ETag>"+
			"<LastModified>2026-01-02T03:04:05Z</LastModified></Contents>", key,
			len(faultObjects[key]))
	}
	for _, prefix := range prefixes {
		fmt.Fprintf(w, "<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>", prefix)
	}
	fmt.Fprint(w, "</ListBucketResult>")
}

// ListGCS answers a listing as Google's JSON API does.
func ListGCS(w http.ResponseWriter, prefixes, keys []string) {
	var items []map[string]string
	for _, key := range keys {
		items = append(items, map[string]string{"name": key, "generation": "7",
			"size": fmt.Sprint(len(faultObjects[key])), "updated": "2026-01-02T03:04:05Z"})
	}
	json.NewEncoder(w).Encode(map[string]any{"items": items, "prefixes": prefixes})
}

// ListAzure answers a listing as Azure does.
func ListAzure(w http.ResponseWriter, prefixes, keys []string) {
	fmt.Fprint(w, "<EnumerationResults><Blobs>")
	for _, key := range keys {
		fmt.Fprintf(w, "<Blob><Name>%s</Name><Properties><Content-Length>%d</Content-Length>"+
			"<Etag>%[2]d</Etag><Last-Modified>Fri, 02 Jan 2026 03:04:05 GMT</Last-Modified>"+
			"<BlobType>BlockBlob</BlobType></Properties></Blob>", key, len(faultObjects[key]))
	}
	for _, prefix := range prefixes {
		fmt.Fprintf(w, "<BlobPrefix><Name>%s</Name></BlobPrefix>", prefix)
	}
	fmt.Fprint(w, "</Blobs></EnumerationResults>")
}

// ErrorXML answers with an error as S3, and Google's XML API, have it.
func ErrorXML(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprint(w, xml.Header, "<Error><Code>", code, "</Code><Message>It is so.</Message></Error>")
}

// ErrorAzure answers with an error as Azure has it.
func ErrorAzure(w http.ResponseWriter, status int, code string) {
	w.Header().Set("x-ms-error-code", code)
	ErrorXML(w, status, code)
}

package httpstore_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
)

// large is an object that does not come with the opening as a whole.
var large = bytes.Repeat([]byte("0123456789abcdef-"), 20_000)

// An operation does something with a store, of which an object is open. It returns what it got and
// what is right.
type operation func(ctx context.Context, d *remote.Driver, opened store.Object) (
	got, want []byte, err error)

type (
	writer  = http.ResponseWriter
	request = http.Request
	opened  = store.Object
	driver  = remote.Driver
)

// operations are what is done to a store while its server has a fault.
var operations = []struct {
	name string
	run  operation
}{
	{"open", func(ctx context.Context, d *driver, _ opened) (_, _ []byte, _ error) {
		return read(d.Open(ctx, "c/0"))(0, 5000)
	}},
	{"open whole", func(ctx context.Context, d *driver, _ opened) (_, _ []byte, _ error) {
		return read(d.OpenFor(ctx, "c/0", store.Want{N: store.All}))(0, len(large))
	}},
	{"open tail", func(ctx context.Context, d *driver, _ opened) (_, _ []byte, _ error) {
		o, err := d.OpenFor(ctx, "c/0", store.Want{Off: -3000, N: 3000})
		return read(o, err)(len(large)-3000, len(large))
	}},
	{"read", func(_ context.Context, _ *driver, o opened) (_, _ []byte, _ error) {
		return read(o, nil)(200_000, 260_000)
	}},
	{"read ranges", func(ctx context.Context, _ *driver, o opened) (_, _ []byte, _ error) {
		spans := []store.Span{
			{Off: 300_000, P: make([]byte, 500)}, {Off: 100_000, P: make([]byte, 2000)},
		}
		err := store.ReadRanges(ctx, o, spans)
		return slices.Concat(spans[0].P, spans[1].P),
			slices.Concat(large[300_000:300_500], large[100_000:102_000]), err
	}},
	{"stat", func(ctx context.Context, d *driver, _ opened) (_, _ []byte, _ error) {
		info, err := d.Stat(ctx, "c/0")
		return fmt.Append(nil, info.Size), fmt.Append(nil, len(large)), err
	}},
	{"get", func(ctx context.Context, d *driver, _ opened) (_, _ []byte, _ error) {
		data, _, err := d.GetIf(ctx, "zarr.json", "", 1<<20)
		return data, []byte(document), err
	}},
	{"get if changed", func(ctx context.Context, d *driver, _ opened) (_, _ []byte, _ error) {
		data, _, err := d.GetIf(ctx, "zarr.json", `"another"`, 1<<20)
		return data, []byte(document), err
	}},
	{"list", func(ctx context.Context, d *driver, _ opened) (_, _ []byte, _ error) {
		var names []string
		err := d.List(ctx, "", func(e store.Entry) error {
			names = append(names, fmt.Sprint(e.Name, e.Dir))
			return nil
		})
		slices.Sort(names)
		return fmt.Append(nil, names), []byte("[ctrue zarr.jsonfalse]"), err
	}},
	{"missing", func(ctx context.Context, d *driver, _ opened) (_, _ []byte, _ error) {
		_, err := d.Open(ctx, "c/7")
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, nil
		}
		return []byte("there"), nil, err
	}},
}

const document = `{"node_type": "group", "zarr_format": 3}`

// read returns a function that reads a part of the large object.
func read(o store.Object, err error) func(lo, hi int) (_, _ []byte, _ error) {
	return func(lo, hi int) ([]byte, []byte, error) {
		if err != nil {
			return nil, nil, err
		}
		got := make([]byte, hi-lo)
		n, err := o.ReadAt(got, int64(lo))
		if n == len(got) {
			err = nil
		}
		return got[:n], large[lo:hi], err
	}
}

// A fault is what a server does wrong. Where it lasts, an operation gives the right bytes or an
// error that says this; where it passes, the right bytes.
type fault struct {
	name  string
	does  func(s *server, w writer, r *request, data []byte) (done bool)
	class error    // of the error where it lasts; nil: none that errors.Is finds
	says  []string // one of these is in the text of the error; without any it must be right
	stays bool     // it is not tried again
}

var faults = []fault{
	{name: "cut before the answer", says: []string{"cut"},
		does: func(_ *server, w writer, _ *request, _ []byte) bool {
			hangUp(w, "", false)
			return true
		}},
	{name: "reset before the answer", says: []string{"cut"},
		does: func(_ *server, w writer, _ *request, _ []byte) bool {
			hangUp(w, "", true)
			return true
		}},
	{name: "half an answer's head", says: []string{"not HTTP"},
		does: func(_ *server, w writer, _ *request, _ []byte) bool {
			hangUp(w, "HTTP/1.1 200 OK\r\nContent-Le", false)
			return true
		}},
	{name: "no HTTP", says: []string{"not HTTP"},
		does: func(_ *server, w writer, _ *request, _ []byte) bool {
			hangUp(w, "SSH-2.0-OpenSSH_9.2\r\n\r\n", false)
			return true
		}},
	{name: "cut after a quarter", says: []string{"cut"},
		does: partly(1, 4, false)},
	{name: "cut before the last byte", says: []string{"cut"},
		does: partly(-1, 1, false)},
	{name: "reset after a half", says: []string{"cut"},
		does: partly(1, 2, true)},
	{name: "stall before the answer", class: os.ErrDeadlineExceeded, says: []string{"nothing came"},
		does: func(_ *server, _ writer, r *request, _ []byte) bool {
			<-r.Context().Done()
			return true
		}},
	{name: "stall in the body", class: os.ErrDeadlineExceeded, says: []string{"nothing came"},
		does: func(s *server, w writer, r *request, data []byte) bool {
			if r.Method == http.MethodHead {
				return false
			}
			w.Header().Set("ETag", etag(data))
			w.Header().Set("Content-Length", fmt.Sprint(max(2, len(data))))
			w.WriteHeader(http.StatusOK)
			w.Write(data[:min(1, len(data))])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return true
		}},
	{name: "408", says: []string{"408 Request Timeout"},
		does: status(408)},
	{name: "429",
		says: []string{"429 Too Many Requests, the last"},
		does: status(429)},
	{name: "429 with Retry-After", says: []string{"429 Too Many Requests"},
		does: func(s *server, w writer, r *request, data []byte) bool {
			w.Header().Set("Retry-After", "0")
			return status(429)(s, w, r, data)
		}},
	{name: "500", says: []string{"500 Internal Server Error"},
		does: status(500)},
	{name: "502", says: []string{"502 Bad Gateway"},
		does: status(502)},
	{name: "503", says: []string{"503 Service Unavailable"},
		does: status(503)},
	{name: "504", says: []string{"504 Gateway Timeout"},
		does: status(504)},
	{name: "522 of a proxy", says: []string{"522"},
		does: status(522)},
	{name: "400", stays: true, says: []string{"400 Bad Request"},
		does: status(400)},
	{name: "401", stays: true, class: fs.ErrPermission,
		says: []string{"401 Unauthorized; no credentials were sent"},
		does: status(401)},
	{name: "403", stays: true, class: fs.ErrPermission,
		says: []string{"403 Forbidden; no credentials were sent"},
		does: status(403)},
	{name: "404 of everything", stays: true,
		says: []string{"or another server answers", "was replaced while it was read"},
		does: status(404)},
	{name: "410 of everything", stays: true,
		says: []string{"or another server answers", "was replaced while it was read"},
		does: status(410)},
	{name: "page for a login", stays: true,
		says: []string{"web page (HTML)", "makes no index", "was replaced"},
		does: func(_ *server, w writer, r *request, _ []byte) bool {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			page := strings.Repeat("<html>log in</html>\n", 20_000)
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader(page))
			return true
		}},
	{name: "redirect to a login", stays: true,
		says: []string{"web page (HTML)", "makes no index", "was replaced"},
		does: func(_ *server, w writer, r *request, _ []byte) bool {
			if r.URL.Path == "/login" {
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, "<html>log in</html>")
			} else {
				http.Redirect(w, r, "/login", http.StatusFound)
			}
			return true
		}},
	{name: "redirect in a circle", stays: true, says: []string{"answers with 5 redirects in a row"},
		does: func(_ *server, w writer, r *request, _ []byte) bool {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
			return true
		}},
	{name: "redirect to another protocol", stays: true,
		says: []string{"something that is not an HTTP URL"},
		does: func(_ *server, w writer, r *request, _ []byte) bool {
			w.Header().Set("Location", "ftp://127.0.0.1/x")
			w.WriteHeader(http.StatusFound)
			return true
		}},
	{name: "redirect",
		does: func(s *server, w writer, r *request, data []byte) bool {
			if r.URL.RawQuery == "" {
				http.Redirect(w, r, r.URL.EscapedPath()+"?moved", http.StatusFound)
				return true
			}
			return false
		}},
	{name: "another range", says: []string{"another range", "was replaced"},
		does: func(s *server, w writer, r *request, data []byte) bool {
			if r.Header.Get("Range") != "" {
				r.Header.Set("Range", "bytes=7-5000")
			}
			return false
		}},
	{name: "another range of the right length", says: []string{"another range"},
		does: func(s *server, w writer, r *request, data []byte) bool {
			if lo, hi, ok := asked(r); ok && hi < len(data) {
				r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", lo+1, hi+1))
			}
			return false
		}},
	{name: "206 without a range", says: []string{"another range"},
		does: func(s *server, w writer, r *request, data []byte) bool {
			if r.Header.Get("Range") == "" || data == nil {
				return false
			}
			w.Header().Set("ETag", etag(data))
			w.Header().Set("Content-Length", fmt.Sprint(len(data)))
			w.WriteHeader(http.StatusPartialContent)
			w.Write(data)
			return true
		}},
	{name: "less than the range", says: []string{"another range", "cut"},
		does: func(s *server, w writer, r *request, data []byte) bool {
			lo, hi, ok := asked(r)
			if !ok || hi <= lo || data == nil {
				return false
			}
			r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", lo, (lo+min(hi, len(data)))/2))
			return false
		}},
	{name: "shorter body than its range", says: []string{"cut"},
		does: func(s *server, w writer, r *request, data []byte) bool {
			lo, hi, ok := asked(r)
			if !ok || data == nil || r.Method == http.MethodHead {
				return false
			}
			hi = min(hi, len(data)-1)
			w.Header().Set("ETag", etag(data))
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", lo, hi, len(data)))
			w.Header().Set("Content-Length", fmt.Sprint((hi-lo+1)/2))
			w.WriteHeader(http.StatusPartialContent)
			w.Write(data[lo:][:(hi-lo+1)/2])
			return true
		}},
	{name: "416 of everything", says: []string{"another range", "416"},
		does: func(s *server, w writer, r *request, data []byte) bool {
			if r.Header.Get("Range") == "" {
				return false
			}
			return status(416)(s, w, r, data)
		}},
	{name: "412 of everything", stays: true, class: store.ErrChanged,
		says: []string{"was replaced while it was read"},
		does: func(s *server, w writer, r *request, data []byte) bool {
			if r.Header.Get("If-Match") == "" {
				return false
			}
			return status(412)(s, w, r, data)
		}},
	{name: "ranges are ignored",
		does: func(_ *server, _ writer, r *request, _ []byte) bool {
			r.Header.Del("Range")
			return false
		}},
	{name: "no length",
		does: func(_ *server, w writer, r *request, data []byte) bool {
			if data == nil {
				return false
			}
			w.Header().Set("ETag", etag(data))
			w.(http.Flusher).Flush()
			w.Write(data)
			return true
		}},
	{name: "no HEAD",
		does: func(s *server, w writer, r *request, data []byte) bool {
			return r.Method == http.MethodHead && status(405)(s, w, r, data)
		}},
	{name: "gzip",
		does: encoded("gzip", false)},
	{name: "gzip, cut", says: []string{"cut"},
		does: encoded("gzip", true)},
	{name: "Brotli", stays: true, says: []string{`encoded the object by "br"`},
		does: encoded("br", false)},
	{name: "weak ETag",
		does: func(_ *server, w writer, r *request, data []byte) bool {
			r.Header.Del("If-Match")
			return plain(w, r, data, "W/"+etag(data))
		}},
	{name: "no ETag", says: []string{"was replaced"}, class: store.ErrChanged, stays: true,
		does: func(_ *server, w writer, r *request, data []byte) bool {
			return plain(w, r, data, "")
		}},
	{name: "another object", says: []string{"was replaced"}, class: store.ErrChanged, stays: true,
		does: func(_ *server, w writer, r *request, data []byte) bool {
			if r.Header.Get("If-Match") == "" {
				return false
			}
			return plain(w, r, bytes.Repeat([]byte("x"), len(data)), `"other"`)
		}},
	{name: "another object, and If-Match is ignored",
		says: []string{"was replaced"}, class: store.ErrChanged, stays: true,
		does: func(_ *server, w writer, r *request, data []byte) bool {
			if r.Header.Get("If-Match") == "" {
				return false
			}
			r.Header.Del("If-Match")
			return plain(w, r, bytes.Repeat([]byte("x"), len(data)), `"other"`)
		}},
	{name: "a longer object without ETag",
		says: []string{"was replaced"}, class: store.ErrChanged, stays: true,
		does: func(_ *server, w writer, r *request, data []byte) bool {
			if r.Header.Get("If-Match") == "" {
				return false
			}
			r.Header.Del("If-Match")
			return plain(w, r, append(bytes.Clone(data), 'x'), etag(data))
		}},
}

// asked returns the first and the last byte that a request asks for.
func asked(r *request) (first, last int, ok bool) {
	n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last)
	return first, last, n == 2
}

// etag is the ETag of an object.
func etag(data []byte) string { return fmt.Sprintf(`"%d-%d"`, len(data), data[:min(1, len(data))]) }

// plain serves an object with an ETag of its own.
func plain(w writer, r *request, data []byte, tag string) bool {
	if data == nil {
		return false
	}
	if tag != "" {
		w.Header().Set("ETag", tag)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	return true
}

// status answers with a code alone.
func status(code int) func(*server, writer, *request, []byte) bool {
	return func(_ *server, w writer, _ *request, _ []byte) bool {
		w.WriteHeader(code)
		return true
	}
}

// hangUp sends some text in place of an answer, and closes the connection, or resets it.
func hangUp(w writer, text string, reset bool) {
	conn, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	buf.WriteString(text)
	buf.Flush()
	if reset {
		conn.(*net.TCPConn).SetLinger(0)
	}
	conn.Close()
}

// partly sends part of an answer: so much of it, or all but so much.
func partly(n, of int, reset bool) func(*server, writer, *request, []byte) bool {
	return func(s *server, w writer, r *request, data []byte) bool {
		whole := &recorder{header: http.Header{}, status: http.StatusOK}
		if data == nil || r.Method == http.MethodHead {
			return false
		}
		s.serveObject(whole, r, data)
		body := whole.body.Bytes()
		part := len(body) * max(n, 0) / of
		if n < 0 {
			part = max(0, len(body)+n)
		}
		var head bytes.Buffer
		whole.header.Write(&head)
		text := http.StatusText(whole.status)
		text = fmt.Sprintf("HTTP/1.1 %d %s\r\n%s\r\n", whole.status, text, &head)
		hangUp(w, text+string(body[:part]), reset)
		return true
	}
}

// recorder is an answer that is not sent yet.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header returns the header.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader notes the code.
func (r *recorder) WriteHeader(code int) { r.status = code }

// Write notes bytes of the body.
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

// encoded sends objects encoded, as some servers do without being asked.
func encoded(by string, cut bool) func(*server, writer, *request, []byte) bool {
	return func(_ *server, w writer, r *request, data []byte) bool {
		if data == nil {
			return false
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		z.Write(data)
		z.Close()
		w.Header().Set("ETag", etag(data))
		w.Header().Set("Content-Encoding", by)
		w.Header().Set("Content-Length", fmt.Sprint(packed.Len()))
		body := packed.Bytes()
		if cut {
			body = body[:len(body)/2]
		}
		if r.Method != http.MethodHead {
			w.Write(body)
		}
		return true
	}
}

// TestFaults: whatever a server does wrong, an operation gives the right bytes or an error that
// says what is wrong, and no operation hangs. A fault that passes does no harm.
func TestFaults(t *testing.T) {
	var wg sync.WaitGroup
	atOnce, everyNth := 64, 1
	if testing.Short() { // as under the race detector: the machine may be slow
		atOnce, everyNth = 16, 4
	}
	rows, slots := 0, make(chan struct{}, atOnce)
	for _, f := range faults {
		for _, op := range operations {
			for _, times := range []int{2, always} {
				rows++
				if rows%everyNth != 0 {
					continue
				}
				slots <- struct{}{}
				wg.Go(func() {
					defer func() { <-slots }()
					if wrong := faultRow(t, f, op.run, times); wrong != "" {
						t.Errorf("%s, %d times, %s: %s", f.name, times, op.name, wrong)
					}
				})
			}
		}
	}
	wg.Wait()
	t.Logf("%d faults, %d operations, each with a short fault and a lasting one: %d rows",
		len(faults), len(operations), rows/everyNth)
}

// always is the number of times of a fault that lasts.
const always = 1 << 30

// faultRow carries out an operation while a server has a fault so many times, and returns what is
// wrong with the outcome.
func faultRow(t *testing.T, f fault, op operation, times int) string {
	s := serve(t, map[string][]byte{"zarr.json": []byte(document), "c/0": large}, true)
	s.tag = etag
	defer s.Close()
	o := remote.Options{Stall: time.Second, Patience: 2 * time.Second}
	if times != always || len(f.says) == 0 { // no error is expected, and the machine may be slow
		o.Stall, o.Patience = 3*time.Second, 30*time.Second
	} else if testing.Short() {
		o.Stall, o.Patience = 3*time.Second, 6*time.Second
	}
	d := s.open(t, o)
	_, err := d.Open(t.Context(), "zarr.json")
	opened, err2 := d.Open(t.Context(), "c/0")
	if err = errors.Join(err, err2); err != nil {
		return err.Error()
	}
	var left atomic.Int64
	left.Store(int64(times))
	s.fault(func(w writer, r *request, data []byte) bool {
		return left.Add(-1) >= 0 && f.does(s, w, r, data)
	})
	began := time.Now()
	got, want, err := op(t.Context(), d, opened)
	number := syscall.Errno(0)
	saysSo := func(text string) bool { return strings.Contains(err.Error(), text) }
	f.says = append(slices.Clip(f.says), "nothing came") // if the machine is slow
	switch took := time.Since(began); {
	case took > time.Minute:
		return fmt.Sprint("it took ", took)
	case err == nil && bytes.Equal(got, want):
		return ""
	case err == nil:
		return fmt.Sprintf("%d bytes %.40q, want %d bytes %.40q", len(got), got, len(want), want)
	case len(f.says) == 1 || times != always && !f.stays:
		return fmt.Sprint("an error: ", err)
	case !slices.ContainsFunc(f.says, saysSo):
		return fmt.Sprintf("the error does not say %q: %v", f.says, err)
	case f.class == nil && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)):
		return fmt.Sprint("the error has a class: ", err)
	case errors.As(err, &number):
		return fmt.Sprint("the error wraps a number of the system: ", err)
	}
	return ""
}

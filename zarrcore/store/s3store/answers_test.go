package s3store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
	"github.com/zarrfs/zarrfs/zarrcore/store/s3store"
)

// secret is in the environment of these tests, and must be in no error.
const secret = "wJalrXUtnFEMI-K7MDENG-bPxRfiCYSECRET"

// fake is a server of S3 that answers as a test says.
type fake struct {
	*httptest.Server
	mu     sync.Mutex
	answer func(w http.ResponseWriter, r *http.Request)
	asked  []*http.Request
}

// newFake starts a fake. Its answers to listings are empty until a test says otherwise.
func newFake(t *testing.T) *fake {
	f := &fake{answer: func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "<ListBucketResult></ListBucketResult>")
	}}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_S3": f.URL, "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
		"AWS_SECRET_ACCESS_KEY": secret, "AWS_REGION": "us-east-1", "AWS_CONFIG_FILE": "/dev/null",
		"AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	return f
}

// ServeHTTP notes a request and answers it.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.asked = append(f.asked, r)
	answer := f.answer
	f.mu.Unlock()
	answer(w, r)
}

// say sets the answer from now on, and forgets the requests so far.
func (f *fake) say(answer func(w http.ResponseWriter, r *http.Request)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer, f.asked = answer, nil
}

// requests returns how many came since say.
func (f *fake) requests() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

// failing answers with an error of S3. To HEAD there is no body.
func failing(status int, code string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			fmt.Fprintf(w, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>It is %s."+
				"</Message><StringToSign>%s</StringToSign></Error>", code, code, secret)
		}
	}
}

// TestErrors: what each error of S3 becomes. It is never a missing object, and has no secrets.
func TestErrors(t *testing.T) {
	f := newFake(t)
	ro := remote.Options{Patience: 300 * time.Millisecond}
	d := open(t, "bucket/x.zarr", s3store.Options{}, ro)
	for _, test := range []struct {
		status int
		code   string
		class  error // nil: none of those below
		text   string
		most   int // requests
	}{
		{404, "NoSuchKey", fs.ErrNotExist, "NoSuchKey", 1},
		{404, "NoSuchBucket", nil, "404 Not Found (NoSuchBucket", 1},
		{403, "AccessDenied", fs.ErrPermission, "environment (AWS_ACCESS_KEY_ID) were sent", 2},
		{403, "SignatureDoesNotMatch", fs.ErrPermission, "were sent", 2},
		{403, "RequestTimeTooSkewed", nil, "RequestTimeTooSkewed", 1},
		{403, "InvalidObjectState", nil, "InvalidObjectState", 1},
		{400, "ExpiredToken", fs.ErrPermission, "ExpiredToken", 1},
		{412, "PreconditionFailed", store.ErrChanged, "replaced", 1},
		{409, "OperationAborted", nil, "OperationAborted", 50},
		{503, "SlowDown", nil, "SlowDown", 50},
		{500, "InternalError", nil, "InternalError", 50},
	} {
		f.say(failing(test.status, test.code))
		_, err := d.Open(t.Context(), "c/0")
		for _, class := range []error{fs.ErrNotExist, fs.ErrPermission, store.ErrChanged} {
			if is := errors.Is(err, class); is != (class == test.class) {
				t.Errorf("%d %s: %v is %v: %t", test.status, test.code, err, class, is)
			}
		}
		text := fmt.Sprint(err)
		if !strings.Contains(text, test.text) || strings.Contains(text, secret) {
			t.Errorf("%d %s: %v, want %q", test.status, test.code, err, test.text)
		}
		if n := f.requests(); n > test.most || test.most == 50 && n < 2 {
			t.Errorf("%d %s took %d requests, not up to %d", test.status, test.code, n, test.most)
		}
	}
}

// TestBucketVanishes: if the bucket of a store was removed, no call says that an object is missing.
func TestBucketVanishes(t *testing.T) {
	f := newFake(t)
	d := open(t, "bucket/x.zarr", s3store.Options{}, remote.Options{})
	f.say(failing(404, "NoSuchBucket"))
	_, openErr := d.Open(t.Context(), "zarr.json")
	_, statErr := d.Stat(t.Context(), "zarr.json")
	listErr := d.List(t.Context(), "c", func(store.Entry) error { return nil })
	walkErr := d.Walk(t.Context(), "c", func(string, store.Info) error { return nil })
	for i, err := range []error{openErr, statErr, listErr, walkErr} {
		if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, store.ErrCannotList) {
			t.Errorf("call %d of a store without bucket: %v", i, err)
		}
	}
	place, _ := s3store.Parse("bucket/x.zarr")
	_, err := s3store.Open(t.Context(), place, s3store.Options{}, remote.Options{})
	if !strings.Contains(fmt.Sprint(err), "NoSuchBucket") {
		t.Errorf("opening a store without bucket: %v", err)
	}
}

// TestRegion: the bucket is asked in the region that an answer names, and from then on there.
func TestRegion(t *testing.T) {
	f := newFake(t)
	f.say(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Amz-Bucket-Region", "eu-west-3")
		if !strings.Contains(r.Header.Get("Authorization"), "/eu-west-3/s3/") {
			failing(400, "AuthorizationHeaderMalformed")(w, r)
			return
		}
		fmt.Fprint(w, "<ListBucketResult></ListBucketResult>")
	})
	d := open(t, "bucket/x.zarr", s3store.Options{}, remote.Options{})
	before := f.requests()
	if err := d.List(t.Context(), "", func(store.Entry) error { return nil }); err != nil {
		t.Error(err)
	}
	if n := f.requests(); before != 2 || n != 3 {
		t.Errorf("opening took %d requests, want 2; listing %d more, want 1", before, n-before)
	}
}

// TestPages: a listing is asked for page by page, and says what keys have that XML cannot.
func TestPages(t *testing.T) {
	f := newFake(t)
	d := open(t, "bucket/x.zarr", s3store.Options{}, remote.Options{})
	f.say(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("prefix") != "x.zarr/d/" || q.Get("delimiter") != "/" {
			failing(400, "InvalidArgument")(w, r)
			return
		}
		switch q.Get("continuation-token") {
		case "":
			fmt.Fprint(w, `<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
				<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>
				<NextContinuationToken>1+/=x</NextContinuationToken>
				<Contents><Key>x.zarr/d/</Key><Size>0</Size></Contents>
				<Contents><Key>x.zarr/d/a+b%2Bc%01</Key><Size>7</Size><ETag>"e"</ETag>
				<LastModified>2026-01-02T03:04:05.678Z</LastModified></Contents>
				</ListBucketResult>`)
		case "1+/=x":
			fmt.Fprint(w, `<ListBucketResult><EncodingType>url</EncodingType><CommonPrefixes>
				<Prefix>x.zarr/d/sub/</Prefix></CommonPrefixes></ListBucketResult>`)
		default:
			failing(400, "InvalidArgument")(w, r)
		}
	})
	var got []string
	err := d.Survey(t.Context(), "d", func(e store.Entry, i store.Info) error {
		got = append(got, fmt.Sprintf("%q %t %d %s %d", e.Name, e.Dir, i.Size, i.Version,
			max(0, i.ModTime.Unix())))
		return nil
	})
	want := []string{`"a b+c\x01" false 7 "e" 1767323045`, `"sub" true 0  0`}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("Survey: %q, %v; want %q", got, err, want)
	}
}

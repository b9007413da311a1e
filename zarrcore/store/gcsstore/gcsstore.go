// Package gcsstore is the dialect of Google Cloud Storage. Objects are read by its XML API, whose
// errors tell a missing object from a missing bucket. They are listed by its JSON API, which tells
// generations.
package gcsstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
)

// Options say what the place does not. What is not said is taken from the environment.
type Options struct {
	Endpoint  string // URL of a server other than Google's, which gets no credentials
	Project   string // that pays for the requests; "": the bucket's
	Anonymous bool   // send no credentials
}

// Environment variables that Google's programs know, too.
const (
	envEmulator = "STORAGE_EMULATOR_HOST"
	envProject  = "GOOGLE_CLOUD_QUOTA_PROJECT"
)

// Parse reads BUCKET/PREFIX.
func Parse(text string) (remote.Place, error) {
	at := remote.PlaceOf(text)
	switch {
	case at.Bucket == "":
		return at, errors.New("expected gs://BUCKET/PREFIX")
	case !isBucket.MatchString(at.Bucket):
		return at, fmt.Errorf("%s is not the name of a bucket: it may have letters, digits, dots, "+
			"hyphens and underscores", at.Bucket)
	}
	return at, nil
}

var isBucket = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{1,221}$`)

// Open returns the store at a place.
func Open(
	ctx context.Context, at remote.Place, o Options, ro remote.Options,
) (*remote.Bucket, error) {
	emulator := cmp.Or(o.Endpoint, os.Getenv(envEmulator))
	d := &dialect{place: at, project: cmp.Or(o.Project, os.Getenv(envProject)), Account: &account{}}
	var err error
	if d.base, err = baseOf(emulator); err != nil {
		return nil, err
	}
	if emulator == "" && !o.Anonymous {
		if d.Account, err = load(ctx); err != nil {
			return nil, err
		}
	}
	return remote.OpenBucket(ctx, d, d.base.Scheme+"://"+d.base.Host, ro)
}

// baseOf returns the URL of the server; "" is Google's.
func baseOf(text string) (*url.URL, error) {
	if text == "" {
		text = "https://storage.googleapis.com"
	} else if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("expected %s as HOST:PORT, http://HOST:PORT or https://HOST",
			envEmulator)
	}
	u.RawQuery, u.Path, u.RawPath = "", "", ""
	return u, nil
}

// dialect is a remote.Dialect.
type dialect struct {
	remote.Plain
	remote.Account
	base    *url.URL
	place   remote.Place
	project string
}

// jsonAPI begins the paths of the JSON API.
const jsonAPI = "/storage/v1/b/"

// get builds the request for a path that is escaped.
func (d *dialect) get(ctx context.Context, escaped string, q url.Values) (*http.Request, error) {
	u := *d.base
	u.RawPath, u.RawQuery = escaped, q.Encode()
	var err error
	u.Path, err = url.PathUnescape(escaped)
	r := remote.Get(ctx, &u)
	if d.project != "" {
		r.Header.Set("X-Goog-User-Project", d.project)
	}
	return r, err
}

// Request builds the request for an object.
func (d *dialect) Request(ctx context.Context, key string) (*http.Request, error) {
	return d.get(ctx, "/"+d.place.Bucket+"/"+remote.Escape(d.place.Key(key)), nil)
}

// Describe takes the generation for the version.
func (d *dialect) Describe(a *remote.Answer) remote.Described {
	said := d.Plain.Describe(a)
	said.Version = a.Header.Get("X-Goog-Generation")
	return said
}

// Pin asks for a generation.
func (d *dialect) Pin(r *http.Request, version string) {
	r.Header.Set("X-Goog-If-Generation-Match", version)
}

// Unless asks by the JSON API, because the XML API has no such condition.
func (d *dialect) Unless(r *http.Request, version string) {
	key := strings.TrimPrefix(r.URL.Path, "/"+d.place.Bucket+"/")
	path := jsonAPI + d.place.Bucket + "/o/"
	r.URL.Path = path + key
	r.URL.RawPath = path + strings.ReplaceAll(remote.Escape(key), "/", "%2F")
	r.URL.RawQuery = url.Values{"alt": {"media"}, "ifGenerationNotMatch": {version}}.Encode()
}

// Listing is Objects: list.
func (d *dialect) Listing(ctx context.Context, l remote.Listing) (*http.Request, error) {
	q := l.Query("maxResults", "pageToken")
	q.Set("prefix", d.place.Below(l.Dir))
	q.Set("fields", "nextPageToken,prefixes,items(name,size,generation,updated)")
	return d.get(ctx, jsonAPI+d.place.Bucket+"/o", q)
}

// listed is the answer to a listing.
type listed struct {
	Prefixes []string `json:"prefixes"`
	Items    []struct {
		Name       string    `json:"name"`
		Size       int64     `json:"size,string"`
		Generation string    `json:"generation"`
		Updated    time.Time `json:"updated"`
	} `json:"items"`
	Next string `json:"nextPageToken"`
}

// Page reads the answer to a listing.
func (d *dialect) Page(dir string, a *remote.Answer) (remote.Page, error) {
	var l listed
	if err := json.Unmarshal(a.Body, &l); err != nil {
		return remote.Page{}, store.ErrCannotList
	}
	p := d.place.Page(dir)
	p.Next = l.Next
	for _, key := range l.Prefixes {
		p.AddDir(key)
	}
	for _, o := range l.Items {
		p.AddObject(o.Name, store.Info{Size: o.Size, Version: o.Generation, ModTime: o.Updated})
	}
	return p, nil
}

// Judge goes by the code of the error.
func (d *dialect) Judge(a *remote.Answer) remote.Verdict {
	v := d.Plain.Judge(a)
	e := remote.ReadXMLError(a)
	v.Text = e.Text(v.Text)
	switch {
	case e.Code == "NoSuchKey":
		v.Kind = remote.Missing
	case e.Code == "NoSuchBucket":
		v.Kind = remote.NoStore
	case a.Status == http.StatusNotFound && a.Path == jsonAPI+d.place.Bucket+"/o":
		v.Kind, v.Text = remote.NoStore, v.Text+" (there is no such bucket)"
	case a.Status == http.StatusBadRequest && remote.IsTooLong(a.Path):
		v.Kind = remote.Missing
	case a.Status == http.StatusUnauthorized:
		v.Kind = remote.Expired
	case a.Status == http.StatusBadRequest && e.Code == "UserProjectMissing":
		v.Kind = remote.Denied
	}
	return v
}

// Package azurestore is the dialect of Azure Blob Storage.
package azurestore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
)

// Options say what the place does not. What is not said is taken from the environment.
type Options struct {
	Account   string
	Endpoint  string // URL of the account's server; "" is Azure's
	Anonymous bool   // send no credentials
}

// A Location is a place in a container of an account.
type Location struct {
	remote.Place
	host string // of the account; "" where the URL does not name it
}

// Parse reads az://CONTAINER/PREFIX, or abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX.
func Parse(scheme, text string) (*Location, error) {
	l := &Location{}
	if at := strings.IndexByte(text, '@'); at >= 0 {
		host, prefix, _ := strings.Cut(text[at+1:], "/")
		account, domain, ok := strings.Cut(host, ".dfs.")
		if !ok {
			account, domain, ok = strings.Cut(host, ".blob.")
		}
		if !ok || account == "" {
			return nil, fmt.Errorf("expected %s://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX",
				scheme)
		}
		l.host = account + ".blob." + domain
		text = text[:at] + "/" + prefix
	}
	l.Place = remote.PlaceOf(text)
	switch {
	case l.Bucket == "":
		return nil, fmt.Errorf("expected %s://CONTAINER/PREFIX", scheme)
	case !isContainer.MatchString(l.Bucket):
		return nil, fmt.Errorf("%s is not the name of a container: it may have small letters, "+
			"digits and hyphens", l.Bucket)
	}
	return l, nil
}

// isContainer matches the names of containers, and those that Azure itself has made.
var isContainer = regexp.MustCompile(`^\$?[a-z0-9][a-z0-9-]{1,62}$`)

// Open returns the store at a location.
func Open(
	ctx context.Context, at *Location, o Options, ro remote.Options,
) (*remote.Bucket, error) {
	from, err := findSettings(o)
	if err != nil {
		return nil, err
	}
	d := &dialect{place: at.Place}
	if d.base, err = from.server(at.host); err != nil {
		return nil, err
	}
	if d.Account, err = from.credentials(ctx); err != nil {
		return nil, err
	}
	ro.NoSuffixes = true
	return remote.OpenBucket(ctx, d, d.base.Scheme+"://"+d.base.Host, ro)
}

// server returns the URL of the account.
func (s *settings) server(host string) (*url.URL, error) {
	switch {
	case host != "":
		s.account, _, _ = strings.Cut(host, ".")
		return &url.URL{Scheme: "https", Host: host}, nil
	case s.endpoint != "":
		u, err := url.Parse(s.endpoint)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" ||
			u.User != nil || u.RawQuery != "" {
			return nil, errors.New("expected the endpoint of Azure as https://HOST or " +
				"http://HOST:PORT/ACCOUNT")
		}
		u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
		if s.account == "" { // a server of tests has it in the path
			s.account = strings.TrimPrefix(u.Path, "/")
		}
		return u, nil
	case s.account == "":
		return nil, fmt.Errorf("the storage account is not known: name it in %s or by "+
			"--az-account, or say abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX", envAccount)
	}
	return &url.URL{Scheme: "https", Host: s.account + ".blob." + s.suffix}, nil
}

// dialect is a remote.Dialect.
type dialect struct {
	remote.Plain
	remote.Account
	base  *url.URL
	place remote.Place
}

// apiVersion is the version of the interface in use. Old servers on premises know it, too. It has a
// way to write names that XML cannot have.
const apiVersion = "2021-02-12"

// url returns the URL of a key in the container; "" is the container itself.
func (d *dialect) url(key string) *url.URL {
	u := *d.base
	u.Path += "/" + d.place.Bucket
	if key != "" {
		u.Path += "/" + key
	}
	u.RawPath = strings.ReplaceAll(remote.Escape(u.Path), "%24", "$")
	return &u
}

func (d *dialect) get(ctx context.Context, u *url.URL) *http.Request {
	r := remote.Get(ctx, u)
	r.Header.Set("X-Ms-Version", apiVersion)
	return r
}

// Request builds the request for an object.
func (d *dialect) Request(ctx context.Context, key string) (*http.Request, error) {
	return d.get(ctx, d.url(d.place.Key(key))), nil
}

// Listing is List Blobs.
func (d *dialect) Listing(ctx context.Context, l remote.Listing) (*http.Request, error) {
	q := l.Query("maxresults", "marker")
	q.Set("restype", "container")
	q.Set("comp", "list")
	if prefix := d.place.Below(l.Dir); prefix != "" {
		q.Set("prefix", prefix)
	}
	u := d.url("")
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	return d.get(ctx, u), nil
}

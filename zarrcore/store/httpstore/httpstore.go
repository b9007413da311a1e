// Package httpstore is the dialect of plain web servers: objects are files below a URL. What a
// directory holds is known only where the server makes an index of it.
package httpstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
)

// A Location is a place on a web server.
type Location struct {
	base  *url.URL // without a slash at its end, user, query and fragment
	query string   // that all requests have, as signatures; a secret
}

// Parse reads an http or https URL. The query, which all requests then have, may be a secret, such
// as a signature, and is not part of the name. A user and password in the URL are refused, because
// command lines and tables of mounts are for everybody to see.
func Parse(text, query string) (*Location, error) {
	u, err := url.Parse(text)
	if err != nil { // its text may have secrets
		return nil, errors.New("the URL of the store is not valid")
	}
	switch {
	case u.User != nil:
		return nil, fmt.Errorf("a user or password in a URL can be seen by every user of this "+
			"machine; put them into ~/.netrc: machine %s login NAME password WORD", u.Hostname())
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("expected http://HOST/PATH or https://HOST/PATH")
	case u.Fragment != "":
		return nil, errors.New("a URL of a store has no part after #")
	}
	l := &Location{base: u, query: cmp.Or(u.RawQuery, query)}
	u.RawQuery, u.ForceQuery = "", false
	u.Host = strings.ToLower(u.Host)
	l.base = u.JoinPath()
	trimmed := strings.TrimRight(u.EscapedPath(), "/")
	l.base.RawPath = trimmed
	l.base.Path, err = url.PathUnescape(trimmed)
	return l, err
}

// Name is the URL as it may be shown: without its query.
func (l *Location) Name() string { return l.base.String() }

// Host is the scheme and host, for errors.
func (l *Location) Host() string { return l.base.Scheme + "://" + l.base.Host }

// Base is the last element of the path, or the host if there is no path.
func (l *Location) Base() string {
	if name := store.Base(strings.Trim(l.base.Path, "/")); name != "" {
		return name
	}
	return l.base.Hostname()
}

// Parent returns the place above, and the key that leads from there to l.
func (l *Location) Parent() (*Location, string) {
	escaped := l.base.EscapedPath()
	i := strings.LastIndexByte(escaped, '/')
	up := *l.base
	up.RawPath = escaped[:max(i, 0)]
	up.Path, _ = url.PathUnescape(up.RawPath)
	return &Location{base: &up, query: l.query}, l.Base()
}

// url returns the URL of an object, with a slash at the end if it is a directory.
func (l *Location) url(key string, isDir bool) *url.URL {
	u := *l.base
	raw := u.EscapedPath()
	if key != "" {
		for element := range strings.SplitSeq(key, "/") {
			raw += "/" + url.PathEscape(element)
		}
	}
	if isDir {
		raw += "/"
	}
	u.RawPath, u.RawQuery = raw, l.query
	u.Path, _ = url.PathUnescape(raw)
	return &u
}

// dialect is a remote.Dialect.
type dialect struct {
	remote.Plain
	remote.Account
	at *Location
}

// Open returns the store at a location.
func Open(
	ctx context.Context, at *Location, c Credentials, o remote.Options,
) (*remote.Driver, error) {
	from, err := c.load(at.base.Hostname())
	if err != nil {
		return nil, err
	}
	return remote.Open(ctx, &dialect{at: at, Account: from}, at.Host(), o)
}

// Request builds the request for an object.
func (d *dialect) Request(ctx context.Context, key string) (*http.Request, error) {
	return remote.Get(ctx, d.at.url(key, false)), nil
}

// Judge knows directories by the redirect to their name with a slash.
func (d *dialect) Judge(a *remote.Answer) remote.Verdict {
	v := d.Plain.Judge(a)
	if v.Kind == remote.Elsewhere {
		to, err := url.Parse(a.Header.Get("Location"))
		if err == nil && (to.Path == a.Path+"/" || to.Path == store.Base(a.Path)+"/") {
			v.Kind = remote.Directory
		}
	}
	if a.Status == http.StatusUnauthorized {
		v.Kind = remote.Expired
	}
	return v
}

// Listing asks for the index of a directory.
func (d *dialect) Listing(ctx context.Context, l remote.Listing) (*http.Request, error) {
	r := remote.Get(ctx, d.at.url(l.Dir, true))
	r.Header.Set("Accept", "application/json, text/html;q=0.9")
	return r, nil
}

// Page reads an index.
func (d *dialect) Page(dir string, a *remote.Answer) (remote.Page, error) {
	entries, ok := readIndex(a.Header.Get("Content-Type"), a.Body, d.at.url(dir, true))
	if !ok {
		return remote.Page{}, store.ErrCannotList
	}
	return remote.Page{Entries: entries, IsDir: true}, nil
}

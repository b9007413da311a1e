// Package s3store is the dialect of Amazon S3, and of the many servers that speak it.
package s3store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
)

// Options say what the place does not. What is not said is taken from the environment and the files
// that the programs of AWS have, too.
type Options struct {
	Endpoint      string // URL of a server other than Amazon's
	Region        string
	Profile       string // of ~/.aws/config
	Anonymous     bool   // send no credentials
	RequesterPays bool   // the requests are paid by their sender
	VirtualHost   bool   // the bucket is a part of the host's name, also at Endpoint
}

// Parse reads BUCKET/PREFIX.
func Parse(text string) (remote.Place, error) {
	at := remote.PlaceOf(text)
	switch {
	case at.Bucket == "":
		return at, errors.New("expected s3://BUCKET/PREFIX")
	case strings.Contains(at.Bucket, "@"):
		return at, errors.New("credentials in a URL can be seen by every user of this machine; " +
			"put them into ~/.aws/credentials")
	case !isBucket.MatchString(at.Bucket):
		return at, fmt.Errorf("%s is not the name of a bucket: it may have letters, digits, dots "+
			"and hyphens", at.Bucket)
	}
	return at, nil
}

// isBucket matches the names of buckets, also those of old ones, which may have capital letters.
var isBucket = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$`)

// Open returns the store at a place.
func Open(
	ctx context.Context, at remote.Place, o Options, ro remote.Options,
) (*remote.Bucket, error) {
	a, err := load(ctx, o)
	if err != nil {
		return nil, err
	}
	d := &dialect{place: at, account: a, requesterPays: o.RequesterPays, region: a.region}
	if d.endpoint, err = endpointOf(a.endpoint, o); err != nil {
		return nil, err
	}
	u := d.url("")
	return remote.OpenBucket(ctx, d, u.Scheme+"://"+u.Host, ro)
}

// dialect is a remote.Dialect.
type dialect struct {
	remote.Plain
	place         remote.Place
	account       *account
	endpoint      endpoint
	requesterPays bool

	mu     sync.Mutex
	region string // where the bucket is, as far as is known
	said   string // where it is by an answer that came since; "" if none did
}

// An endpoint is a server, and how it is told the bucket.
type endpoint struct {
	base    *url.URL // nil: Amazon's server for the region
	virtual bool     // the bucket is a part of the host's name
}

// endpointOf returns the server that a URL names. Servers other than Amazon's get the bucket in the
// path, which all of them understand but few.
func endpointOf(text string, o Options) (endpoint, error) {
	if text == "" {
		return endpoint{virtual: true}, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return endpoint{}, errors.New("expected the endpoint of S3 as https://HOST, " +
			"or http://HOST:PORT")
	}
	if u.User != nil || u.RawQuery != "" {
		return endpoint{}, errors.New("the endpoint of S3 has no user, password or query")
	}
	isName := net.ParseIP(u.Hostname()) == nil
	isAmazon := strings.HasSuffix(u.Hostname(), ".amazonaws.com")
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), ""
	return endpoint{base: u, virtual: isName && (isAmazon || o.VirtualHost)}, nil
}

// isLabel matches the names of buckets that can be a part of a host's name. There is a certificate
// for such a host.
var isLabel = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$`)

// url returns the URL of a key in the bucket; "" is the bucket itself.
func (d *dialect) url(key string) *url.URL {
	u := url.URL{Scheme: "https", Host: "s3." + d.now() + ".amazonaws.com"}
	if d.endpoint.base != nil {
		u = *d.endpoint.base
	} else if strings.HasPrefix(d.now(), "cn-") {
		u.Host += ".cn"
	}
	path := "/" + key
	if d.endpoint.virtual && isLabel.MatchString(d.place.Bucket) {
		u.Host = d.place.Bucket + "." + u.Host
	} else if path = "/" + d.place.Bucket; key != "" {
		path += "/" + key
	}
	u.Path += path
	u.RawPath = remote.Escape(u.Path)
	return &u
}

// now returns the region to be asked.
func (d *dialect) now() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.region
}

// Request builds the request for an object.
func (d *dialect) Request(ctx context.Context, key string) (*http.Request, error) {
	return d.get(ctx, d.url(d.place.Key(key))), nil
}

func (d *dialect) get(ctx context.Context, u *url.URL) *http.Request {
	r := remote.Get(ctx, u)
	if d.requesterPays {
		r.Header.Set("X-Amz-Request-Payer", "requester")
	}
	return r
}

// Listing is ListObjectsV2.
func (d *dialect) Listing(ctx context.Context, l remote.Listing) (*http.Request, error) {
	q := l.Query("max-keys", "continuation-token")
	q.Set("list-type", "2")
	q.Set("encoding-type", "url") // XML has no place for some characters
	q.Set("prefix", d.place.Below(l.Dir))
	u := d.url("")
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	return d.get(ctx, u), nil
}

// Authorize signs a request.
func (d *dialect) Authorize(r *http.Request) error {
	return d.account.sign(r, d.now())
}

// Renew takes the region that an answer has named, or gets other credentials.
func (d *dialect) Renew(ctx context.Context) bool {
	d.mu.Lock()
	moved := d.said != "" && d.said != d.region
	if moved {
		d.region, d.said = d.said, ""
	}
	d.mu.Unlock()
	return moved || d.account.renew(ctx)
}

// Credentials says which credentials were sent.
func (d *dialect) Credentials() string { return d.account.String() }

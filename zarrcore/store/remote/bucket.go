package remote

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Bucket is a store on a server that keeps objects by their keys alone. A directory is there if a
// key begins with its name and a slash. All objects below a directory are listed at once.
type Bucket struct{ *Driver }

// OpenBucket returns the store behind d; see Open. The listing of the root is asked for as anything
// is. An error says that the bucket is not there, unless the server only refuses to list it.
func OpenBucket(ctx context.Context, d Dialect, where string, o Options) (*Bucket, error) {
	v := &Driver{Client: newClient(d, where, o), isBucket: true}
	return &Bucket{v}, v.findListing(ctx, 0, (*Error).mayNotList)
}

// mayNotList reports whether an error says that a bucket is there and only its listing is refused.
func (e *Error) mayNotList() bool {
	return e.Kind == Denied || e.Kind == Expired || e.Kind == Refused
}

// Stat describes the object at key, or says that keys begin with it; see store.Driver.
func (b *Bucket) Stat(ctx context.Context, key string) (store.Info, error) {
	info, err := b.Driver.Stat(ctx, key)
	if key == "" || !b.canList || !isMissing(err) {
		return info, err
	}
	switch has, err := b.has(ctx, key); {
	case err != nil:
		return store.Info{}, err
	case !has:
		return store.Info{}, fs.ErrNotExist
	}
	return store.Info{Name: store.Base(key), Dir: true}, nil
}

// isMissing reports whether an error says that a server has no such object, whatever that means.
func isMissing(err error) bool {
	e := new(Error)
	return errors.As(err, &e) && e.isMissing()
}

// has reports whether there are objects below dir.
func (b *Bucket) has(ctx context.Context, dir string) (bool, error) {
	for page := ""; ; {
		now, err := b.readPage(ctx, Listing{Dir: dir, Page: page, All: true, Most: 1}, 0)
		if err != nil || now.IsDir || len(now.Entries) > 0 || now.Next == "" {
			return now.IsDir || len(now.Entries) > 0, err
		}
		page = now.Next
	}
}

// Walk calls yield for all objects below dir; see store.Walker.
func (b *Bucket) Walk(
	ctx context.Context, dir string, yield func(key string, info store.Info) error,
) error {
	return b.pages(ctx, Listing{Dir: dir, All: true}, func(e Listed) error {
		e.Info.Name = store.Base(e.Name)
		return yield(store.Join(dir, e.Name), e.Info)
	})
}

// AddDir adds a directory that a listing names, with or without the slash at its end.
func (p *Page) AddDir(key string) {
	name, isBelow := strings.CutPrefix(strings.TrimSuffix(key, "/"), p.below)
	if isBelow && name != "" {
		p.Entries = append(p.Entries, Listed{Entry: store.Entry{Name: name, Dir: true}})
	}
}

// AddObject adds an object that a listing describes: its size, version and time. An object whose
// name ends in a slash is the mark of a directory.
func (p *Page) AddObject(key string, i store.Info) {
	name, isBelow := strings.CutPrefix(key, p.below)
	p.IsDir = p.IsDir || isBelow
	if !isBelow || name == "" || strings.HasSuffix(name, "/") {
		return
	}
	i.Name, i.Stored = name, i.Size
	i.ModTime = i.ModTime.UTC().Truncate(time.Second) // as the fields of answers tell it
	p.Entries = append(p.Entries, Listed{Entry: store.Entry{Name: name}, Info: i})
}

// A Place is where a store begins in a bucket.
type Place struct {
	Bucket string
	Prefix string // without slashes at its ends; "" is the whole bucket
}

// PlaceOf splits BUCKET/PREFIX.
func PlaceOf(text string) Place {
	bucket, prefix, _ := strings.Cut(text, "/")
	return Place{Bucket: bucket, Prefix: strings.Trim(prefix, "/")}
}

// Base is the last element of the prefix, or the bucket.
func (p Place) Base() string { return store.Base(p.String()) }

// String is BUCKET/PREFIX.
func (p Place) String() string { return strings.TrimSuffix(p.Bucket+"/"+p.Prefix, "/") }

// Key returns the key in the bucket of an object of the store.
func (p Place) Key(key string) string { return store.Join(p.Prefix, key) }

// Below returns what the keys begin with of all that is below a directory of the store.
func (p Place) Below(dir string) string {
	if p.Prefix != "" && dir != "" {
		dir = "/" + dir
	}
	if dir = p.Prefix + dir; dir == "" {
		return ""
	}
	return dir + "/"
}

// Get returns the request for what is at a URL. Unlike http.NewRequest it takes the URL as it is
// escaped.
func Get(ctx context.Context, u *url.URL) *http.Request {
	r := &http.Request{Method: http.MethodGet, URL: u, Host: u.Host, Header: http.Header{}}
	return r.WithContext(ctx)
}

// Page returns a page of the listing of a directory of the store, to which nothing was added yet.
func (p Place) Page(dir string) Page { return Page{below: p.Below(dir)} }

// IsTooLong reports whether the path of a URL is longer than the key of any object. It is for
// servers that answer 400 to such a path.
func IsTooLong(path string) bool { return len(path) > 1024 }

// Escape writes a key as the path of a URL. It leaves only what RFC 3986, section 2.3, calls
// unreserved, and slashes: signatures are of this text.
func Escape(key string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(key) {
		switch c := key[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			strings.IndexByte("-._~/", c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

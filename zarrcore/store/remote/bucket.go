package remote

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// A BucketDialect is the Dialect of a server that keeps objects by their keys alone. A directory is
// there if a key begins with its name and a slash.
type BucketDialect interface {
	Dialect

	// ListingAll builds the request for a page of all objects below dir, however deep. Page then
	// names them by their keys from dir on. A page has at most so many; 0: as many as the server
	// likes.
	ListingAll(ctx context.Context, dir, page string, most int) (*http.Request, error)
}

// Bucket is a Driver for a BucketDialect. It lists all objects below a directory at once.
type Bucket struct {
	*Driver
	dialect BucketDialect
}

// OpenBucket returns the store behind d; see Open.
func OpenBucket(ctx context.Context, d BucketDialect, where string, o Options) (*Bucket, error) {
	v, err := Open(ctx, d, where, o)
	if err != nil {
		return nil, err
	}
	return &Bucket{Driver: v, dialect: d}, nil
}

// Stat describes the object at key, or says that keys begin with it; see store.Driver.
func (b *Bucket) Stat(ctx context.Context, key string) (store.Info, error) {
	info, err := b.Driver.Stat(ctx, key)
	if key == "" || !b.canList || !nothingThere(err) {
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

// nothingThere reports whether an error says that a server has no such object, whatever that means.
func nothingThere(err error) bool {
	e := new(Error)
	return errors.As(err, &e) && e.isMissing()
}

// has reports whether there are objects below dir.
func (b *Bucket) has(ctx context.Context, dir string) (bool, error) {
	for page := ""; ; {
		now, err := b.pageOfAll(ctx, dir, page, 1)
		if err != nil || now.IsDir || len(now.Entries) > 0 || now.Next == "" {
			return now.IsDir || len(now.Entries) > 0, err
		}
		page = now.Next
	}
}

// pageOfAll reads one page of the objects below dir.
func (b *Bucket) pageOfAll(ctx context.Context, dir, page string, most int) (Page, error) {
	return b.readPage(ctx, dir, 0, func(ctx context.Context) (*http.Request, error) {
		return b.dialect.ListingAll(ctx, dir, page, most)
	})
}

// Walk calls yield for all objects below dir; see store.Walker.
func (b *Bucket) Walk(
	ctx context.Context, dir string, yield func(key string, info store.Info) error,
) error {
	next := func(page string) (Page, error) { return b.pageOfAll(ctx, dir, page, 0) }
	return b.pagesOf(ctx, dir, next, func(e Listed) error {
		e.Info.Name = store.Base(e.Name)
		return yield(store.Join(dir, e.Name), e.Info)
	})
}

// AddDir adds a directory that a listing names, with or without the slash at its end.
func (p *Page) AddDir(name string) {
	if name = strings.TrimSuffix(name, "/"); name != "" {
		p.Entries = append(p.Entries, Listed{Entry: store.Entry{Name: name, Dir: true}})
	}
}

// AddObject adds an object that a listing describes: its size, version and time. An object whose
// name ends in a slash is the mark of a directory.
func (p *Page) AddObject(name string, i store.Info) {
	p.IsDir = true
	if name == "" || strings.HasSuffix(name, "/") {
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

package remote

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// A Dialect is the language of one kind of server: it builds requests and says what answers mean.
// It sends nothing itself, except for credentials. It is safe for concurrent use.
//
// [Plain] has what HTTP itself says, for dialects to embed.
type Dialect interface {
	// Request builds the request for the object at key, by GET. Servers refuse HEAD in ways that
	// say nothing about the object. The core adds ranges and conditions.
	Request(ctx context.Context, key string) (*http.Request, error)

	// Judge says what an answer means. The body is there of answers from 300 on, and is nil before.
	Judge(a *Answer) Verdict

	// Describe returns what the answer says of the object's version and modification time.
	Describe(a *Answer) Described

	// Pin makes a request fail, with a verdict of Changed, if the object has another version. Where
	// the server cannot do that, it does nothing: the core compares versions, too.
	Pin(r *http.Request, version string)

	// Unless makes a request for an object only if it has another version. Otherwise the
	// verdict is Unchanged.
	Unless(r *http.Request, version string)

	// Listing builds the request for a page of a listing. Without listings it is
	// store.ErrCannotList.
	Listing(ctx context.Context, l Listing) (*http.Request, error)

	// Page reads the answer to Listing, whose body is there. Any other answer is
	// store.ErrCannotList.
	Page(dir string, a *Answer) (Page, error)

	Account
}

// An Account has the credentials that are sent. It is safe for concurrent use.
type Account interface {
	// Authorize adds credentials to a request. It is called for each try, and never for a request
	// that a redirect leads to another host.
	Authorize(r *http.Request) error

	// Renew gets other credentials after a verdict of Expired, and reports whether there are any.
	Renew(ctx context.Context) bool

	// Credentials says in words which credentials are sent, and where others can be given. It has
	// no secrets.
	Credentials() string
}

// An Answer is what a server has answered.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // whole, or of an error the beginning
	Path   string // of the URL that was asked, decoded
}

// Kind says what is to be done about an answer.
type Kind uint8

// The kinds of answers.
const (
	Fine      Kind = iota // what was asked for
	Unchanged             // what was asked for is as it was: 304
	Empty                 // the object has no byte of the range: 416
	Elsewhere             // the Location says where
	Missing               // the server says that it has no such object, and it knows the store
	Doubtful              // there is nothing, which may be said of anything: 404
	Directory             // not an object, but the beginning of keys
	Denied                // 401, 403
	Expired               // as Denied, but other credentials may help
	Changed               // the object has another version
	Passing               // try again
	Busy                  // try again, and ask less
	Refused               // trying again is of no use
	NoStore               // the whole store is not there, as a bucket that was removed
)

// A Verdict is what an answer means.
type Verdict struct {
	Kind Kind
	Text string // what the server said, for people; it may be ""
}

// Described is what an answer says of an object.
type Described struct {
	Version string // opaque; "" if the server reports none that a later replacement would change
	Mark    string // what other answers about the same version say, too; "" is the Version
	Info    store.Info
}

// mark returns what all answers about one version have in common.
func (d Described) mark() string { return cmp.Or(d.Mark, d.Version) }

// A Listing says which page is asked for, of what is below a directory.
type Listing struct {
	Dir  string
	Page string // the Next of the page before; "" is the first one
	All  bool   // of a bucket: all objects, however deep, by their keys from Dir on
	Most int    // of a bucket: entries of the page at most; 0: as many as the server likes
}

// Query returns the parameters of a request to a bucket. most and page are the names of two
// parameters: the size of a page, and its start in the listing. Servers differ in these names.
func (l Listing) Query(most, page string) url.Values {
	q := url.Values{}
	if !l.All {
		q.Set("delimiter", "/")
	}
	if l.Most > 0 {
		q.Set(most, strconv.Itoa(l.Most))
	}
	if l.Page != "" {
		q.Set(page, l.Page)
	}
	return q
}

// A Page is a part of a listing.
type Page struct {
	Entries []Listed
	Next    string // of the next page; "" at the end
	IsDir   bool   // the answer shows that there is such a directory, even if it is empty

	below string // of a bucket: what the keys begin with
}

// Listed is one entry of a listing.
type Listed struct {
	store.Entry
	Info store.Info // of an object; its Version may be ""
}

package fs

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// A view is a file format in which a node is shown. To add one, write view_NAME.go, add it to
// views, and describe it in the table of views of the README. No other file names a view.
//
// How programs write to it follows from the interfaces that it implements. It may be written as
// bytes of the array (arrayView), or with a header that says what the array is (headerView). Or it
// is a file that is taken as a whole (textView). The document is written as a document.
type view interface {
	// name is what --views calls it; a file of this view ends in "." + name. A name may contain
	// dots.
	name() string
	// has reports whether an array has such a file. If it has no such file, the name has no special
	// meaning.
	has(a subject) bool
	// lists reports whether the file of an array that has one is listed. Others can be opened all
	// the same.
	lists(a subject) bool
	// describes reports whether a file alone says what such an array is: a new one then makes an
	// array. Other files wait for their array. m is nil where there is no array yet.
	describes(m *meta.Array) bool
	// writable reports whether programs may write to the files of arrays that can be written.
	writable() bool
	// keeps reports whether an array stays as long as its file of this view does. It is removed
	// with the last such file that is listed.
	keeps() bool
	// size returns the file's size from metadata alone.
	size(n *zarrcore.Node) (int64, error)
	// open returns what a handle of the file reads. It revalidates the array against the store.
	open(ctx context.Context, h *zarrcore.Hierarchy, path string) (content, error)
}

// views are all the views there are, in the order in which they are listed. The document comes
// first: a program that copies a tree makes each array by it, with its own chunks and codecs,
// before there is data.
var views = []view{documentView, npyView{}, rawView{}, jsonlView{}}

// documentView is the view that shows the metadata of an array, and the only one of a group.
var documentView view = jsonView{}

// An arrayView shows the bytes of an array behind a header, which may be empty. Programs write to
// the bytes, and cannot change the header.
type arrayView interface {
	view
	// parts returns what the file of an array is made of: the header, and the array whose bytes
	// follow.
	parts(a *zarrcore.Array) (head []byte, data *zarrcore.Array, err error)
}

// A headerView is an arrayView whose header programs write too. That of a new file makes an array,
// and another one resizes it. There is one such view: what its writers have made of the header is
// kept once for each array (npyFile).
type headerView interface {
	arrayView
	// parse reads the header at the beginning of text. One that is not complete is
	// io.ErrUnexpectedEOF.
	parse(text []byte) (npy.Info, error)
}

// headed returns the view of which programs write the header.
func headed() headerView {
	for _, v := range views {
		if h, ok := v.(headerView); ok {
			return h
		}
	}
	return nil
}

// isHeaded reports whether v is that view.
func isHeaded(v view) bool {
	h, ok := v.(headerView)
	return ok && h == headed()
}

// A textView shows an array whose elements have no fixed size. Its file is taken as a whole when it
// is flushed.
type textView interface {
	view
	// accepts reports whether elements of such a kind can be written.
	accepts(kind vlen.Kind) bool
	// counted returns the file's size, from what counting the array has found.
	counted(arr *zarrcore.VlenArray, found zarrcore.Count) (int64, error)
	// appends reports whether what is written behind the end can be taken without the rest.
	appends() bool
	// take makes the text the elements of the array at path; if all is not set, it goes behind
	// them. durable: it survives a power cut.
	take(ctx context.Context, h *zarrcore.Hierarchy, path string, text written, all, durable bool) error
}

// written is a file that a program has written.
type written struct {
	io.ReaderAt
	size int64
}

// content is what an open file holds. It is safe for concurrent use.
type content interface {
	// size is the file's size as long as it is open.
	size() int64
	// read returns the n bytes at off, which lie within size.
	read(ctx context.Context, off, n int64) (*found, error)
	// nextData returns the first stretch at or after off that may hold data; start == size() if
	// there is none.
	nextData(ctx context.Context, off int64) (start, end int64, err error)
	// array returns the array behind the content, nil if there is none.
	array() *zarrcore.Array
	close()
}

// shows reports whether a view is listed for an array.
func shows(v view, a subject) bool { return v.has(a) && v.lists(a) }

// ViewNames returns the names of all views, in the order in which they are listed.
func ViewNames() []string {
	names := make([]string, len(views))
	for i, v := range views {
		names[i] = v.name()
	}
	return names
}

// DefaultView returns the name of the view that shows most of a node. For a group it is the
// document. For an array it is the first view with its bytes as they are, or with its elements if
// these have no fixed size.
func DefaultView(n *zarrcore.Node) string {
	for _, v := range views {
		_, bytes := v.(arrayView)
		if n.Kind == zarrcore.ArrayNode && v != documentView && v.has(subjectOfMeta(n.Meta)) && bytes != zarrcore.IsVlen(n.Meta) {
			return v.name()
		}
	}
	return documentView.name()
}

// IsBinary reports whether the files of the view of that name are not text.
func IsBinary(name string) bool {
	_, bytes := viewNamed(name).(arrayView)
	return bytes
}

// ParseViews reads a list of view names separated by ',' ':' or '+'.
func ParseViews(list string) ([]string, error) {
	names := strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(",:+ ", r) })
	for _, name := range names {
		if viewNamed(name) == nil {
			return nil, fmt.Errorf("no view %q: there are %s", name, strings.Join(ViewNames(), ", "))
		}
	}
	return names, nil
}

func viewNamed(name string) view {
	for _, v := range views {
		if v.name() == name {
			return v
		}
	}
	return nil
}

// splitView removes a view's suffix from a file name. Of two suffixes that fit, the longer one
// counts.
func splitView(name string) (base string, v view) {
	base = name
	for _, other := range views {
		rest, fits := strings.CutSuffix(name, other.name())
		if rest, dot := strings.CutSuffix(rest, "."); fits && dot && len(rest) < len(base) {
			base, v = rest, other
		}
	}
	return base, v
}

// viewsAll returns all views there are, in the order in which they are listed.
func viewsAll() []view { return views }

// registerViews adds views at the end, and returns what removes them. Tests show with it that
// nothing but the view itself knows which views there are.
func registerViews(more ...view) (remove func()) {
	before := views
	views = append(slices.Clone(views), more...)
	return func() { views = before }
}

package fs

import (
	"context"
	"fmt"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore"
)

// A view is a file format in which a node is shown. To add one, write view_NAME.go, add it to views, and describe it
// in the table of views of the README.
type view interface {
	// name is what --views calls it; a file of this view ends in "." + name. A name may contain dots.
	name() string
	// has reports whether an array has such a file. Where it has not, the name is one like any other.
	has(a subject) bool
	// lists reports whether the file of an array that has one is listed. Others can be opened all the same.
	lists(a subject) bool
	// size returns the file's size from metadata alone.
	size(n *zarrcore.Node) (int64, error)
	// open returns what a handle of the file reads. It revalidates the array against the store.
	open(ctx context.Context, h *zarrcore.Hierarchy, path string) (content, error)
}

// views are all the views there are, in the order in which they are listed. The document comes first: who copies a tree
// makes each array by it, with its own chunks and codecs, before there is data.
var views = []view{jsonView{}, npyView{}, rawView{}, jsonlView{}}

// content is what an open file holds. It is safe for concurrent use.
type content interface {
	// size is the file's size as long as it is open.
	size() int64
	// read returns the n bytes at off, which lie within size.
	read(ctx context.Context, off, n int64) (*reply, error)
	// nextData returns the first stretch at or after off that may hold data; start == size() if there is none.
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

// splitView removes a view's suffix from a file name. Of two suffixes that fit, the longer one counts.
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

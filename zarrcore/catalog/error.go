package catalog

import (
	"fmt"
	iofs "io/fs"
	"strconv"
)

// An Error is a failure to read a node: its path in the hierarchy, the key of
// the object that is concerned, and what is the matter.
type Error struct {
	Op   string // what was to be done: "open", "read", "store"
	Path string // of the node; "" is the root
	Key  string // of the object, "" if none is to blame
	Err  error
}

// Error says what cannot be done with which array and chunk, and why. Where the store's own error
// names the chunk as well, it is named once.
func (e *Error) Error() string {
	s, cause := "cannot "+e.Op+" "+QuotePath(e.Path), e.Err
	if e.Key != "" {
		s += ": chunk " + quoteKey(e.Key)
	}
	if own, ok := cause.(*iofs.PathError); ok && own.Path == e.Key {
		cause = own.Err
	} else if ok {
		cause = &iofs.PathError{Op: own.Op, Path: quoteKey(own.Path), Err: own.Err}
	}
	return s + ": " + cause.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// QuotePath returns a path as messages have it.
func QuotePath(path string) string {
	if path == "" {
		return "the root"
	}
	return fmt.Sprintf("%q", path)
}

// quoteKey returns a key as messages have it: quoted if it holds what could be taken for the end of
// the line, or for other text.
func quoteKey(key string) string {
	if quoted := strconv.Quote(key); quoted[1:len(quoted)-1] != key {
		return quoted
	}
	return key
}

package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// ErrThroughLink is returned for a key on whose way a link stands, by what does not go through
// links. It wraps fs.ErrNotExist: nothing has that key, though a link leads to what has another
// one.
var ErrThroughLink = fmt.Errorf("store: a link is on the way: %w", fs.ErrNotExist)

// errNoLinks is returned if a link is to be made in a store that cannot hold links.
var errNoLinks = fmt.Errorf("store: it cannot hold links: %w", errors.ErrUnsupported)

// Linker is a Driver whose store may hold links, as a directory does. It is optional. Open, Peek,
// Stat, List and Survey follow links that stay in the store. RemoveAll, Rename and Delete act on a
// link, not on what it leads to, and RemoveAll and Rename go through none: such a key is
// fs.ErrNotExist.
type Linker interface {
	Driver

	// Link returns the link at key. ok reports whether there is one. A key that leads through a
	// link is ErrThroughLink.
	Link(ctx context.Context, key string) (link Link, ok bool, err error)

	// Resolve returns the key that is left when all links on the way of key, and at its end, are
	// followed; "" is the root. If a link leads nowhere, the error says why. What is missing is
	// fs.ErrNotExist.
	Resolve(ctx context.Context, key string) (string, error)
}

// LinkWriter is a Linker that can make links. It is optional.
type LinkWriter interface {
	Linker

	// PutLink makes a link at key; directories above it are not made. text is as Link.Text. The
	// link may lead to nothing, but not out of the store: that is an error. If something is at key
	// already, the error is fs.ErrExist, unless that is a link and replace is set.
	PutLink(ctx context.Context, key, text string, replace bool) error

	// RenameLink is Rename for a link, which replaces a link at to.
	RenameLink(ctx context.Context, from, to string) error
}

// Link is a name in the store for what has another key.
type Link struct {
	// Text is the way from the directory that holds the link: elements, "." and ".." joined by "/".
	// "" if Err says that it leaves the store.
	Text string
	// Target is the key of what it leads to, with all links on the way followed; "" is the root.
	// Where Err is set it means nothing.
	Target  string
	Dir     bool      // it leads to a directory
	Err     error     // why it leads to nothing; nil if it leads to something
	Version string    // opaque; differs when the link was replaced
	Rights  Rights    // of what is at the key, also where that is not a link
	ModTime time.Time // of what is at the key, as Info has it, also where that is not a link
	Changed time.Time // as ModTime
}

// Links are the links of a store. Its errors are as those of Store.
type Links struct{ at keyspace }

// Links returns the links of the store.
func (s *Store) Links() Links { return Links{s.keyspace} }

// At returns the link at key, as Linker.Link does. A store that has no links has none at any key.
func (l Links) At(ctx context.Context, key string) (link Link, ok bool, err error) {
	d, can := l.at.driver.(Linker)
	if !can || key == "" {
		return Link{}, false, nil
	}
	rel, err := l.at.object(key)
	if err == nil {
		link, ok, err = d.Link(ctx, rel)
		link.Target = l.at.key(link.Target)
	}
	return link, ok, annotate("readlink", key, err)
}

// Resolve follows all links of key, as Linker.Resolve does. In a store that has no links it is key.
func (l Links) Resolve(ctx context.Context, key string) (string, error) {
	d, can := l.at.driver.(Linker)
	if !can || key == "" {
		return key, nil
	}
	rel, err := l.at.object(key)
	if err != nil {
		return "", annotate("resolve", key, err)
	}
	target, err := d.Resolve(ctx, rel)
	return l.at.key(target), annotate("resolve", key, err)
}

// Put makes a link, as LinkWriter.PutLink does. In a store that cannot hold links it is
// errors.ErrUnsupported.
func (l Links) Put(ctx context.Context, key, text string, replace bool) error {
	w, rel, err := l.writer(key)
	if err == nil {
		err = w.PutLink(ctx, rel, text, replace)
	}
	return annotate("link", key, err)
}

// Rename renames a link, as LinkWriter.RenameLink does.
func (l Links) Rename(ctx context.Context, from, to string) error {
	w, relFrom, err := l.writer(from)
	if err == nil {
		var relTo string
		if relTo, err = l.at.object(to); err == nil {
			err = w.RenameLink(ctx, relFrom, relTo)
		}
	}
	return annotate("rename", from, err)
}

func (l Links) writer(key string) (w LinkWriter, rel string, err error) {
	if _, rel, err = l.at.writer(key); err != nil {
		return nil, "", err
	}
	w, ok := l.at.driver.(LinkWriter)
	if !ok {
		return nil, "", errNoLinks
	}
	return w, rel, nil
}

package catalog

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// A Link is another name for a group or array. It is a node of its own: what is
// removed or renamed by its path is the link, and nothing is found below that
// path. [Catalog.Resolve] returns the path of what it leads to.
type Link struct {
	// Text is the way from the group that holds the link, as names in the
	// store, "." and ".." joined by "/". It is "" where the link leaves the
	// store: such a text is never told.
	Text     string
	Target   string   // the path of the node that it leads to
	Kind     NodeKind // of that node
	Elements          // of that node, if it is an array
	Err      error    // why it leads to no node; then only Text counts
}

// LeadsToArray reports whether the link leads to an array.
func (l *Link) LeadsToArray() bool { return l != nil && l.Err == nil && l.Kind == ArrayNode }

var (
	// errIsLink is returned for what cannot be done by the path of a link.
	errIsLink = fmt.Errorf("it is a link: %w", iofs.ErrNotExist)

	// errNoNode says why a link within the store leads to no node.
	errNoNode = errors.New("expected a link to a group or array")
)

// linkAt returns the link at path, nil if there is none, and what is known of the
// directory that is there otherwise.
func (cat *looks) linkAt(
	ctx context.Context, path string,
) (link *Node, folder store.Link, err error) {
	if path == "" {
		return nil, folder, nil
	}
	l, ok, err := cat.store.Links().At(ctx, path)
	if err != nil && errors.Is(err, store.ErrInvalidKey) {
		return nil, folder, nil // nothing has such a path, as others will tell
	}
	if err != nil {
		return nil, folder, &Error{Op: "open", Path: path, Err: err}
	}
	if !ok {
		return nil, l, nil
	}
	to := cat.linkTo(ctx, path, l)
	return &Node{Path: path, Kind: LinkNode, Link: to, Err: to.Err, ModTime: l.ModTime,
		Version: l.Version}, folder, nil
}

// linkTo finds out to which node a link of the store leads.
func (cat *looks) linkTo(ctx context.Context, path string, l store.Link) *Link {
	link := &Link{Text: l.Text, Target: l.Target}
	err := l.Err
	switch {
	case err != nil:
	case !l.Dir:
		err = fmt.Errorf("%w, found one to the file %q", errNoNode, l.Target)
	case l.Target != "" && cat.isBelowArray(ctx, l.Target):
		err = fmt.Errorf("%w, found one to %q, which lies in an array", errNoNode, l.Target)
	default:
		seen, _ := cat.probe(ctx, l.Target, false)
		link.Kind, link.Elements = seen.kind, seen.elements
	}
	if err != nil {
		link.Err = &Error{Op: "follow", Path: path, Err: err}
	}
	return link
}

// ShowsLink reports whether a group shows the link of that name that it holds: not one in the place
// of a document, nor one to a file, which it would not show either.
func (cat *looks) ShowsLink(ctx context.Context, path, name string) bool {
	l, ok, err := cat.store.Links().At(ctx, store.Join(path, name))
	return err == nil && ok && !meta.IsDocument(name) && (l.Err != nil || l.Dir)
}

// Placed is Node, for what is to be changed by its path: that of a link will
// not do.
func (cat *reader) Placed(ctx context.Context, path string) (*Node, error) {
	n, err := cat.Node(ctx, path)
	if err == nil && n.Kind == LinkNode {
		return nil, &Error{Op: "open", Path: path, Err: errIsLink}
	}
	return n, err
}

// Resolve returns the path of the node at path. It follows all links on the way, and a link at the
// end. A link that leads nowhere is an error with the reason. A missing node is fs.ErrNotExist.
func (cat *reader) Resolve(ctx context.Context, path string) (string, error) {
	cat.store.Dirs().Refresh(path)
	if cat.unlistable {
		return path, nil
	}
	target, err := cat.store.Links().Resolve(ctx, path)
	if err != nil {
		return "", &Error{Op: "open", Path: path, Err: err}
	}
	return target, nil
}

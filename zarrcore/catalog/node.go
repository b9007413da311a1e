package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// NodeKind says what a node is.
type NodeKind uint8

// The kinds of nodes.
const (
	GroupNode     NodeKind = iota // has group metadata
	ArrayNode                     // has array metadata
	DirectoryNode                 // has none, but children: an implicit group
	LinkNode                      // another name for a node
)

// String returns the kind in a word.
func (k NodeKind) String() string {
	return [...]string{"group", "array", "directory", "link"}[k]
}

// A Node is a group or an array as its metadata describes it, or a link to one.
type Node struct {
	Path       string
	Kind       NodeKind
	Format     int          // Zarr format 1, 2 or 3; 0 for a directory
	Document   []byte       // the metadata as JSON, attributes included, with a newline at its end
	Attributes pyjson.Value // an object; may be absent
	Meta       *meta.Array  // of an array; as far as it was understood where Err is set
	Link       *Link        // of a link; it has none of what is above but Path and Kind
	// why an array's data cannot be read, or a group's document, or why a link leads to no node
	Err     error
	ModTime time.Time // of the metadata
	Version string    // changes whenever the metadata does

	// When names in the node's directory last changed, and when that directory did in any way, its
	// ModTime being set included. Both are zero if the store does not know.
	FolderModTime, FolderChanged time.Time

	// Which users may do what with the directory that holds the node, and with its
	// documents, as far as the store has rights.
	Folder, Documents store.Rights

	origin
}

// ShowsArray reports whether the node is an array, or a link that leads to one.
func (n *Node) ShowsArray() bool { return n.Kind == ArrayNode || n.Link.LeadsToArray() }

// An origin is where a node was read, and what was found out of it since.
type origin struct {
	in      *store.Store
	found   sheaf        // its documents, if they were asked for at once
	encodes func() error // nil: unknown
	sealed  error        // why the folder of an array's objects cannot be changed
}

// DocumentLimit bounds a metadata document, in bytes.
const DocumentLimit = 64 << 20

// Node reads the metadata of the node at path. Where Zarr v2 and v3 metadata stand side by side,
// v3 counts, as in zarr-python. A path without any metadata is a directory if the store has one
// there, otherwise fs.ErrNotExist. The root, and what is below an array, are nothing without
// metadata. A link is a node of its own, and what is below its path is fs.ErrNotExist; see
// Resolve.
func (cat *reader) Node(ctx context.Context, path string) (*Node, error) {
	n, err := cat.node(ctx, path)
	if err == nil && n.Kind != ArrayNode && n.Kind != LinkNode && cat.mountOf != "" {
		n.Document = meta.InMount(n.Document, cat.mountOf)
	}
	return n, err
}

// node is Node with the documents of groups as they are stored.
func (cat *reader) node(ctx context.Context, path string) (*Node, error) {
	cat.store.Dirs().Refresh(path)
	link, folder, err := cat.linkAt(ctx, path)
	if link != nil || err != nil {
		return link, err
	}
	if path == "" && cat.shelf == nil {
		info, _ := cat.store.Stat(ctx, "") // a root that is gone by now shows when it is used
		folder = store.Link{Rights: info.Rights, ModTime: info.ModTime, Changed: info.Changed}
	}
	n, err := cat.nodeFor(ctx, cat.store, path, toLook)
	if err == nil {
		n.Folder, n.FolderModTime, n.FolderChanged = folder.Rights, folder.ModTime, folder.Changed
		n.sealed = cat.sealed(ctx, n)
	}
	return n, err
}

// sealed returns why the folder that holds all objects of the node cannot be changed. Root can
// change any, so nothing is looked at then.
func (cat *reader) sealed(ctx context.Context, n *Node) error {
	if n.Kind != ArrayNode || n.Meta == nil || !n.Folder.Known || os.Geteuid() == 0 {
		return nil
	}
	folder := n.Meta.Keys.Folder(len(n.Meta.Shape))
	if folder == "" {
		return nil
	}
	err := cat.store.Dirs().MayWrite(ctx, store.Join(n.Path, folder))
	if err == nil || errors.Is(err, iofs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("the folder of its chunks in the store may not be changed: %w", err)
}

// NodeIn is Node in a directory that is held open.
func (cat *reader) NodeIn(ctx context.Context, st *store.Store, path string) (*Node, error) {
	return cat.nodeFor(ctx, st, path, toLook)
}

// nodeFor is NodeIn for a purpose, which counts in a remote store.
func (cat *reader) nodeFor(
	ctx context.Context, st *store.Store, path string, why purpose,
) (*Node, error) {
	n, err := cat.described(ctx, st, path, why)
	if n != nil || err != nil {
		return n, err
	}
	if c := cat.consolidated(ctx, path); c != nil && len(c.children[path]) > 0 && path != "" {
		return &Node{
			Path: path, origin: origin{in: st}, Kind: DirectoryNode,
			ModTime: c.modTime, Document: []byte("{}\n"),
		}, nil
	}
	var info store.Info
	switch {
	case cat.shelf == nil:
		info, err = st.Stat(ctx, path)
	case path == "":
		info.Dir = true
	default:
		info, err = cat.statDir(ctx, path)
	}
	if err == nil && (!info.Dir || path == "" && !cat.folder || cat.isBelowArray(ctx, path)) {
		err = iofs.ErrNotExist
	}
	if err != nil {
		return nil, &Error{Op: "open", Path: path, Err: err}
	}
	n, err = cat.described(ctx, st, path, why) // it may have been made since the first look
	if n != nil || err != nil {
		return n, err
	}
	return &Node{
		Path: path, origin: origin{in: st}, Kind: DirectoryNode,
		ModTime: info.ModTime, Version: info.Version, Document: []byte("{}\n"),
	}, nil
}

// described returns the node at path as its documents describe it, nil if it has none.
func (cat *reader) described(
	ctx context.Context, st *store.Store, path string, why purpose,
) (*Node, error) {
	n := &Node{Path: path, origin: origin{in: st}}
	if cat.shelf != nil && st == cat.store {
		n.found = cat.gather(ctx, path, why)
	}
	for _, read := range []func(context.Context, *Node) error{
		cat.readV3, cat.readV2Array, cat.readV2Group, cat.readV1,
	} {
		err := read(ctx, n)
		if err == nil || !IsMissing(err) {
			n.endLine()
			if err = cat.nodeError(n, err); err != nil {
				return nil, err
			}
			return n, nil
		}
	}
	return nil, nil
}

// endLine makes the document end as a text does, for terminals and editors.
func (n *Node) endLine() {
	if doc := n.Document; len(doc) > 0 && doc[len(doc)-1] != '\n' {
		n.Document = append(doc[:len(doc):len(doc)], '\n')
	}
}

// isBelowArray reports whether path leads through an array, to its chunks.
func (cat *looks) isBelowArray(ctx context.Context, path string) bool {
	for i, c := range path {
		if c == '/' && cat.Kind(ctx, path[:i]) == ArrayNode {
			return true
		}
	}
	return cat.Kind(ctx, "") == ArrayNode
}

// nodeError decides what an error of a metadata document means: an array that cannot be understood
// is still a node, and nothing else is.
func (cat *reader) nodeError(n *Node, err error) error {
	if err == nil {
		return nil
	}
	wrapped := &Error{Op: "open", Path: n.Path, Err: err}
	if n.Kind == ArrayNode && n.Document != nil {
		n.Err = wrapped
		return nil
	}
	return wrapped
}

// IsMissing reports whether a document does not exist, rather than being bad.
func IsMissing(err error) bool {
	return errors.Is(err, iofs.ErrNotExist) || errors.Is(err, store.ErrInvalidKey)
}

// read returns the document name of the node.
func (cat *reader) read(ctx context.Context, n *Node, name string) ([]byte, error) {
	if n.found != nil {
		return n.found.read(n, name)
	}
	if doc, known, err := cat.consolidated(ctx, n.Path).document(n, name); known {
		return doc, err
	}
	doc, info, err := n.in.ReadAll(ctx, store.Join(n.Path, name), DocumentLimit)
	if err != nil {
		return nil, err
	}
	n.Documents = n.Documents.And(info.Rights)
	n.Version += name + "@" + info.Version + ";"
	if info.ModTime.After(n.ModTime) {
		n.ModTime = info.ModTime
	}
	return doc, nil
}

// IsVersioned reports whether the store gives a version of each document that was read. Otherwise
// Version may stay as it is while the metadata changes.
func (n *Node) IsVersioned() bool { return !strings.Contains(n.Version, "@;") }

// readOptional is read, but a missing document is nil.
func (cat *reader) readOptional(ctx context.Context, n *Node, name string) ([]byte, error) {
	doc, err := cat.read(ctx, n, name)
	if IsMissing(err) {
		return nil, nil
	}
	return doc, err
}

// SaysKind reports whether the node's document says what kind of node it is. A node is shown as an
// unreadable array if its document cannot be parsed at all.
func (n *Node) SaysKind() bool { return n.Kind != ArrayNode || n.Meta.Document != nil }

func (cat *reader) readV3(ctx context.Context, n *Node) error {
	doc, err := cat.read(ctx, n, "zarr.json")
	if err != nil {
		return err
	}
	a, g, err := meta.ParseV3(doc)
	err = inDocument("zarr.json", err)
	switch {
	case a != nil:
		n.setArray(a)
	case g != nil:
		n.setGroup(g)
		// as in readV2Group: its children are there all the same
		if errors.Is(err, meta.ErrInvalid) {
			n.Err = &Error{Op: "open", Path: n.Path, Err: err}
			return nil
		}
	case err != nil: // not even its kind is known: show it as an array that cannot be read
		n.Kind, n.Format, n.Document, n.Meta = ArrayNode, 3, doc, &meta.Array{Format: 3}
	}
	return err
}

func (cat *reader) readV2Array(ctx context.Context, n *Node) error {
	doc, err := cat.read(ctx, n, ".zarray")
	if err != nil {
		return err
	}
	attrs, err := cat.readOptional(ctx, n, ".zattrs")
	if err != nil {
		return err
	}
	a, err := meta.ParseV2Array(doc, attrs)
	err = inDocument(".zarray", err)
	if a == nil {
		a = &meta.Array{Format: 2, Document: doc}
	}
	n.setArray(a)
	return err
}

func (cat *reader) readV2Group(ctx context.Context, n *Node) error {
	doc, err := cat.read(ctx, n, ".zgroup")
	if err != nil {
		return err
	}
	attrs, err := cat.readOptional(ctx, n, ".zattrs")
	if err != nil {
		return err
	}
	g, err := meta.ParseV2Group(doc, attrs)
	n.setGroup(g)
	if err != nil {
		n.Err = &Error{Op: "open", Path: n.Path, Err: inDocument(".zgroup", err)}
	}
	return nil
}

func (cat *reader) readV1(ctx context.Context, n *Node) error {
	doc, err := cat.read(ctx, n, "meta")
	if err != nil {
		return err
	}
	attrs, err := cat.read(ctx, n, "attrs")
	if err != nil {
		return err
	}
	a, err := meta.ParseV1(doc, attrs)
	err = inDocument("meta", err)
	if a == nil {
		a = &meta.Array{Format: 1, Document: doc}
	}
	n.setArray(a)
	return err
}

// inDocument adds a document's name to an error about the document as a whole, which names no
// member of it.
func inDocument(name string, err error) error {
	var e *meta.Error
	if errors.As(err, &e) && e.Member == "" {
		return fmt.Errorf("%s: %w", name, err)
	}
	return err
}

func (n *Node) setArray(a *meta.Array) {
	n.Kind, n.Format, n.Document, n.Attributes, n.Meta = ArrayNode, a.Format, a.Document,
		a.Attributes, a
	n.encodes = sync.OnceValue(func() error { return Encodes(a) })
}

func (n *Node) setGroup(g *meta.Group) {
	n.Kind, n.Format, n.Document, n.Attributes = GroupNode, g.Format, g.Document, g.Attributes
}

// ErrVersion1 is the error of writing to an array of format 1.
var ErrVersion1 = fmt.Errorf("%w: arrays of Zarr format 1 cannot be written; migrate the "+
	"store first: `zarrfs migrate STORE`", errors.ErrUnsupported)

// Writable returns nil if data can be written to the array that the node is, or why not. It knows
// what the metadata and the folder of its objects say.
func (n *Node) Writable() error {
	switch {
	case n.Err != nil:
		return n.Err
	case n.Format == 1:
		return ErrVersion1
	case n.encodes == nil:
		return n.sealed
	}
	return cmp.Or(n.encodes(), n.sealed)
}

// IsInFortranOrder reports whether the array that n describes is shown with its axes reversed.
func (n *Node) IsInFortranOrder() bool { return n.Meta != nil && n.Meta.IsInFortranOrder() }

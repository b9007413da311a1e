package zarrcore

import (
	"bytes"
	"context"
	"errors"
	iofs "io/fs"
	"runtime"
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
)

// String returns the kind in a word.
func (k NodeKind) String() string {
	return [...]string{"group", "array", "directory"}[k]
}

// A Node is a group or an array as its metadata describes it.
type Node struct {
	Path       string
	Kind       NodeKind
	Format     int          // Zarr format 1, 2 or 3; 0 for a directory
	Document   []byte       // the metadata as JSON, attributes included
	Attributes pyjson.Value // an object; may be absent
	Meta       *meta.Array  // of an array; as far as it was understood where Err is set
	Err        error        // why an array's data cannot be read
	ModTime    time.Time    // of the metadata
	Version    string       // changes whenever the metadata does
}

// documentLimit bounds a metadata document, in bytes.
const documentLimit = 64 << 20

// Node reads the metadata of the node at path. Where Zarr v2 and v3 metadata
// stand side by side, v3 counts, as in zarr-python. A path without any
// metadata is a directory if it has children, else fs.ErrNotExist.
func (h *Hierarchy) Node(ctx context.Context, path string) (*Node, error) {
	h.store.Refresh(path)
	n := &Node{Path: path}
	for _, read := range []func(context.Context, *Node) error{h.readV3, h.readV2Array, h.readV2Group, h.readV1} {
		err := read(ctx, n)
		if err == nil || !isMissing(err) {
			return n, h.nodeError(n, err)
		}
	}
	info, err := h.store.Stat(ctx, path)
	if err == nil && !info.Dir {
		err = iofs.ErrNotExist
	}
	if err != nil {
		return nil, &Error{Op: "open", Path: path, Err: err}
	}
	n.Kind, n.ModTime, n.Version, n.Document = DirectoryNode, info.ModTime, info.Version, []byte("{}\n")
	return n, nil
}

// nodeError decides what an error of a metadata document means: an array that
// cannot be understood is still a node; anything else is none.
func (h *Hierarchy) nodeError(n *Node, err error) error {
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

// isMissing reports that a document does not exist, rather than being bad.
func isMissing(err error) bool {
	return errors.Is(err, iofs.ErrNotExist) || errors.Is(err, store.ErrInvalidKey)
}

// read returns the document name of the node.
func (h *Hierarchy) read(ctx context.Context, n *Node, name string) ([]byte, error) {
	doc, info, err := h.store.ReadAll(ctx, join(n.Path, name), documentLimit)
	if err != nil {
		return nil, err
	}
	n.Version += name + "@" + info.Version + ";"
	if info.ModTime.After(n.ModTime) {
		n.ModTime = info.ModTime
	}
	return doc, nil
}

// readOptional is read, but a missing document is nil.
func (h *Hierarchy) readOptional(ctx context.Context, n *Node, name string) ([]byte, error) {
	doc, err := h.read(ctx, n, name)
	if isMissing(err) {
		return nil, nil
	}
	return doc, err
}

func (h *Hierarchy) readV3(ctx context.Context, n *Node) error {
	doc, err := h.read(ctx, n, "zarr.json")
	if err != nil {
		return err
	}
	a, g, err := meta.ParseV3(doc)
	switch {
	case a != nil:
		n.setArray(a)
	case g != nil:
		n.setGroup(g)
		if errors.Is(err, meta.ErrInvalid) { // as in readV2Group: its children are there all the same
			h.log.Warn("group metadata not understood", "group", n.Path, "err", err)
			return nil
		}
	case err != nil: // not even its kind is known: show it as an array that cannot be read
		n.Kind, n.Format, n.Document, n.Meta = ArrayNode, 3, doc, &meta.Array{Format: 3}
	}
	return err
}

func (h *Hierarchy) readV2Array(ctx context.Context, n *Node) error {
	doc, err := h.read(ctx, n, ".zarray")
	if err != nil {
		return err
	}
	attrs, err := h.readOptional(ctx, n, ".zattrs")
	if err != nil {
		return err
	}
	a, err := meta.ParseV2Array(doc, attrs)
	if a == nil {
		a = &meta.Array{Format: 2, Document: doc}
	}
	n.setArray(a)
	return err
}

func (h *Hierarchy) readV2Group(ctx context.Context, n *Node) error {
	doc, err := h.read(ctx, n, ".zgroup")
	if err != nil {
		return err
	}
	attrs, err := h.readOptional(ctx, n, ".zattrs")
	if err != nil {
		return err
	}
	g, err := meta.ParseV2Group(doc, attrs)
	if g == nil {
		g = &meta.Group{Format: 2, Document: doc}
		h.log.Warn("group metadata not understood", "group", n.Path, "err", err)
	}
	n.setGroup(g)
	return nil
}

func (h *Hierarchy) readV1(ctx context.Context, n *Node) error {
	doc, err := h.read(ctx, n, "meta")
	if err != nil {
		return err
	}
	attrs, err := h.read(ctx, n, "attrs")
	if err != nil {
		return err
	}
	a, err := meta.ParseV1(doc, attrs)
	if a == nil {
		a = &meta.Array{Format: 1, Document: doc}
	}
	n.setArray(a)
	return err
}

func (n *Node) setArray(a *meta.Array) {
	n.Kind, n.Format, n.Document, n.Attributes, n.Meta = ArrayNode, a.Format, a.Document, a.Attributes, a
}

func (n *Node) setGroup(g *meta.Group) {
	n.Kind, n.Format, n.Document, n.Attributes = GroupNode, g.Format, g.Document, g.Attributes
}

// A Child is one entry of a group.
type Child struct {
	Name string
	Kind NodeKind
}

// Children calls yield for each child of the group at path, in no order, while
// they are found. Below an array there are none: there everything is chunks.
// An error of yield ends it and is returned.
func (h *Hierarchy) Children(ctx context.Context, path string, yield func(Child) error) error {
	h.store.Refresh(path)
	if h.kind(ctx, path) == ArrayNode {
		return nil
	}
	l := &lister{h: h, ctx: ctx, path: path, yield: yield}
	err := h.store.List(ctx, path, func(e store.Entry) error {
		if !e.Dir {
			return nil
		}
		l.names = append(l.names, e.Name)
		if len(l.names) < listBatch {
			return nil
		}
		return l.flush()
	})
	if err == nil {
		err = l.flush()
	}
	if err != nil && !errors.Is(err, l.stopped) {
		return &Error{Op: "list", Path: path, Err: err}
	}
	return err
}

// listBatch is how many children's kinds are found out at once.
const listBatch = 512

// A lister finds out the kinds of children, a batch at a time in parallel: a
// group of a hundred thousand arrays has as many documents to look at.
type lister struct {
	h       *Hierarchy
	ctx     context.Context
	path    string
	yield   func(Child) error
	names   []string
	stopped error // what yield returned
}

func (l *lister) flush() error {
	kinds := make([]NodeKind, len(l.names))
	workers := min(2*runtime.NumCPU(), (len(l.names)+15)/16)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(kinds); i += workers {
				kinds[i] = l.h.kind(l.ctx, join(l.path, l.names[i]))
			}
		})
	}
	wg.Wait()
	for i, name := range l.names {
		if l.stopped = l.yield(Child{name, kinds[i]}); l.stopped != nil {
			return l.stopped
		}
	}
	l.names = l.names[:0]
	return nil
}

// kind finds out what the node at path is with as few and as cheap looks as
// possible. What cannot be found out is a directory.
func (h *Hierarchy) kind(ctx context.Context, path string) NodeKind {
	doc, _, err := h.store.ReadAll(ctx, join(path, "zarr.json"), documentLimit)
	if err == nil {
		return kindV3(doc)
	}
	if h.exists(ctx, join(path, ".zarray")) {
		return ArrayNode
	}
	if h.exists(ctx, join(path, ".zgroup")) {
		return GroupNode
	}
	if h.exists(ctx, join(path, "meta")) && h.exists(ctx, join(path, "attrs")) {
		return ArrayNode
	}
	return DirectoryNode
}

func (h *Hierarchy) exists(ctx context.Context, key string) bool {
	info, err := h.store.Stat(ctx, key)
	return err == nil && !info.Dir
}

// kindV3 returns the node type in a zarr.json. Parsing every document of a
// large group takes long, so it does so only where the text leaves a doubt.
func kindV3(doc []byte) NodeKind {
	key := []byte(`"node_type"`)
	if i := bytes.Index(doc, key); i >= 0 && bytes.LastIndex(doc, key) == i {
		value := strings.TrimLeft(string(doc[i+len(key):min(len(doc), i+len(key)+40)]), " \t\r\n:")
		if strings.HasPrefix(value, `"group"`) {
			return GroupNode
		}
		if strings.HasPrefix(value, `"array"`) {
			return ArrayNode
		}
	}
	if _, g, _ := meta.ParseV3(doc); g != nil {
		return GroupNode
	}
	return ArrayNode
}

// join joins a node's path and a name to a key.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}

// Package migrate turns the documents of a hierarchy into those of a later Zarr format, in place
// and with a way back. It never touches a chunk: where the stored chunks do not mean the same in
// the later format, it refuses, before anything has changed.
//
// What the documents were, and what they became, is in one object below the group that was
// migrated, the [Journal]. It is written before the first document is, so that a migration that was
// interrupted can be completed or taken back.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

var (
	// ErrNothing says that there is nothing to migrate, or to take back.
	ErrNothing = errors.New("nothing to do")

	// ErrChanged says that a document is not what a migration left, so that to go on would lose
	// what was changed.
	ErrChanged = errors.New("document was changed since")
)

// documentLimit bounds a document, in bytes.
const documentLimit = 64 << 20

// A Change is what is to become of one document. A nil document does not exist.
type Change struct {
	Key      string
	Old, New []byte
}

// A Plan is a migration that nothing stands against.
type Plan struct {
	Path           string // of the node that is migrated, with all below it
	From, To       int    // formats
	Arrays, Groups int    // of how many nodes documents change
	Changes        []Change

	kept    []string // paths of nodes that are of format To already
	journal *Journal
}

// JournalKey is the key of the object that keeps the old documents.
func (p *Plan) JournalKey() string { return below(p.Path, JournalName) }

// Make plans the migration of the node at path, and of all below it, to format 2 or 3. If it cannot
// be done the error names every node that prevents it. Nodes of that format, and folders
// without documents, stay as they are.
func Make(
	ctx context.Context, h *zarrcore.Hierarchy, st *store.Store, path string, to int,
) (*Plan, error) {
	if to != 2 && to != 3 {
		return nil, fmt.Errorf("format %d: expected 2 or 3: %w", to, errors.ErrUnsupported)
	}
	j, err := readJournal(ctx, st, path)
	if err != nil {
		return nil, err
	}
	if s := j.unfinished(); s != nil {
		if s.To != to {
			return nil, fmt.Errorf("a migration to format %d was interrupted: complete it or "+
				"take it back first", s.To)
		}
		return &Plan{Path: path, From: s.From, To: s.To, Arrays: s.Arrays, Groups: s.Groups,
			Changes: s.Changes, kept: s.Kept, journal: j}, nil
	}
	p := &planner{ctx: ctx, h: h, st: st, plan: &Plan{Path: path, To: to, journal: j}}
	p.node(path)
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	if len(p.plan.Changes) == 0 {
		return nil, fmt.Errorf("%w: all is of format %d already", ErrNothing, to)
	}
	return p.plan, nil
}

// A planner walks a hierarchy.
type planner struct {
	ctx  context.Context
	h    *zarrcore.Hierarchy
	st   *store.Store
	plan *Plan
	errs []error
}

// maxErrors is of how many nodes an error tells.
const maxErrors = 20

func (p *planner) fail(path string, err error) {
	switch {
	case len(p.errs) < maxErrors:
		p.errs = append(p.errs, &NodeError{path, err})
	case len(p.errs) == maxErrors:
		p.errs = append(p.errs, errors.New("and more"))
	}
}

// node plans one node and what is below it.
func (p *planner) node(path string) {
	n, err := p.h.Node(p.ctx, path)
	if err != nil {
		p.fail(path, err)
		return
	}
	switch {
	case n.Kind == zarrcore.LinkNode:
		p.fail(path, fmt.Errorf("it is a link; name what it leads to: %w", errors.ErrUnsupported))
		return
	case n.Kind == zarrcore.ArrayNode && n.Err != nil:
		p.fail(path, n.Err)
		return
	case n.Kind != zarrcore.DirectoryNode && n.Format > p.plan.To:
		p.fail(path,
			fmt.Errorf("it has format %d, and only `zarrfs migrate --undo` goes back to an "+
				"earlier format: %w", n.Format, errors.ErrUnsupported))
		return
	case n.Kind != zarrcore.DirectoryNode && n.Format < p.plan.To:
		if err := p.convert(n); err != nil {
			p.fail(path, err)
			return
		}
	case n.Kind != zarrcore.DirectoryNode:
		p.plan.kept = append(p.plan.kept, path)
	}
	p.children(n)
}

func (p *planner) children(n *zarrcore.Node) {
	if n.Kind == zarrcore.ArrayNode {
		return
	}
	var names []string
	err := p.h.Children(p.ctx, n.Path, func(c zarrcore.Child) error {
		if c.Kind != zarrcore.LinkNode { // what it leads to is migrated where it is
			names = append(names, c.Name)
		}
		return nil
	})
	if err != nil {
		p.fail(n.Path, err)
	}
	slices.Sort(names)
	for _, name := range names {
		p.node(below(n.Path, name))
	}
}

// convert plans the changes of one node's documents.
func (p *planner) convert(n *zarrcore.Node) error {
	var made []meta.Document
	var err error
	old, err := p.documents(n)
	if err != nil {
		return err
	}
	if n.Kind == zarrcore.ArrayNode {
		made, err = p.array(n, old)
		p.plan.Arrays++
	} else {
		made, err = group(old)
		p.plan.Groups++
	}
	if err != nil {
		return err
	}
	p.plan.From = max(p.plan.From, n.Format)
	for _, d := range made {
		p.plan.Changes = append(p.plan.Changes, Change{Key: below(n.Path, d.Name), Old: old[d.Name],
			New: d.Data})
		delete(old, d.Name)
	}
	for _, name := range documentNames {
		if doc, ok := old[name]; ok {
			p.plan.Changes = append(p.plan.Changes, Change{Key: below(n.Path, name), Old: doc})
		}
	}
	return nil
}

// documentNames are the names of all documents that may go. Consolidated metadata would list
// documents that no longer exist.
var documentNames = []string{"meta", "attrs", meta.NameArray, meta.NameGroup, meta.NameAttrs,
	meta.NameConsolidated}

// documents reads what documents a node has.
func (p *planner) documents(n *zarrcore.Node) (map[string][]byte, error) {
	names := documentNames[2:]
	if n.Format == 1 {
		names = documentNames[:2]
	}
	docs := map[string][]byte{}
	for _, name := range names {
		doc, err := read(p.ctx, p.st, below(n.Path, name))
		if err != nil {
			return nil, err
		}
		if doc != nil {
			docs[name] = doc
		}
	}
	return docs, nil
}

func group(old map[string][]byte) ([]meta.Document, error) {
	doc, err := meta.UpgradeGroup(old[meta.NameGroup], old[meta.NameAttrs])
	return []meta.Document{doc}, err
}

// array makes an array's documents. It opens the array, which finds out how its chunks are named
// and that they can be decoded.
func (p *planner) array(n *zarrcore.Node, old map[string][]byte) ([]meta.Document, error) {
	m, err := p.open(n.Path)
	if err != nil {
		return nil, err
	}
	if n.Format == 2 {
		return upgraded(m)
	}
	docs, err := meta.UpgradeV1(old["meta"], old["attrs"])
	if err != nil || p.plan.To == 2 {
		return docs, err
	}
	v2, err := meta.ParseV2Array(docs[0].Data, docs[1].Data)
	if err != nil {
		return nil, err
	}
	return upgraded(v2)
}

// open opens an array and returns its metadata, with the keys of its chunks as they are.
func (p *planner) open(path string) (*meta.Array, error) {
	a, err := p.h.OpenArray(p.ctx, path)
	if err == nil {
		return a.Meta(), nil
	}
	if errors.Is(err, zarrcore.ErrVlen) {
		v, err := p.h.OpenVlen(p.ctx, path)
		if err != nil {
			return nil, err
		}
		return v.Meta(), nil
	}
	return nil, err
}

// upgraded makes the zarr.json of an array, and holds that its codecs can be bound.
func upgraded(v2 *meta.Array) ([]meta.Document, error) {
	doc, err := meta.UpgradeV2(v2)
	if err != nil {
		return nil, err
	}
	v3, _, err := meta.ParseV3(doc.Data)
	switch {
	case err != nil:
	case zarrcore.IsVlen(v3):
		_, err = codec.BindVlen(v3)
	default:
		_, err = codec.Bind(v3)
	}
	if err != nil {
		return nil, fmt.Errorf("in format 3: %w", err)
	}
	return []meta.Document{doc}, nil
}

// NodeError says which node stands against a migration.
type NodeError struct {
	Path string
	Err  error
}

// Error names the node and says what is the matter.
func (e *NodeError) Error() string {
	if e.Path == "" {
		return "root: " + e.Err.Error()
	}
	return fmt.Sprintf("%q: %v", e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *NodeError) Unwrap() error { return e.Err }

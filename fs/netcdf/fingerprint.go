package netcdf

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"

	"github.com/zarrfs/zarrfs/zarrcore"
)

// Mark says of which state of the group or array at path a file is made: it differs where Describe
// may. It reads no attributes.
func Mark(ctx context.Context, h *zarrcore.Hierarchy, path string) (string, error) {
	n, err := h.Node(ctx, path)
	if err != nil {
		return "", err
	}
	m := marker{describer{ctx: ctx, h: h}, sha256.New()}
	if err := m.node(n); err != nil {
		return "", err
	}
	return string(m.sum.Sum(nil)), nil
}

// marker marks a hierarchy.
type marker struct {
	describer
	sum hash.Hash
}

// note adds to the mark. %q keeps two texts apart that follow each other.
func (m marker) note(what ...any) { fmt.Fprintf(m.sum, "%q;", fmt.Sprint(what...)) }

// node marks a node and all below it.
func (m marker) node(n *zarrcore.Node) error {
	m.note(n.Kind, n.Version, n.Err)
	if !n.IsVersioned() {
		m.note(string(n.Document))
	}
	if n.Kind == zarrcore.ArrayNode {
		return m.array(n)
	}
	children, err := m.children(n.Path)
	if err == nil {
		err = m.each(n.Path, children, m.child)
	}
	m.note("end")
	return err
}

// child marks a child of a group. What cannot be read is left out of a file.
func (m marker) child(c child) error {
	m.note(c.Name)
	switch {
	case c.Link != nil:
		return nil
	case c.err != nil:
		m.note(c.err)
		return nil
	}
	return m.node(c.node)
}

// array marks an array. Strings of no fixed size take what the longest takes.
func (m marker) array(n *zarrcore.Node) error {
	if n.Err != nil {
		return nil
	}
	m.note(n.Meta.Shape)
	if !zarrcore.IsVlen(n.Meta) {
		return nil
	}
	is, err := m.varying(&Source{Path: n.Path})
	m.note(is.is.Size(), err)
	return m.ctx.Err()
}

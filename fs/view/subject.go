package view

import (
	"context"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// Subject is an array that a view is asked about. What a listing has found out about it costs
// nothing. The document is read only for a view that asks for more.
type Subject struct {
	seen     bool // a listing has seen what follows
	listed   zarrcore.Elements
	document *meta.Array // nil: it has not been read

	ctx  context.Context
	h    *zarrcore.Hierarchy // nil: the document cannot be read
	path string
}

// Described returns the array that a document describes.
func Described(m *meta.Array) Subject { return Subject{document: m} }

// Seen returns the array at path, of which a listing has seen the elements.
func Seen(ctx context.Context, h *zarrcore.Hierarchy, e zarrcore.Elements, path string) Subject {
	return Subject{seen: true, listed: e, ctx: ctx, h: h, path: path}
}

// At returns what is at path, which may not be an array.
func At(ctx context.Context, h *zarrcore.Hierarchy, path string) Subject {
	return Subject{ctx: ctx, h: h, path: path}
}

// isRoot reports whether it is known that the array is the store's root.
func (a Subject) isRoot() bool { return a.h != nil && a.path == "" }

// vlen reports whether the elements have no fixed size. Those of an array that does not exist have
// one.
func (a Subject) vlen() bool {
	if a.seen {
		return a.listed.Vlen
	}
	return zarrcore.IsVlen(a.Meta())
}

// anyValues reports whether the elements have no fixed size, and need not be strings or byte
// strings either.
func (a Subject) anyValues() bool {
	if a.seen {
		return a.listed.Any
	}
	return zarrcore.ElementsOf(a.Meta()).Any
}

// Meta returns what the array's document says; nil if there is none, or it is not understood.
func (a Subject) Meta() *meta.Array {
	if a.document != nil || a.h == nil {
		return a.document
	}
	n, err := a.h.Node(a.ctx, a.path)
	if err != nil {
		return nil
	}
	return n.Meta
}

package fs

import (
	"context"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// subject is an array that a view is asked about. What a listing has found out about it costs nothing. The document is read only for a
// view that asks for more.
type subject struct {
	seen     bool // a listing has seen what follows
	listed   zarrcore.Elements
	document *meta.Array // nil: it has not been read

	ctx  context.Context
	h    *zarrcore.Hierarchy // nil: the document cannot be read
	path string
}

// subjectOf returns the array of a node, or the one that a link leads to.
func (f *filesystem) subjectOf(ctx context.Context, n *zarrcore.Node) subject {
	if n.Link != nil {
		return f.listedSubject(ctx, n.Link.Elements, n.Link.Target)
	}
	return subjectOfMeta(n.Meta)
}

// subjectOfMeta returns the array that a document describes.
func subjectOfMeta(m *meta.Array) subject { return subject{document: m} }

// listedSubject returns an array of which a listing has seen the elements.
func (f *filesystem) listedSubject(ctx context.Context, e zarrcore.Elements, path string) subject {
	return subject{seen: true, listed: e, ctx: ctx, h: f.h, path: path}
}

// lacks reports whether there is no array at path that has a file of view v.
func (f *filesystem) lacks(ctx context.Context, path string, v view) bool {
	return !v.has(subject{ctx: ctx, h: f.h, path: path})
}

// vlen reports whether the elements have no fixed size. Those of an array that does not exist have one.
func (a subject) vlen() bool {
	if a.seen {
		return a.listed.Vlen
	}
	return zarrcore.IsVlen(a.meta())
}

// anyValues reports whether the elements have no fixed size, and need not be strings or byte strings either.
func (a subject) anyValues() bool {
	if a.seen {
		return a.listed.Any
	}
	return zarrcore.ElementsOf(a.meta()).Any
}

// meta returns what the array's document says; nil if there is none, or it is not understood.
func (a subject) meta() *meta.Array {
	if a.document != nil || a.h == nil {
		return a.document
	}
	n, err := a.h.Node(a.ctx, a.path)
	if err != nil {
		return nil
	}
	return n.Meta
}

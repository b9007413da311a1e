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

// subjectOfMeta returns the array that a document describes.
func subjectOfMeta(m *meta.Array) subject { return subject{document: m} }

// subjectSeen returns the array at path, of which a listing has seen the elements.
func subjectSeen(ctx context.Context, h *zarrcore.Hierarchy, e zarrcore.Elements, path string) subject {
	return subject{seen: true, listed: e, ctx: ctx, h: h, path: path}
}

// subjectAt returns what is at path, which may not be an array.
func subjectAt(ctx context.Context, h *zarrcore.Hierarchy, path string) subject {
	return subject{ctx: ctx, h: h, path: path}
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

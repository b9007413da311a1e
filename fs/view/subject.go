package view

import (
	"context"
	"errors"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/slice"
	"github.com/zarrfs/zarrfs/fs/view/axes"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// Subject is what is known of an array that a view is asked about. It asks no store. What a view
// needs is loaded before (At, Seen), where an error can be told from an array that has no such
// file.
type Subject struct {
	seen   bool // a listing has seen what follows
	listed zarrcore.Elements

	document *meta.Array // nil: it is not needed, not there or not understood
	isRoot   bool        // the array is the store's root
	axes     []string    // names that the group has for them; nil: not asked, or it has none
}

// Criterion is what decides whether an array has a file of a view.
type Criterion uint8

// The criteria. Listings know the elements of each array, and load documents only for ByDocument.
const (
	ByNothing  Criterion = iota // each array has one, or none has
	ByElements                  // whether the elements have a fixed size
	ByDocument                  // what else the document says
)

// Described returns the array that a document describes.
func Described(m *meta.Array) Subject { return Subject{document: m} }

// OfRoot returns the array that is the store's root.
func OfRoot(n *zarrcore.Node) Subject { return Subject{document: n.Meta, isRoot: true} }

// At returns what is at path, which may not be an array, as far as view v needs to know it.
func At(ctx context.Context, h *zarrcore.Hierarchy, path string, v View) (Subject, error) {
	return Subject{}.loaded(ctx, h, path, v.HasBy() != ByNothing)
}

// Seen returns the array at path, of which a listing has seen the elements, as far as a criterion
// needs to know it.
func Seen(
	ctx context.Context, h *zarrcore.Hierarchy, e zarrcore.Elements, path string, by Criterion,
) (Subject, error) {
	return Subject{seen: true, listed: e}.loaded(ctx, h, path, by == ByDocument)
}

// HaveBy returns the criterion that decides which of some views have a file of an array.
func HaveBy(some []View) (by Criterion) {
	for _, v := range some {
		by = max(by, v.HasBy())
	}
	return by
}

// loaded returns a with the place of the array, and with its document if that is needed.
func (a Subject) loaded(
	ctx context.Context, h *zarrcore.Hierarchy, path string, needed bool,
) (Subject, error) {
	a.isRoot = path == ""
	if !needed {
		return a, nil
	}
	n, err := h.Node(ctx, path)
	switch {
	case errors.Is(err, iofs.ErrNotExist), errors.Is(err, iofs.ErrInvalid),
		errors.Is(err, iofs.ErrPermission):
		return a, nil // no node is there, or can be; or its document may not be read
	case err != nil:
		return Subject{}, err
	}
	a.document = n.Meta
	return a, nil
}

// Named returns a with the names of the axes of the array at path. The group is asked for them if
// an expression has names of axes, but the document has none.
func (a Subject) Named(
	ctx context.Context, h *zarrcore.Hierarchy, path, expression string,
) (Subject, error) {
	if a.document == nil || len(a.document.DimensionNames) > 0 || path == "" ||
		!slice.HasNames(expression) {
		return a, nil
	}
	dir, name := names.Split(path)
	group, err := h.Node(ctx, dir)
	if errors.Is(err, iofs.ErrNotExist) || errors.Is(err, iofs.ErrPermission) {
		return a, nil
	}
	if err != nil {
		return a, err
	}
	a.axes = axes.Known{Path: name, Array: a.document, Group: group.Attributes}.Names()
	return a, nil
}

// isVlen reports whether the elements have no fixed size. Those of an array that does not exist
// have one.
func (a Subject) isVlen() bool {
	if a.seen {
		return a.listed.Vlen
	}
	return zarrcore.IsVlen(a.document)
}

// isOfAnyValues reports whether the elements have no fixed size, and need not be strings or byte
// strings either.
func (a Subject) isOfAnyValues() bool {
	if a.seen {
		return a.listed.Any
	}
	return zarrcore.ElementsOf(a.document).Any
}

// Meta returns what the array's document says; nil if there is none, or it is not understood. Only
// a view that says ByDocument may ask.
func (a Subject) Meta() *meta.Array { return a.document }

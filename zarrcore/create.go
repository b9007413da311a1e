package zarrcore

import (
	"context"
	"errors"
	iofs "io/fs"
	"log/slog"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/durable"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Create makes an empty store a hierarchy: its root is a group of that format
// then, which 0 leaves open. A store that has a root is fs.ErrExist.
func Create(ctx context.Context, st *store.Store, format int) error {
	quiet := catalog.Options{Log: slog.New(slog.DiscardHandler)}
	h := newChanges(nodes{st, catalog.New(ctx, st, quiet)}, new(durable.Dirs))
	if !h.IsWritable() {
		return &Error{Op: "create", Err: store.ErrReadOnly}
	}
	if _, err := h.Node(ctx, ""); err == nil {
		return errExist("create", "")
	} else if !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	if format == 0 {
		format = 3
	}
	return h.edit.Create(ctx, "", meta.GroupDocuments(format, pyjson.Value{}))
}

// creation creates nodes, and recreates arrays.
type creation struct{ *changes }

// CreateGroup creates a group, in its parent's format. What is there already is
// fs.ErrExist, a missing parent fs.ErrNotExist.
func (h *creation) CreateGroup(ctx context.Context, path string) error {
	end, err := h.use(ctx, "create", path)
	if err != nil {
		return err
	}
	defer end()
	format, err := h.room(ctx, path)
	if err != nil {
		return err
	}
	return h.edit.Create(ctx, path, meta.GroupDocuments(format, pyjson.Value{}))
}

// CreateArray creates an array as the recipe of its parent says. What is there
// already is fs.ErrExist. It is shown in the order of its source, which is Fortran
// order if fortran is set; see InOrder.
func (h *creation) CreateArray(
	ctx context.Context, path string, shape []int64, t dtype.Type, fortran bool,
) (*Array, error) {
	end, err := h.use(ctx, "create", path)
	if err != nil {
		return nil, err
	}
	defer end()
	format, err := h.room(ctx, path)
	if err != nil {
		return nil, err
	}
	docs, err := h.catalog.ArrayDocuments(ctx, path, format, shape, t, fortran, nil)
	if err == nil {
		err = h.edit.Create(ctx, path, docs)
	}
	if err != nil {
		return nil, &Error{Op: "create", Path: path, Err: err}
	}
	return h.OpenArray(ctx, path)
}

// CreateSpec creates the array that spec describes, whatever the groups above it say of new
// arrays. Only the format is that of RecipeAt. It does not open the array, and so makes arrays of
// elements of no fixed size too. Arrays that could not be written are refused; see DocumentsOf.
func (h *creation) CreateSpec(ctx context.Context, path string, spec meta.Spec) error {
	end, err := h.use(ctx, "create", path)
	if err != nil {
		return err
	}
	defer end()
	if _, err := h.room(ctx, path); err != nil {
		return err
	}
	docs, err := DocumentsOf(spec)
	if err != nil {
		return &Error{Op: "create", Path: path, Err: err}
	}
	return h.edit.Create(ctx, path, docs)
}

// DocumentsOf returns the documents of the array that spec describes, if it can be written: its
// codecs must be known, and fit its data type and chunks.
func DocumentsOf(spec meta.Spec) ([]meta.Document, error) {
	return catalog.DocumentsOf(spec)
}

// CreateFromDocument creates the array, or group, that a document such as a.json describes. The
// document may be of its parent's format or of the other one.
func (h *creation) CreateFromDocument(ctx context.Context, path string, doc []byte) error {
	return h.createLike(ctx, path, "", doc)
}

// createLike is CreateFromDocument of a node that gets the rights of the one at like, and also
// holds other objects.
func (h *creation) createLike(
	ctx context.Context, path, like string, doc []byte, others ...meta.Document,
) error {
	end, err := h.use(ctx, "create", path)
	if err != nil {
		return err
	}
	defer end()
	format, err := h.room(ctx, path)
	if err != nil {
		return err
	}
	docs, err := h.catalog.DocumentsFrom(ctx, path, format, meta.FromMount(doc))
	if err != nil {
		return &Error{Op: "create", Path: path, Err: err}
	}
	return h.edit.CreateLike(ctx, path, like, append(docs, others...))
}

// room looks whether a node can be created at path, and returns the format that
// it will have.
func (h *creation) room(ctx context.Context, path string) (format int, err error) {
	if !h.IsWritable() {
		return 0, &Error{Op: "create", Path: path, Err: store.ErrReadOnly}
	}
	if err := catalog.Nameable(path); err != nil {
		return 0, &Error{Op: "create", Path: path, Err: err}
	}
	n, err := h.Node(ctx, path)
	if err == nil && !h.edit.IsHollow(ctx, n) {
		return 0, errExist("create", path)
	}
	if err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return 0, err
	}
	if err := h.Vacate(ctx, path); err != nil {
		return 0, err
	}
	return h.catalog.FormatBelow(ctx, store.Parent(path), path)
}

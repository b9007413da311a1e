package zarrcore

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"log/slog"
	"slices"
	"sync"

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

// A Beside is an array that is made beside another one, to take its place. It follows renames of
// the groups above it.
type Beside struct {
	h    *changes
	path string // "" once it is renamed itself, or removed; guarded by besides.mu
}

// besides are the arrays that are beside another one. Its lock is held over nothing that waits.
type besides struct {
	mu  sync.Mutex
	all map[*Beside]struct{}
}

// add adds b.
func (s *besides) add(b *Beside) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[b] = struct{}{}
}

// end notes that arrays are not beside others any more.
func (s *besides) end(ends func(*Beside) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for b := range s.all {
		if ends(b) {
			b.path = ""
			delete(s.all, b)
		}
	}
}

// move lets arrays beside others follow a rename of a group above them.
func (s *besides) move(from, to string) {
	s.end(func(b *Beside) bool {
		if path, ok := store.Moved(b.path, from, to); ok {
			b.path = path
		}
		return b.path == to
	})
}

// Path returns where the array is now, "" if it is not beside another one any more.
func (b *Beside) Path() string {
	b.h.beside.mu.Lock()
	defer b.h.beside.mu.Unlock()
	return b.path
}

// Remove removes the array, wherever it is, unless it has got another name.
func (b *Beside) Remove(ctx context.Context) error {
	for {
		path := b.Path()
		if path == "" {
			return nil
		}
		err := b.h.Remove(ctx, path)
		if b.Path() != path { // a rename was faster, or it is removed
			continue
		}
		b.h.beside.end(func(other *Beside) bool { return other == b })
		return err
	}
}

// CreateBeside is CreateFromDocument under a name of its own, in the same group as path, for an
// array that fill gives its content. It has the rights of the one at path. Listings leave it out
// until Rename gives it another name. If the process dies before that, the array is removed when
// the store is next opened for writing. If fill fails, it is removed at once.
func (h *creation) CreateBeside(
	ctx context.Context, path string, doc []byte, fill func(beside string) error,
) (beside *Beside, err error) {
	for i := range besideTries {
		beside = &Beside{h: h.changes, path: catalog.Beside(path, i)}
		if err = h.createFilled(ctx, beside, path, doc, fill); !errors.Is(err, iofs.ErrExist) {
			break
		}
	}
	return beside, err
}

// besideTries is how many names are tried: others may be taken.
const besideTries = 100

// createFilled creates an array that is marked as unfinished until it is renamed. It has the rights
// of the one at like.
func (h *creation) createFilled(
	ctx context.Context, beside *Beside, like string, doc []byte, fill func(path string) error,
) error {
	path := beside.path
	mark, forget, err := h.store.Unfinished().Note(ctx, path)
	if err != nil {
		return &Error{Op: "create", Path: path, Err: err}
	}
	var marks []meta.Document
	if mark != nil {
		marks = append(marks, meta.Document{Name: store.UnfinishedMark, Data: mark})
	}
	h.beside.add(beside)
	if err := h.createLike(ctx, path, like, doc, marks...); err != nil {
		h.beside.end(func(other *Beside) bool { return other == beside })
		forget()
		return err
	}
	if err := fill(path); err != nil {
		return errors.Join(err, beside.Remove(context.WithoutCancel(ctx)))
	}
	return nil
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

// Overwrite makes the array at path ready for new content of that shape, type and order, as a .npy
// copied over it brings. Where the type and the number of axes are the same, its codecs, chunks
// and attributes stay, except for the transpose that the order needs. Otherwise it is recreated as
// the recipe says, with its attributes. All its elements are the fill value then. Objects in the
// store are replaced by Flush.
func (h *creation) Overwrite(
	ctx context.Context, path string, shape []int64, t dtype.Type, fortran bool,
) (*Array, error) {
	if !h.IsWritable() {
		return nil, &Error{Op: "create", Path: path, Err: store.ErrReadOnly}
	}
	end, err := h.use(ctx, "create", path)
	if err != nil {
		return nil, err
	}
	defer end()
	a, err := h.OpenArray(ctx, path)
	if err == nil {
		a = a.Live()
		if fits(a, shape, t, fortran) {
			err := start(ctx, a, shape)
			return a.Live(), err
		}
	} else if errors.Is(err, iofs.ErrNotExist) || errors.Is(err, ErrNotArray) ||
		errors.Is(err, ErrVlen) {
		return nil, err
	}
	return h.recreate(ctx, path, shape, t, fortran)
}

// fits reports that an array with the same codecs and chunks can have that
// content, and that only its axis 0 has another length.
func fits(a *Array, shape []int64, t dtype.Type, fortran bool) bool {
	own := a.Meta().Shape
	return a.Writable() == nil && a.Meta().Type.CanBeSavedAs(t) && a.Meta().HasOrder(fortran) &&
		len(own) == len(shape) &&
		(len(own) == 0 || slices.Equal(own[1:], shape[1:]) && a.Generation().HasRows(shape[0]))
}

// start truncates the array to nothing and gives it its new length.
func start(ctx context.Context, a *Array, shape []int64) error {
	row := a.Generation().Grid.RowBytes()
	if row == 0 {
		if slices.Equal(shape, a.Meta().Shape) {
			return nil
		}
		err := fmt.Errorf("%w: expected shape %v, found %v", ErrFixedSize, a.Meta().Shape, shape)
		return &Error{Op: "create", Path: a.Path(), Err: err}
	}
	if err := a.SetSize(ctx, 0); err != nil {
		return err
	}
	return a.SetSize(ctx, shape[0]*row)
}

// recreate makes another array in the place of the one at path. It keeps the attributes, and the
// names of dimensions if it has as many. The codecs and chunks stay too where only the shape or
// the order is another.
func (h *creation) recreate(
	ctx context.Context, path string, shape []int64, t dtype.Type, fortran bool,
) (*Array, error) {
	docs, err := h.edit.Successors(ctx, path, shape, t, fortran)
	if err != nil {
		return nil, err
	}
	return h.replaceArray(ctx, path, docs)
}

// Successor returns what the array at path would be after Overwrite. Nothing is changed.
func (h *creation) Successor(
	ctx context.Context, path string, shape []int64, t dtype.Type, fortran bool,
) (*meta.Array, error) {
	return h.edit.Successor(ctx, path, shape, t, fortran)
}

// replaceArray deletes the objects of the array at path and gives it other documents. Programs
// that have it open have the new array then.
func (h *creation) replaceArray(
	ctx context.Context, path string, docs []meta.Document,
) (*Array, error) {
	return h.arrays.Recreate(ctx, path, func() error { return h.edit.Replace(ctx, path, docs) })
}

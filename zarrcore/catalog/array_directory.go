package catalog

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// ErrOrphan says that what was written has no array any more.
var ErrOrphan = fmt.Errorf("%w: the array to which the data was written no longer exists",
	store.ErrConflict)

// ErrRenamed says that the directory of an array was renamed while the array was changed.
var ErrRenamed = fmt.Errorf("%w: another program has renamed it meanwhile", store.ErrConflict)

// IsStillAt returns ErrRenamed if another directory is at path by now than the one that was held
// there, or none is there.
func (cat *Catalog) IsStillAt(ctx context.Context, held *store.Store, path string) error {
	was, err := held.Dirs().Identity(ctx, path)
	if err != nil || was == "" {
		return err
	}
	now, err := cat.store.Dirs().Identity(ctx, path)
	if errors.Is(err, iofs.ErrNotExist) || err == nil && store.AreDifferent(was, now) {
		return ErrRenamed
	}
	return err
}

// A Home is the directory in which an array is stored, held open while something is stored there.
// Another program may rename it meanwhile, or a group above it. What is stored goes with it, and is
// never put into a directory of the old name.
type Home struct {
	Store   *store.Store // the directory
	cat     *Catalog
	path    string // with which keys begin
	format  int
	version string // of the array's document when it was last looked at; "": none was there
	// Another array was in the directory when it was last looked at.
	isReplaced bool
}

// Home holds the directory of an array open. Its keys begin with as, the path that the array had
// when it was opened here.
func (cat *Catalog) Home(ctx context.Context, at, as string, format int) (*Home, error) {
	st, err := cat.store.Hold(ctx, at, as)
	if err != nil {
		return nil, err
	}
	m := &Home{Store: st, cat: cat, path: as, format: format}
	m.Look(ctx)
	return m, nil
}

// Close gives the directory back. The home may be nil.
func (m *Home) Close() {
	if m != nil {
		m.Store.Close()
	}
}

// IsOther reports whether the directory is certain to be another one than that of the identity.
func (m *Home) IsOther(ctx context.Context, identity string) bool {
	now, err := m.Store.Dirs().Identity(ctx, m.path)
	return err == nil && store.AreDifferent(identity, now)
}

// key is that of the document that makes the directory an array.
func (m *Home) key() string { return store.Join(m.path, meta.NameOfArray(m.format)) }

// Look notes the version of the document, before that is read.
func (m *Home) Look(ctx context.Context) {
	m.version = ""
	if info, err := m.Store.Stat(ctx, m.key()); err == nil {
		m.version = info.Version
	}
}

// HasChanged reports whether the document is known to be another one than at the last look.
func (m *Home) HasChanged(ctx context.Context) bool {
	if m.version == "" {
		return false
	}
	info, err := m.Store.Stat(ctx, m.key())
	return err != nil || info.Version != m.version
}

// Node reads the node that the directory is of.
func (m *Home) Node(ctx context.Context) (*Node, error) {
	n, err := m.cat.NodeIn(ctx, m.Store, m.path)
	if err == nil && n.Kind == ArrayNode && n.Err == nil {
		m.cat.ProbeSeparator(ctx, n)
	}
	return n, err
}

// Array is Node for an array that can be read.
func (m *Home) Array(ctx context.Context) (*Node, error) {
	return m.cat.ArrayIn(ctx, m.Store, m.path)
}

// Holds makes sure, after objects were stored, that the directory still is that of the array: that
// the document is there, and stores the same bytes in the same places as stored does.
func (m *Home) Holds(ctx context.Context, stored *meta.Array) error {
	was := m.version
	if m.Look(ctx); m.version == was && was != "" {
		return nil
	}
	err := m.isOf(ctx, stored)
	if err != nil {
		m.version = ""
	}
	return err
}

// isOf is Holds for a document that is another one by now.
func (m *Home) isOf(ctx context.Context, stored *meta.Array) error {
	n, err := m.Node(ctx)
	m.isReplaced = false
	switch {
	case errors.Is(err, iofs.ErrNotExist), err == nil && n.Kind == DirectoryNode:
		return fmt.Errorf("%w: it was removed while it was stored", ErrOrphan)
	case err != nil:
		return err
	case n.Kind == ArrayNode && n.Err != nil:
		return fmt.Errorf("%w: its document cannot be read any more: %v", ErrOrphan, n.Err)
	case n.Kind != ArrayNode || !stored.SameLayout(n.Meta):
		m.isReplaced = true
		return fmt.Errorf("%w: its document was replaced by another", ErrOrphan)
	}
	return nil
}

// TakeBack removes objects stored for an array that is not there any more, and the directories made
// for them. The bytes of these objects are kept elsewhere, so errors do not matter. An object that
// has replaced an older one stays, unless another array is there. Such an object also holds bytes
// of the older one. These bytes count if the document comes back: an editor may have put it aside
// for a moment. If the array is being removed, this object is removed as the older one would have
// been.
func (m *Home) TakeBack(ctx context.Context, objects map[string]store.Info) {
	for key, info := range objects {
		if !info.Replaces || m.isReplaced {
			m.Store.Delete(ctx, key, store.If{Version: info.Version})
		}
	}
	m.Store.Dirs().Prune(ctx, m.path)
}

// Reshaped returns the array's document with another shape, and its key. If the stored shape is
// not from, that is a conflict.
func (m *Home) Reshaped(ctx context.Context, from, to []int64) (
	key string, doc []byte, cond store.If, err error) {
	key = m.key()
	doc, info, err := m.Store.ReadAll(ctx, key, DocumentLimit)
	if err != nil {
		return key, nil, cond, err
	}
	if !slices.Equal(meta.ShapeIn(m.format, doc), from) {
		return key, nil, cond, fmt.Errorf("%w: the array has another shape", store.ErrConflict)
	}
	doc, err = meta.SetShape(m.format, doc, to)
	return key, doc, store.If{Version: info.Version}, err
}

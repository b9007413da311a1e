package presence

import (
	"errors"
	iofs "io/fs"
	"testing"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/known"
	"github.com/zarrfs/zarrfs/fs/nodes"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/site"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/texts"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/writing"
	"github.com/zarrfs/zarrfs/zarrcore/hierarchytest"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

var rawView = view.Named("raw").(view.ArrayView)

// TestVacate frees a name only where another program has removed what was there. Then what a
// program writes to the removed array belongs to no array.
func TestVacate(t *testing.T) {
	ctx := t.Context()
	p, s := pathsOf(t, map[string]string{
		"zarr.json": hierarchytest.Group, "a/zarr.json": hierarchytest.Array})
	w := write(t, p, "a")
	if err := p.Vacate(ctx, "a"); err != nil || w.IsEnded() {
		t.Errorf("an array that is there: %v, ended is %v", err, w.IsEnded())
	}
	if err := s.Dirs().RemoveAll(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if err := p.Vacate(ctx, "a"); err != nil || !w.IsEnded() || p.States.HasOpen("a") {
		t.Errorf("an array that was removed: %v, ended is %v", err, w.IsEnded())
	}
}

// TestMove: what a program writes follows an array to its new path, and takes the place of what was
// written to the array that was there. Nothing moves if the array there must stay.
func TestMove(t *testing.T) {
	p, _ := pathsOf(t, map[string]string{
		"zarr.json":   hierarchytest.Group,
		"a/zarr.json": hierarchytest.Array, "b/zarr.json": hierarchytest.Array})
	a, b := write(t, p, "a"), write(t, p, "b")
	err := p.Move("a", "b", false, identity.Of("a", "npy"))
	if !errors.Is(err, iofs.ErrExist) || a.Path() != "a" || b.IsEnded() {
		t.Errorf("an array that must stay: %v, the moved one is at %q", err, a.Path())
	}
	err = p.Move("a", "b", true, identity.Of("a", "npy"))
	if err != nil || a.Path() != "b" || a.IsEnded() || !b.IsEnded() {
		t.Errorf("%v, the moved array is at %q, the replaced one ended is %v", err, a.Path(),
			b.IsEnded())
	}
	if p.States.HasOpen("a") || !p.States.HasOpen("b") {
		t.Error("the old path has a state, or the new one has none")
	}
}

// write begins to write to an array.
func write(t *testing.T, p *Paths, path string) *writing.Array {
	t.Helper()
	arr, err := p.H.OpenArray(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return p.Writings.Open(pathstate.At(path), arr, rawView)
}

// pathsOf returns the paths of a mount of a store with these objects.
func pathsOf(t *testing.T, objects map[string]string) (*Paths, *store.Store) {
	t.Helper()
	h, s := hierarchytest.Open(t, memstore.New(), objects)
	m := Mount{Ctx: t.Context(), H: h, States: new(known.States), Nodes: new(nodes.Table),
		Sites: site.New(t.Context(), h)}
	cache := stat.NewCache(t.Context(), h, s, new(errno.Log), m.States.Stat())
	m.Writings = writing.New(writing.Mount{Ctx: t.Context(), H: h, Stat: cache},
		m.States.Writings())
	m.Texts = texts.New(texts.Mount{Ctx: t.Context(), H: h, Stat: cache, Sites: m.Sites},
		m.States.Texts())
	return New(m), s
}

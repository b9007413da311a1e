package replacing

import (
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/known"
	"github.com/zarrfs/zarrfs/fs/nodes"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore/hierarchytest"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

var by = program.Process{PID: 1}

// TestByDocument: the document of a renamed array counts alone only if nothing else of the array
// was written, and the store has no bytes of it.
func TestByDocument(t *testing.T) {
	a := arraysOf(t)
	target := targetOf(t, a, "new", view.Document)
	if a.ByDocument(target, "old") != nil {
		t.Error("the array was not made by a document")
	}
	a.Traces.NoteMade("new", view.Document, by)
	if old := a.ByDocument(target, "old"); old == nil || old.Path != "old" {
		t.Errorf("the array was made by a document: it replaces that of %v", old)
	}
	if a.ByDocument(target, "missing") != nil {
		t.Error("there is no array to be replaced")
	}
	put(t, a, "new/c/0/0", "bytes")
	if a.ByDocument(target, "old") != nil {
		t.Error("the array has bytes")
	}
}

// TestContent: an array made of a .npy alone gets the attributes of the array that it replaces. An
// array with a document of its own replaces all of the other one.
func TestContent(t *testing.T) {
	a := arraysOf(t)
	target := targetOf(t, a, "new", view.Headed())
	a.Traces.NoteMade("new", view.Headed(), by)
	old := a.ByContent(target, "old")
	if old == nil {
		t.Fatal("the content does not replace that of the other array")
	}
	if err := a.Content(t.Context(), target, old); err != nil {
		t.Fatal(err)
	}
	n, err := a.H.Node(t.Context(), "new")
	if err != nil || string(n.Attributes.Get("units").Raw()) != `"K"` {
		t.Errorf("attributes %s, %v", n.Attributes.Raw(), err)
	}
	if a.ByContent(targetOf(t, a, "new", view.Headed()), "old") != nil {
		t.Error("an array with attributes replaces only the content")
	}
}

func targetOf(t *testing.T, a *Arrays, path string, v view.View) resolve.Target {
	t.Helper()
	n, err := a.H.Node(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return resolve.Target{Node: n, View: v}
}

func put(t *testing.T, a *Arrays, key, text string) {
	t.Helper()
	if err := a.Store.Put(t.Context(), key, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// arraysOf returns those of a mount of a store that has the arrays "old", with an attribute, and
// "new".
func arraysOf(t *testing.T) *Arrays {
	t.Helper()
	ctx, states := t.Context(), new(known.States)
	withUnits := strings.Replace(hierarchytest.Array, `{`, `{"attributes": {"units": "K"}, `, 1)
	h, s := hierarchytest.Open(t, memstore.New(), map[string]string{
		"zarr.json":     hierarchytest.Group,
		"new/zarr.json": hierarchytest.Array, "old/zarr.json": withUnits})
	return New(Mount{Ctx: ctx, H: h, Store: s, States: states, Nodes: new(nodes.Table),
		Traces: alias.NewTraces(states.Traces()),
		Stat:   stat.NewCache(ctx, h, s, new(errno.Log), states.Stat())})
}

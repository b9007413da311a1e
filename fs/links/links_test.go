package links

import (
	"errors"
	iofs "io/fs"
	"testing"

	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/known"
	"github.com/zarrfs/zarrfs/fs/nodes"
	"github.com/zarrfs/zarrfs/fs/presence"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/site"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/texts"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/writing"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/hierarchytest"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
)

var npyView, rawView = view.Headed(), view.Plain()

// TestLinkHasManyNames makes a link by one name, joins it by another one, and removes it by its
// names. The link goes with the last of them, and the array stays.
func TestLinkHasManyNames(t *testing.T) {
	ctx, l := t.Context(), linksOf(t)
	first, second := program.Process{PID: 1}, program.Process{PID: 2}
	to, err := l.Names.ParseLink(ctx, "", "a.npy")
	must(t, err)
	must(t, l.Put("l", to, first, false))
	if err := l.Put("l", to, second, false); !errors.Is(err, iofs.ErrExist) {
		t.Errorf("another program makes the same link: %v, expected %v", err, iofs.ErrExist)
	}
	raw := to
	raw.View = rawView
	if err := l.Put("l", raw, first, false); err != nil {
		t.Errorf("the same program makes it by its next name: %v", err)
	}
	n, err := l.H.Node(ctx, "l")
	must(t, err)
	if n.Kind != zarrcore.LinkNode || n.Link.Target != "a" {
		t.Fatalf("the link is a %v", n.Kind)
	}
	for i, v := range []view.View{npyView, rawView, view.Document} {
		if _, err := l.H.Node(ctx, "l"); err != nil {
			t.Errorf("after %d names were removed: %v", i, err)
		}
		must(t, l.Unlink(resolve.Target{Node: n, View: v}, first))
	}
	if _, err := l.H.Node(ctx, "l"); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("after its last name was removed: %v", err)
	}
	if _, err := l.H.Node(ctx, "a"); err != nil {
		t.Errorf("the array: %v", err)
	}
}

// TestLinkIsPutBack: a link that a file was to replace is there again if no array came of the file.
func TestLinkIsPutBack(t *testing.T) {
	ctx, l := t.Context(), linksOf(t)
	to, err := l.Names.ParseLink(ctx, "", "a.npy")
	must(t, err)
	must(t, l.Put("l", to, program.Process{}, false))
	n, err := l.H.Node(ctx, "l")
	must(t, err)
	if !l.IsReplaceable(n, npyView, true) || l.IsReplaceable(n, rawView, true) {
		t.Error("a .npy cannot take the place of the link, or a .raw can")
	}
	failed := errors.New("failed")
	err = l.InPlaceOf(n, func() error {
		if _, err := l.H.Node(ctx, "l"); !errors.Is(err, iofs.ErrNotExist) {
			t.Errorf("the link, while it is replaced: %v", err)
		}
		return failed
	})
	if err != failed {
		t.Errorf("%v, expected %v", err, failed)
	}
	now, err := l.H.Node(ctx, "l")
	if err != nil || now.Kind != zarrcore.LinkNode || now.Link.Text != n.Link.Text {
		t.Errorf("the link is not as it was: %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// linksOf returns the links of a mount of a store that has an array "a".
func linksOf(t *testing.T) *Links {
	t.Helper()
	ctx, dir := t.Context(), t.TempDir()
	d, err := dirstore.Open(dir, nil)
	must(t, err)
	h, s := hierarchytest.Open(t, d, map[string]string{
		"zarr.json": hierarchytest.Group, "a/zarr.json": hierarchytest.Array})
	states, sites := new(known.States), site.New(ctx, h)
	m := Mount{Ctx: ctx, H: h, Sites: sites, Traces: alias.NewTraces(states.Traces()),
		Unlinked: alias.NewUnlinked(states.Unlinked(), sites.Identity),
		Stat:     stat.NewCache(ctx, h, s, new(errno.Log), states.Stat())}
	m.Names = resolve.New(ctx, h, resolve.Options{Name: "test"}, m.Stat, m.Unlinked)
	o := transient.Options{Scratch: t.TempDir(), Ended: func(identity.Key) {}}
	m.Transients = transient.New(ctx, o, states.Transients())
	m.Present = presence.New(presence.Mount{Ctx: ctx, H: h, States: states, Sites: sites,
		Nodes: new(nodes.Table),
		Texts: texts.New(texts.Mount{Ctx: ctx, H: h, Sites: sites, Stat: m.Stat},
			states.Texts()),
		Writings: writing.New(writing.Mount{Ctx: ctx, H: h, Stat: m.Stat}, states.Writings())})
	return New(m)
}

// Package links makes, joins and removes the links of the store, by the names under which the mount
// shows them. A link to an array has as many names as the array has views.
package links

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"log/slog"

	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/presence"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/site"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// Links are those of a mount that its store has.
type Links struct{ Mount }

// Mount is the mount whose links these are.
type Mount struct {
	Ctx        context.Context // ends with the mount
	H          *zarrcore.Hierarchy
	Log        *slog.Logger
	Names      *resolve.Resolver
	Sites      *site.Paths
	Present    *presence.Paths
	Stat       *stat.Cache
	Traces     *alias.Traces
	Unlinked   *alias.Unlinked
	Transients *transient.Files
}

// New returns the links of a mount.
func New(of Mount) *Links { return &Links{of} }

// Put makes a link at a path. A link may be there already by another view of the same array. To a
// program that has not met it by this view, it is the same link.
func (l *Links) Put(at string, to resolve.LinkTarget, by program.Process, replace bool) error {
	if err := l.Present.Vacate(l.Ctx, at); err != nil {
		return err
	}
	err := l.H.CreateLink(l.Ctx, at, to.Text, replace)
	switch {
	case err == nil:
		l.endEmpty(at)
		trace := l.Traces.Of(at)
		l.Present.Ended(at)
		l.Traces.Put(at, trace) // of a process that makes the link by each of its names
	case errors.Is(err, iofs.ErrExist) && l.joins(at, to, by):
	default:
		return err
	}
	l.Unlinked.Restore(at, to.View)
	l.Traces.NoteMade(at, to.View, by)
	return nil
}

// joins reports whether the link that a process makes exists already by another view, and not yet
// by this one.
func (l *Links) joins(at string, to resolve.LinkTarget, by program.Process) bool {
	if to.View == nil || !l.Traces.Of(at).Lacks(by, to.View) && !l.Unlinked.Has(at, to.View) {
		return false
	}
	n, err := l.H.Node(l.Ctx, at)
	return err == nil && n.Kind == zarrcore.LinkNode && n.Link.Text == to.Text
}

// endEmpty ends empty files that wait for an array at path, where a link is now. tar makes such
// files in the place of links, which it makes last.
func (l *Links) endEmpty(at string) {
	dir, _ := names.Split(at)
	for _, v := range view.Keeping() {
		x := l.Transients.Find(dir, view.FileOf(at, v))
		if x != nil && x.Link == "" && x.Size() == 0 {
			l.Transients.End(x)
		}
	}
}

// Unlink removes a name of a link, and never what the link leads to. A link to an array has several
// names, as the array has, and goes with the last listed name. A link that leads nowhere goes at
// once.
func (l *Links) Unlink(t resolve.Target, by program.Process) error {
	at, broken := t.Node.Path, t.Node.Link.Err != nil
	defer l.Sites.Lock(at)()
	if t.View != nil && !broken {
		listed, err := l.Names.Listed(t.Node)
		if err != nil || !l.Unlinked.Add(at, t.View, listed&view.Keepers()) {
			return err
		}
	}
	if err := l.Remove(at); err != nil {
		l.Unlinked.Restore(at, t.View)
		return err
	}
	if t.View != nil && broken {
		l.Traces.Unlinked(at, t.View, by)
	}
	return nil
}

// A program that replaces a file removes it and creates another one, or renames another one onto
// it. Where the file is a view of a link, the new .npy makes an array in the place of the link.
// What the link leads to stays as it is. If no array comes of the file, the link is put back.

// IsReplaceable reports whether a new file of view v can take the place of the link n. Only a .npy
// says by itself what the new array is. isFree is whether the program finds no file of that name.
func (l *Links) IsReplaceable(n *zarrcore.Node, v view.View, isFree bool) bool {
	isLink := n.Kind == zarrcore.LinkNode && n.Link.LeadsToArray()
	return isLink && view.IsHeaded(v) && (isFree || l.Unlinked.Has(n.Path, v))
}

// Remove removes the link at path by all its names. The caller has locked its creation.
func (l *Links) Remove(path string) error {
	if err := l.H.Remove(l.Ctx, path); err != nil {
		return err
	}
	l.Present.Ended(path)
	return nil
}

// PutBack makes the link at path again, of which no array took the place.
func (l *Links) PutBack(path, text string) {
	defer l.Sites.Lock(path)()
	if err := l.H.CreateLink(l.Ctx, path, text, false); err != nil {
		l.Log.Error("a link was removed for a new file, and cannot be put back", "path", path,
			"to", text, "err", err)
	}
	l.Stat.ForgetAll(path)
}

// InPlaceOf lets do put an array in the place of the link n.
func (l *Links) InPlaceOf(n *zarrcore.Node, do func() error) error {
	end := l.Sites.Lock(n.Path)
	err := l.Remove(n.Path)
	end()
	if err != nil {
		return err
	}
	if err = do(); err != nil {
		l.PutBack(n.Path, n.Link.Text)
	}
	return err
}

// ErrIsLink says that a new file of view v cannot take the place of the link n.
func ErrIsLink(n *zarrcore.Node, v view.View) error {
	if !n.Link.LeadsToArray() {
		return fmt.Errorf("%w: %q is a link, and no array can have its name; remove the link first",
			iofs.ErrExist, n.Path)
	}
	return fmt.Errorf("%w: %s is a file of the link %q to the array %q. Only a new %s can replace "+
		"such a link: remove all its files first, or write to %s",
		iofs.ErrExist, view.FileOf(n.Path, v), n.Path, n.Link.Target,
		view.FileOf(n.Path, view.Headed()), view.FileOf(n.Link.Target, v))
}

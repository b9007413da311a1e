package fs

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/zarrcore"
)

var _ = (gofuse.NodeSymlinker)((*groupNode)(nil))

// Symlink makes a link in the store. A link to a file of an array is a link to the array, and then
// exists by all its views. A program that copies a tree and comes to the other links finds them
// made.
func (g *groupNode) Symlink(ctx context.Context, text, name string, out *fuse.EntryOut) (*gofuse.Inode, syscall.Errno) {
	dir, errno := g.here()
	if errno != 0 {
		return nil, errno
	}
	if name == names.ControlDir && g.IsRoot() {
		return nil, g.refuse("symlink", name, ownFolder)
	}
	node, err := g.symlink(ctx, dir, text, name, out)
	if err != nil {
		return nil, g.fs.answerAt("symlink", dir, name, err)
	}
	g.changed()
	return node.EmbeddedInode(), 0
}

func (g *groupNode) symlink(ctx context.Context, dir, text, name string, out *fuse.EntryOut) (gofuse.InodeEmbedder, error) {
	f := g.fs
	to, err := f.parseLink(f.ctx, dir, text)
	if err != nil {
		return nil, err
	}
	at, v, isView := f.names.Path(dir, name)
	switch {
	case to.view == nil:
		if at, err = g.newPath(name); err != nil {
			return nil, err
		}
	case name == groupFile:
		return nil, fmt.Errorf("%w: a group's document cannot be a link", syscall.EPERM)
	case isView && v != to.view:
		return nil, fmt.Errorf("%w: %s cannot lead to a .%s file; name the link %s", iofs.ErrInvalid, name, to.view.Name(), shownView(at, to.view))
	case !isView:
		if err := f.names.Misnamed(name, isView); err != nil {
			return nil, err
		}
		x, err := f.transients.MakeLink(dir, name, to.shown) // until it is renamed onto a view
		if err != nil {
			return nil, err
		}
		f.linkAttr(x.Link, f.started, &out.Attr)
		return g.newTransientLink(ctx, x), nil
	}
	defer f.creations.Lock(at)()
	if err := f.putLink(at, to, wire.Caller(ctx), false); err != nil {
		return nil, err
	}
	n, err := f.h.Node(f.ctx, at)
	if err == nil && n.Kind != zarrcore.LinkNode {
		err = iofs.ErrExist
	}
	if err != nil {
		return nil, err
	}
	t := resolve.Target{Node: n, View: to.view}
	f.entry(f.ctx, t, false, out)
	return g.inodeFor(ctx, t).Operations(), nil
}

// putLink makes a link at path. A link may be there already by another view of the same array. To a
// program that has not met it by this view, it is the same link.
func (f *filesystem) putLink(at string, to linkTarget, by program.Process, replace bool) error {
	if err := f.vacate(f.ctx, at); err != nil {
		return err
	}
	err := f.h.CreateLink(f.ctx, at, to.text, replace)
	switch {
	case err == nil:
		f.endEmpty(at)
		trace := f.traces.Of(at)
		f.gone(at)
		f.traces.Put(at, trace) // of a process that makes the link by each of its names
	case errors.Is(err, iofs.ErrExist) && f.joinsLink(at, to, by):
	default:
		return err
	}
	f.unlinked.Restore(at, to.view)
	f.traces.Made(at, to.view, by)
	return nil
}

// joinsLink reports whether the link that a process makes exists already by another view, and not
// yet by this one.
func (f *filesystem) joinsLink(at string, to linkTarget, by program.Process) bool {
	if to.view == nil || !f.traces.Of(at).Lacks(by, to.view) && !f.unlinked.Has(at, to.view) {
		return false
	}
	n, err := f.h.Node(f.ctx, at)
	return err == nil && n.Kind == zarrcore.LinkNode && n.Link.Text == to.text
}

// endEmpty ends empty files that wait for an array at path, where a link is now. tar makes such
// files in the place of links, which it makes last.
func (f *filesystem) endEmpty(at string) {
	dir, _ := names.Split(at)
	for _, v := range view.All() {
		if x := f.transients.Find(dir, shownView(at, v)); x != nil && x.Link == "" && x.Size() == 0 {
			f.end(x)
		}
	}
}

// linkTarget is the text of a link that a program wants to make.
type linkTarget struct {
	text  string    // as the store has it
	shown string    // as the mount shows it
	view  view.View // of the array that it leads to; nil: it leads to a group, or to what is not there
}

// parseLink turns the text of a link in the group at dir into that of a link in the store. It
// refuses a link that leaves the mount.
func (f *filesystem) parseLink(ctx context.Context, dir, shown string) (to linkTarget, err error) {
	if strings.HasPrefix(shown, "/") {
		rel, ok := f.within(shown)
		if !ok {
			return to, fmt.Errorf("%w: a link to %q would leave the store; expected a relative path in the mount", syscall.EPERM, shown)
		}
		shown = names.Relative(dir, rel)
	}
	to.shown = shown
	elems := strings.Split(strings.TrimRight(shown, "/"), "/")
	above, last := elems[:len(elems)-1], elems[len(elems)-1]
	if isOutside(elems) {
		return to, fmt.Errorf("%w: a copy of a link that leads outside the store, shown "+
			"as %q; copy what it leads to instead, or mount the folder that holds both",
			syscall.EPERM, shown)
	}
	if err := staysInside(dir, elems, shown); err != nil {
		return to, err
	}
	group := f.resolveText(ctx, dir, above)
	if base, v := view.Split(last); v != nil && !f.names.IsGroup(ctx, group, last) {
		if last == groupFile {
			return to, fmt.Errorf("%w: a link leads to a group or to the file of an array, and not to a group's document", syscall.EPERM)
		}
		to.view, last = v, f.names.Stem(ctx, group, base, v)
	} else if n, err := f.names.Child(ctx, group, last); err == nil && (n.Kind == zarrcore.ArrayNode || n.Link.ToArray()) {
		return to, fmt.Errorf("%w: %q is an array; a link leads to one of its files, as %s.npy", iofs.ErrInvalid, shown, shown)
	}
	to.text, err = hideText(append(above[:len(above):len(above)], last))
	return to, err
}

// isOutside reports whether the text of a link is that by which links that leave the store are
// shown. A copy of such a link may lie in another folder, and its text then leads elsewhere.
func isOutside(elems []string) bool {
	above := len(elems) - 2
	return above >= 0 && elems[above] == names.ControlDir && elems[above+1] == outsideFile &&
		!slices.ContainsFunc(elems[:above], func(elem string) bool { return elem != ".." })
}

// within returns an absolute path as one below the mount, by the path at which that was mounted.
func (f *filesystem) within(absolute string) (rel string, ok bool) {
	clean := path.Clean(absolute)
	if f.mount == "" || !names.IsUnder(clean, f.mount) {
		return "", false
	}
	return strings.TrimPrefix(clean[len(f.mount):], "/"), true
}

// staysInside refuses a path from the group at dir that leads above the root, or into the mount's
// own folder.
func staysInside(dir string, elems []string, shown string) error {
	at := names.Depth(dir)
	for _, elem := range elems {
		switch {
		case elem == "" || elem == ".":
		case elem == ".." && at == 0:
			return fmt.Errorf("%w: a link to %q would leave the store", syscall.EPERM, shown)
		case elem == "..":
			at--
		case elem == names.ControlDir && at == 0:
			return fmt.Errorf("%w: a link to %q: %s", syscall.EPERM, shown, ownFolder)
		default:
			at++
		}
	}
	return nil
}

// hideText is the reverse of showText.
func hideText(elems []string) (string, error) {
	hidden := make([]string, len(elems))
	for i, elem := range elems {
		if hidden[i] = elem; elem == "" || elem == "." || elem == ".." {
			continue
		}
		name, ok := names.Parse(elem)
		if !ok {
			return "", resolve.NotShown(elem)
		}
		hidden[i] = name
	}
	return strings.Join(hidden, "/"), nil
}

// resolveText returns the path of the group to which names lead from the group at dir, as far as
// that is known.
func (f *filesystem) resolveText(ctx context.Context, dir string, elems []string) string {
	text, err := hideText(elems)
	if err != nil {
		return dir
	}
	at := strings.TrimPrefix(path.Join("/", dir, text), "/")
	if group, err := f.h.Resolve(ctx, at); err == nil {
		return group
	}
	return at
}

// unlinkLink removes a link, and never what it leads to. A link to an array has several names, as
// the array has, and goes with the last listed name. A link that leads nowhere goes at once.
func (f *filesystem) unlinkLink(ctx context.Context, t resolve.Target) error {
	at, broken := t.Node.Path, t.Node.Link.Err != nil
	defer f.creations.Lock(at)()
	if t.View != nil && !broken && !f.unlinked.Add(at, t.View, f.names.Listed(t.Node)) {
		return nil
	}
	if err := f.h.Remove(f.ctx, at); err != nil {
		f.unlinked.Restore(at, t.View)
		return err
	}
	f.gone(at)
	if t.View != nil && broken {
		f.traces.Unlinked(at, t.View, wire.Caller(ctx))
	}
	return nil
}

// unlinkLeft removes a name that is left of a link to the program that has removed the link.
func (f *filesystem) unlinkLeft(ctx context.Context, dir, name string) bool {
	path, v, ok := f.names.Path(dir, name)
	if !ok || !f.traces.Of(path).Leaves(ctx, v) {
		return false
	}
	f.traces.Leave(path, v)
	return true
}

// link moves a link that the store has, by one of its names.
func (r *renaming) link(t resolve.Target) (err error) {
	to := r.path
	switch {
	case t.View == nil:
		to, err = r.dir.newPath(r.to.Name)
	case !r.isView || r.view != t.View:
		err = fmt.Errorf("%w: %s is a link to the file of an array, and %s would not be one: expected a name that ends in .%s", syscall.EPERM, r.from.Name, r.to.Name, t.View.Name())
	}
	if err != nil || to == t.Node.Path {
		return err
	}
	listed := r.f.names.Listed(t.Node)
	if err := r.node(t.Node.Path, to, t.Key()); err != nil || t.View == nil {
		return err
	}
	r.f.traces.Renamed(t.Node.Path, to, t.View, listed, r.by)
	return nil
}

// transientLink renames a link that the store does not have: onto a view, by which the store has it
// then, or to another such name.
func (r *renaming) transientLink(x *transient.File) error {
	if !r.isView {
		return r.stay(x)
	}
	to, err := r.f.parseLink(r.f.ctx, r.to.Dir, x.Link)
	if err == nil && to.view != r.view {
		err = fmt.Errorf("%w: a link to %q cannot become %s", errno.ErrContent, x.Link, r.to.Name)
	}
	if err == nil {
		err = r.f.putLink(r.path, to, r.by, r.replace)
	}
	if err != nil {
		return err
	}
	r.f.end(x)
	go r.dir.NotifyEntry(r.to.Name) // the kernel takes the node of the old name for that of the new one
	return nil
}

// Package resolve says what a name in the mount stands for: a group, a view of an array, or a link
// to one of them. It knows which names hide others, and how the text of a link is shown. It changes
// nothing, and has no locks.
package resolve

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// GroupFile shows the metadata and attributes of its group.
const GroupFile = "zarr.json"

// Target is what a name in the mount stands for.
type Target struct {
	Node *zarrcore.Node
	View view.View // nil: the node is a directory, or a link to what is not an array
}

// IsLink reports whether a name stands for a link.
func (t Target) IsLink() bool { return t.Node.Kind == zarrcore.LinkNode }

// Key names the target's node of the mount.
func (t Target) Key() identity.Key {
	if t.IsLink() {
		return identity.OfLink(t.Node.Path, t.View)
	}
	if t.View == nil {
		return identity.Of(t.Node.Path, "")
	}
	return identity.Of(t.Node.Path, view.Identity(t.View))
}

// Reader reads the metadata of nodes, or has it from a moment ago.
type Reader interface {
	Node(ctx context.Context, path string) (*zarrcore.Node, error)
}

// Removed are the views that programs have removed.
type Removed interface {
	Has(path string, v view.View) bool
}

// Options say what is shown.
type Options struct {
	Views []string // that are listed; nil: those that keep an array
	Name  string   // of a root that is an array
	Mount string   // the mountpoint, in which absolute links may lead
}

// Resolver finds what names stand for.
type Resolver struct {
	o       Options
	ctx     context.Context // ends with the mount
	h       *zarrcore.Hierarchy
	recent  Reader
	removed Removed
	listed

	alone    bool              // the store's root is an array
	elements zarrcore.Elements // of it
}

// New returns a resolver of the names in a mount of h, which ends with ctx.
func New(ctx context.Context, h *zarrcore.Hierarchy, o Options, rec Reader, rem Removed) *Resolver {
	r := &Resolver{o: o, ctx: ctx, h: h, recent: rec, removed: rem,
		listed: listed{listedViews(o.Views)}}
	root, err := h.Node(ctx, "")
	if r.alone = err == nil && root.Kind == zarrcore.ArrayNode; r.alone {
		r.elements = zarrcore.ElementsOf(root.Meta)
	}
	return r
}

// RootName returns the name of the files that show the root, if the root is a group.
func (r *Resolver) RootName() string { return names.Show(r.o.Name) }

// Alone returns the store's root as a child. ok reports whether the root is an array.
func (r *Resolver) Alone() (root zarrcore.Child, ok bool) {
	return zarrcore.Child{Name: r.o.Name, Kind: zarrcore.ArrayNode, Elements: r.elements}, r.alone
}

// IsAlone reports whether the store's root is an array.
func (r *Resolver) IsAlone() bool { return r.alone }

// subject returns the array of a node, or the one that a link leads to, as far as a criterion needs
// to know it.
func (r *Resolver) subject(
	ctx context.Context, n *zarrcore.Node, by view.Criterion,
) (view.Subject, error) {
	if n.Link != nil {
		return view.Seen(ctx, r.h, n.Link.Elements, n.Link.Target, by)
	}
	return view.Described(n.Meta), nil
}

// Listed returns the views under which an array, or a link to one, is listed where none of them
// was removed.
func (r *Resolver) Listed(n *zarrcore.Node) (view.Set, error) {
	a, err := r.subject(r.ctx, n, view.HaveBy(r.views))
	if err != nil {
		return 0, err
	}
	var listed view.Set
	for _, v := range r.ViewsOf(a) {
		listed |= view.SetOf(v)
	}
	return listed, nil
}

// Lacks reports whether there is no array at path that has a file of view v.
func (r *Resolver) Lacks(ctx context.Context, path string, v view.View) (bool, error) {
	a, err := view.At(ctx, r.h, path, v)
	return err == nil && !r.has(v, a), err
}

// Resolve finds what name stands for in the group at dir. The order decides where names clash:
//
//  1. a group's or array's own name: a group "a.npy" hides the view "a.npy" of an array "a";
//  2. the group's own document zarr.json: it hides the view .json of an array "zarr";
//  3. the views of the arrays;
//  4. the page of the group itself, index.html.
//
// A view that is hidden has a second name, with a '%' before the suffix: "a%.npy". No other view
// has one: what is copied to "a%.npy" must not become the array "a".
func (r *Resolver) Resolve(ctx context.Context, dir, name string) (Target, error) {
	if r.alone {
		return r.resolveAlone(ctx, name)
	}
	base, v := view.Split(name)
	if v == nil {
		return r.resolveGroup(ctx, dir, name)
	}
	if r.mayExist(ctx, dir, name) {
		t, err := r.resolveGroup(ctx, dir, name)
		if err == nil || !errors.Is(err, iofs.ErrNotExist) {
			return t, err
		}
	}
	if name == GroupFile {
		n, err := r.h.Node(ctx, dir)
		return Target{n, v}, err
	}
	n, err := r.Child(ctx, dir, r.Stem(ctx, dir, base, v))
	if errors.Is(err, iofs.ErrNotExist) && r.isOfRoot(dir, base, v) {
		n, err = r.h.Node(ctx, "")
	}
	if errors.Is(err, iofs.ErrNotExist) && name == view.IndexFile {
		n, err = r.h.Node(ctx, dir)
		return Target{n, view.Index}, err
	}
	if errors.Is(err, iofs.ErrNotExist) {
		return r.resolvePart(ctx, dir, base, v)
	}
	if err != nil {
		return Target{}, err
	}
	shows, err := r.Shows(ctx, n, v)
	if err == nil && (!shows || r.removed.Has(n.Path, v)) {
		err = iofs.ErrNotExist
	}
	if err != nil {
		return Target{}, err
	}
	return Target{n, v}, nil
}

// isOfRoot reports whether a name in the group at dir stands for a file that shows the root. Such a
// file has the store's name, and lies in the root itself. A child of that name hides it.
func (r *Resolver) isOfRoot(dir, base string, v view.View) bool {
	_, ofGroups := v.(view.GroupView)
	return ofGroups && dir == "" && !r.alone && base == names.Show(r.o.Name)
}

// resolvePart finds a part of an array by the expression in the name. An array whose own name is
// like that was looked for before.
func (r *Resolver) resolvePart(ctx context.Context, dir, base string, v view.View) (Target, error) {
	shown, expression, ok := names.CutPart(base)
	if !ok {
		return Target{}, iofs.ErrNotExist
	}
	n, err := r.array(ctx, dir, shown)
	if err != nil {
		return Target{}, err
	}
	a, err := r.subject(ctx, n, view.ByDocument)
	if err != nil {
		return Target{}, err
	}
	path := n.Path
	if n.Link != nil {
		path = n.Link.Target
	}
	if a, err = a.Named(ctx, r.h, path, expression); err != nil {
		return Target{}, err
	}
	part, err := view.Sliced(v, expression, a)
	return Target{n, part}, err
}

// array returns the array, or the link to one, that is shown as name in the group at dir.
func (r *Resolver) array(ctx context.Context, dir, shown string) (n *zarrcore.Node, err error) {
	switch {
	case !r.alone:
		n, err = r.Child(ctx, dir, shown)
	case shown == names.Show(r.o.Name):
		n, err = r.h.Node(ctx, "")
	default:
		err = iofs.ErrNotExist
	}
	if err == nil && !n.ShowsArray() {
		err = iofs.ErrNotExist
	}
	return n, err
}

// Stem returns what is shown of the name of the array whose view is called base and the view's
// suffix.
func (r *Resolver) Stem(ctx context.Context, dir, base string, v view.View) string {
	if first, second := names.OfSecond(base); second &&
		r.Hides(ctx, dir, names.File(first, v.Name())) {
		return first
	}
	return base
}

// Hides reports whether the first name of a view is that of a group, or of a group's document.
func (r *Resolver) Hides(ctx context.Context, dir, first string) bool {
	return first == GroupFile || r.IsGroup(ctx, dir, first)
}

// IsGroup reports whether a name that looks like a view belongs to a group, or to a link shown by
// its own name.
func (r *Resolver) IsGroup(ctx context.Context, dir, name string) bool {
	if !r.mayExist(ctx, dir, name) {
		return false
	}
	_, err := r.resolveGroup(ctx, dir, name)
	return err == nil
}

// mayExist reports whether the store has anything under a name that looks like a file of a view.
// Nearly always it has nothing, and one look is cheaper than one for each kind of metadata.
func (r *Resolver) mayExist(ctx context.Context, dir, shown string) bool {
	name, ok := names.Parse(shown)
	return !ok || r.h.MayHold(ctx, names.Join(dir, name))
}

// resolveGroup finds the group shown as name, or a link that is shown by its own name alone.
func (r *Resolver) resolveGroup(ctx context.Context, dir, name string) (Target, error) {
	n, err := r.Child(ctx, dir, name)
	if err != nil {
		return Target{}, err
	}
	if n.ShowsArray() {
		return Target{}, iofs.ErrNotExist
	}
	return Target{Node: n}, nil
}

// resolveAlone finds a view of the root, if the root is an array.
func (r *Resolver) resolveAlone(ctx context.Context, name string) (Target, error) {
	base, v := view.Split(name)
	if v == nil {
		return Target{}, iofs.ErrNotExist
	}
	if base != names.Show(r.o.Name) {
		return r.resolvePart(ctx, "", base, v)
	}
	n, err := r.h.Node(ctx, "")
	if err != nil {
		return Target{n, v}, err
	}
	if !r.has(v, view.OfRoot(n)) || r.removed.Has(n.Path, v) {
		err = iofs.ErrNotExist
	}
	return Target{n, v}, err
}

// Child returns the node that is shown as name in the group at dir.
func (r *Resolver) Child(ctx context.Context, dir, shown string) (*zarrcore.Node, error) {
	name, ok := names.Parse(shown)
	if !ok && names.IsLong(shown) {
		name, ok = r.findLong(ctx, dir, shown)
	}
	if !ok {
		return nil, iofs.ErrNotExist
	}
	n, err := r.recent.Node(ctx, names.Join(dir, name))
	if errors.Is(err, iofs.ErrInvalid) { // no store can hold such a name
		err = iofs.ErrNotExist
	}
	return n, err
}

// findLong returns the child of dir whose name is cut to shown.
func (r *Resolver) findLong(ctx context.Context, dir, shown string) (name string, ok bool) {
	found := errors.New("found")
	err := r.h.Children(ctx, dir, func(c zarrcore.Child) error {
		if names.Show(c.Name) != shown {
			return nil
		}
		name = c.Name
		return found
	})
	return name, errors.Is(err, found)
}

// Path returns the path and the view for which name stands, or would, in the group at dir: of
// an array, or of the group itself. A name of a derived view stands for something only where there
// is such a file, or where an error leaves that open. An error must not make it an ordinary name.
func (r *Resolver) Path(dir, name string) (path string, v view.View, ok bool) {
	if t, isPart := r.part(dir, name); isPart {
		return t.Node.Path, t.View, true
	}
	path, v, ok = r.Former(dir, name)
	if !ok || !view.IsDerived(v) {
		return path, v, ok
	}
	shows, err := r.showsAt(path, v)
	if errors.Is(err, iofs.ErrNotExist) || err == nil && !shows {
		return "", nil, false
	}
	return path, v, true
}

// showsAt reports whether a view shows the node at path.
func (r *Resolver) showsAt(path string, v view.View) (bool, error) {
	n, err := r.recent.Node(r.ctx, path)
	if errors.Is(err, iofs.ErrInvalid) { // no store can hold such a name
		err = iofs.ErrNotExist
	}
	if err != nil {
		return false, err
	}
	return r.Shows(r.ctx, n, v)
}

// part returns the part of an array for which name stands in the group at dir, and whether it does.
func (r *Resolver) part(dir, name string) (t Target, isPart bool) {
	base, v := view.Split(name)
	if _, _, ok := names.CutPart(base); v == nil || !ok {
		return Target{}, false
	}
	t, err := r.Resolve(r.ctx, dir, name)
	return t, err == nil && t.View != nil && t.View != v
}

// Former returns the path and the view for which name has stood, or would stand, whatever is there
// now.
func (r *Resolver) Former(dir, name string) (path string, v view.View, ok bool) {
	base, v := view.Split(name)
	switch {
	case v == nil:
		return "", nil, false
	case r.alone:
		return "", v, base == names.Show(r.o.Name)
	case name == GroupFile:
		return dir, v, true
	}
	if name == view.IndexFile {
		if _, err := r.Child(r.ctx, dir, base); errors.Is(err, iofs.ErrNotExist) {
			return dir, view.Index, true
		}
	}
	if r.isOfRoot(dir, base, v) {
		if _, err := r.Child(r.ctx, dir, base); errors.Is(err, iofs.ErrNotExist) {
			return "", v, true
		}
	}
	name, ok = names.Parse(r.Stem(r.ctx, dir, base, v))
	return names.Join(dir, name), v, ok
}

// Misnamed returns why no array can be shown by a name that ends in the suffix of a view. It
// returns nil if one can, or if the name has no such suffix. What is copied to such a name would be
// a transient, and lost at the end. isView is what viewPath says of the name.
func (r *Resolver) Misnamed(name string, isView bool) error {
	base, v := view.Split(name)
	switch {
	case v == nil || isView || r.alone || view.IsDerived(v):
		return nil
	case base == "":
		return fmt.Errorf(
			"%w: %q is the end of a name only: an array needs a name before it, such as a%[2]s",
			iofs.ErrInvalid, name)
	}
	return NotShown(base)
}

// NotShown returns why no group or array is shown as name.
func NotShown(name string) error {
	if len(name) > names.MaxShown {
		return fmt.Errorf("%w: the name has %d bytes, expected at most %d; choose a shorter one",
			syscall.ENAMETOOLONG, len(name), names.MaxShown)
	}
	return fmt.Errorf("%w: %q cannot be a file name here: write it %s",
		iofs.ErrInvalid, name, names.Show(name))
}

// NewPath returns the path of a new group that would be shown as name in the group at dir. Links to
// what is not an array have such names, too.
func (r *Resolver) NewPath(dir, name string) (path string, err error) {
	switch {
	case r.alone:
		return "", fmt.Errorf("%w: the store is one array, and has no groups", syscall.EPERM)
	case name == names.ControlDir && dir == "":
		return "", fmt.Errorf("%w: %q: %s", syscall.EPERM, name, names.OwnFolder)
	}
	if hidden, ok := names.Parse(name); ok {
		return names.Join(dir, hidden), nil
	}
	return "", NotShown(name)
}

// Shows reports whether a view shows the node: as a file, or as a link to one. A link to nowhere is
// found by the names of all views that keep an array. So nothing else can be created there.
func (r *Resolver) Shows(ctx context.Context, n *zarrcore.Node, v view.View) (bool, error) {
	switch {
	case n.Kind == zarrcore.LinkNode && n.Link.Err != nil:
		return v.IsKeeper(), nil
	case n.ShowsArray():
		a, err := r.subject(ctx, n, v.HasBy())
		return err == nil && r.has(v, a), err
	}
	return v != view.Document && view.IsOf(v, n), nil
}

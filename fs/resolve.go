package fs

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"strings"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// target is what a name in the mount stands for.
type target struct {
	node *zarrcore.Node
	view view.View // nil: the node is a directory, or a link to what is not an array
}

func (t target) key() identity.Key {
	if t.isLink() {
		return identity.OfLink(t.node.Path, t.view)
	}
	if t.view == nil {
		return identity.Of(t.node.Path, "")
	}
	return identity.Of(t.node.Path, t.view.Name())
}

// subjectOf returns the array of a node, or the one that a link leads to.
func (f *filesystem) subjectOf(ctx context.Context, n *zarrcore.Node) view.Subject {
	if n.Link != nil {
		return view.Seen(ctx, f.h, n.Link.Elements, n.Link.Target)
	}
	return view.Described(n.Meta)
}

// listedOf returns the views under which an array, or a link to one, is listed where none of them
// was removed.
func (f *filesystem) listedOf(n *zarrcore.Node) view.Set {
	array := f.subjectOf(f.ctx, n)
	var listed view.Set
	for _, v := range f.listed {
		if view.Shows(v, array) {
			listed |= view.SetOf(v)
		}
	}
	return listed
}

// lacks reports whether there is no array at path that has a file of view v.
func (f *filesystem) lacks(ctx context.Context, path string, v view.View) bool {
	return !v.Has(view.At(ctx, f.h, path))
}

// resolve finds what name stands for in the group at dir. The order decides where names clash:
//
//  1. a group's or array's own name: a group "a.npy" hides the view "a.npy" of an array "a";
//  2. the group's own document zarr.json: it hides the view .json of an array "zarr";
//  3. the views of the arrays.
//
// A view that is hidden has a second name, with a '%' before the suffix: "a%.npy". No other view
// has one: what is copied to "a%.npy" must not become the array "a".
func (f *filesystem) resolve(ctx context.Context, dir, name string) (target, error) {
	if f.alone {
		return f.resolveAlone(ctx, name)
	}
	base, v := view.Split(name)
	if v == nil {
		return f.resolveGroup(ctx, dir, name)
	}
	if f.mayExist(ctx, dir, name) {
		t, err := f.resolveGroup(ctx, dir, name)
		if err == nil || !errors.Is(err, iofs.ErrNotExist) {
			return t, err
		}
	}
	if name == groupFile {
		n, err := f.h.Node(ctx, dir)
		return target{n, v}, err
	}
	n, err := f.child(ctx, dir, f.stem(ctx, dir, base, v))
	if err != nil {
		return target{}, err
	}
	if !f.shownAs(ctx, n, v) || f.unlinked.Has(n.Path, v) {
		return target{}, iofs.ErrNotExist
	}
	return target{n, v}, nil
}

// stem returns what is shown of the name of the array whose view is called base and the view's
// suffix.
func (f *filesystem) stem(ctx context.Context, dir, base string, v view.View) string {
	if first, second := names.OfSecond(base); second && f.hides(ctx, dir, names.File(first, v.Name())) {
		return first
	}
	return base
}

// hides reports whether the first name of a view is that of a group, or of a group's document.
func (f *filesystem) hides(ctx context.Context, dir, first string) bool {
	return first == groupFile || f.isGroup(ctx, dir, first)
}

// isGroup reports whether a name that looks like a view belongs to a group, or to a link that is
// shown by its own name.
func (f *filesystem) isGroup(ctx context.Context, dir, name string) bool {
	if !f.mayExist(ctx, dir, name) {
		return false
	}
	_, err := f.resolveGroup(ctx, dir, name)
	return err == nil
}

// mayExist reports whether the store has anything under a name that looks like a file of a view.
// Nearly always it has nothing, and one look is cheaper than one for each kind of metadata.
func (f *filesystem) mayExist(ctx context.Context, dir, shown string) bool {
	name, ok := names.Parse(shown)
	if f.o.Store == nil || !ok {
		return true
	}
	info, err := f.o.Store.Stat(ctx, names.Join(dir, name))
	return err == nil && info.Dir || err != nil && !errors.Is(err, iofs.ErrNotExist) // a link that leads nowhere
}

// resolveGroup finds the group that is shown as name, or a link that is shown by its own name
// alone.
func (f *filesystem) resolveGroup(ctx context.Context, dir, name string) (target, error) {
	n, err := f.child(ctx, dir, name)
	if err != nil {
		return target{}, err
	}
	if n.Kind == zarrcore.ArrayNode || n.Link.ToArray() {
		return target{}, iofs.ErrNotExist
	}
	return target{node: n}, nil
}

// resolveAlone finds a view of the root, where that is an array.
func (f *filesystem) resolveAlone(ctx context.Context, name string) (target, error) {
	base, v := view.Split(name)
	if v == nil || base != names.Show(f.o.Name) {
		return target{}, iofs.ErrNotExist
	}
	n, err := f.h.Node(ctx, "")
	if err == nil && (!v.Has(view.Described(n.Meta)) || f.unlinked.Has(n.Path, v)) {
		err = iofs.ErrNotExist
	}
	return target{n, v}, err
}

// child returns the node that is shown as name in the group at dir.
func (f *filesystem) child(ctx context.Context, dir, shown string) (*zarrcore.Node, error) {
	name, ok := names.Parse(shown)
	if !ok && names.IsLong(shown) {
		name, ok = f.findLong(ctx, dir, shown)
	}
	if !ok {
		return nil, iofs.ErrNotExist
	}
	n, err := f.stat.Node(ctx, names.Join(dir, name))
	if errors.Is(err, iofs.ErrInvalid) { // no store can hold such a name
		err = iofs.ErrNotExist
	}
	return n, err
}

// findLong returns the child of dir whose name is cut to shown.
func (f *filesystem) findLong(ctx context.Context, dir, shown string) (name string, ok bool) {
	found := errors.New("found")
	err := f.h.Children(ctx, dir, func(c zarrcore.Child) error {
		if names.Show(c.Name) != shown {
			return nil
		}
		name = c.Name
		return found
	})
	return name, errors.Is(err, found)
}

// viewPath returns the path and the view for which name stands, or would, in the group at dir: of
// an array, or of the group itself.
func (f *filesystem) viewPath(dir, name string) (path string, v view.View, ok bool) {
	base, v := view.Split(name)
	switch {
	case v == nil:
		return "", nil, false
	case f.alone:
		return "", v, base == names.Show(f.o.Name)
	case name == groupFile:
		return dir, v, true
	}
	name, ok = names.Parse(f.stem(f.ctx, dir, base, v))
	return names.Join(dir, name), v, ok
}

// misnamed returns why no array can be shown by a name that ends in the suffix of a view. It
// returns nil if one can, or if the name has no such suffix. What is copied to such a name would be
// a transient, and lost at the end. isView is what viewPath says of the name.
func (f *filesystem) misnamed(name string, isView bool) error {
	base, v := view.Split(name)
	switch {
	case v == nil || isView || f.alone:
		return nil
	case base == "":
		return fmt.Errorf("%w: %q is the end of a name only: an array needs a name before it, such as a%[2]s", iofs.ErrInvalid, name)
	}
	return notShown(base)
}

// notShown returns why no group or array is shown as name.
func notShown(name string) error {
	if len(name) > names.MaxShown {
		return fmt.Errorf("%w: the name has %d bytes, expected at most %d; choose a shorter one", syscall.ENAMETOOLONG, len(name), names.MaxShown)
	}
	return fmt.Errorf("%w: %q cannot be a file name here: write it %s", iofs.ErrInvalid, name, strings.ReplaceAll(name, "%", "%25"))
}

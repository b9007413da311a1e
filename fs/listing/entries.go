package listing

import (
	"context"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// show makes the entries of a child.
func (l *Listing) show(ctx context.Context, c zarrcore.Child) error {
	name, path := names.Show(c.Name), names.Join(l.where(), c.Name)
	if l.Names.IsAlone() {
		path = ""
	}
	l.entries = l.buf[:0]
	if !c.ShowsArray() {
		l.entries = append(l.entries, Entry{Name: name, Path: path, Kind: c.Kind})
		if c.Kind == zarrcore.GroupNode {
			l.showGroup(ctx, name, path)
		}
		return nil
	}
	array, err := l.subject(ctx, c, path)
	if err != nil {
		return err
	}
	for _, v := range l.Names.ViewsOf(array) {
		if l.Unlinked.Has(path, v) {
			continue
		}
		entry := Entry{Name: l.viewName(name, v), Path: path, Kind: c.Kind, View: v}
		if _, found := view.Split(entry.Name); view.IsDerived(v) && found != v {
			continue // it is a longer view's Name: an array "a.ome" has no file "a.ome.tif"
		}
		if _, isListed := l.names[entry.Name]; !isListed { // otherwise a file waits for this array
			l.entries = append(l.entries, entry)
		}
	}
	return nil
}

// subject returns the child at path if it is an array, otherwise the array to which it leads.
func (l *Listing) subject(
	ctx context.Context, c zarrcore.Child, path string,
) (view.Subject, error) {
	elements := c.Elements
	if c.Link.LeadsToArray() {
		elements, path = c.Link.Elements, c.Link.Target
	}
	return view.Seen(ctx, l.H, elements, path, view.HaveBy(l.Names.Views()))
}

// showGroup makes the entries of the listed files that show the group at path. A child with the
// name of such a file hides the file.
func (l *Listing) showGroup(ctx context.Context, name, path string) {
	for _, v := range l.Names.Views() {
		if _, ofGroups := v.(view.GroupView); !ofGroups {
			continue
		}
		file := names.File(name, v.Name())
		if _, isListed := l.names[file]; isListed { // a program has copied it before the group
			continue
		}
		t, err := l.Names.Resolve(ctx, l.where(), file)
		if err == nil && t.View == v && t.Node.Path == path {
			e := Entry{Name: file, Path: path, Kind: zarrcore.GroupNode, View: v}
			l.entries = append(l.entries, e)
		}
	}
}

// viewName returns the first name of an array's view that no group of this directory has.
func (l *Listing) viewName(name string, v view.View) string {
	first := names.File(name, v.Name())
	if len(l.groups) == 0 && first != resolve.GroupFile {
		return first
	}
	_, taken := l.groups[first]
	if taken || first == resolve.GroupFile && !l.Names.IsAlone() {
		return names.Second(name, v.Name())
	}
	return first
}

// Shows reports whether an entry still stands for the node at its path.
func (l *Listing) Shows(ctx context.Context, e Entry, n *zarrcore.Node) (bool, error) {
	switch {
	case (n.Kind == zarrcore.LinkNode) != (e.Kind == zarrcore.LinkNode):
		return false, nil
	case n.Kind == zarrcore.LinkNode && e.View != nil:
		return l.Names.Shows(ctx, n, e.View)
	case n.Kind == zarrcore.LinkNode:
		return !n.Link.LeadsToArray(), nil
	}
	return (n.Kind == zarrcore.ArrayNode) == (e.Kind == zarrcore.ArrayNode), nil
}

package resolve

import (
	"context"
	"fmt"
	iofs "io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// outsideFile is a file of names.ControlDir. Links that leave the store seem to lead to it. The
// file never exists. By its own text, such a link would lead each program to another file, or to
// one of another machine.
const outsideFile = "outside"

// LinkText returns the text of a link as the mount shows it, by a view of the array that it leads
// to. It is the text in the store, with each name as it is shown, so that a copy of the link is the
// same.
func (r *Resolver) LinkText(ctx context.Context, n *zarrcore.Node, v view.View) string {
	dir, _ := names.Split(n.Path)
	if n.Link.Text == "" {
		return strings.Repeat("../", names.Depth(dir)) + names.ControlDir + "/" + outsideFile
	}
	text := n.Link.Text
	if v == nil {
		return names.ShowLink(text)
	}
	if name := path.Base(text); name == "." || name == ".." {
		text = names.Relative(dir, n.Link.Target)
	}
	text = strings.TrimRight(text, "/")
	shown := names.File(names.ShowLink(text), v.Name())
	group, name := names.Split(n.Link.Target)
	first := names.File(names.Show(name), v.Name())
	if n.Link.Err == nil && r.Hides(ctx, group, first) && name == path.Base(text) {
		shown = names.Second(names.ShowLink(text), v.Name())
	}
	return shown
}

// LinkTarget is the text of a link that a program wants to make.
type LinkTarget struct {
	Text  string // as the store has it
	Shown string // as the mount shows it
	// of the array that it leads to; nil: it leads to a group, or to what is not there
	View  view.View
	Group string // the path of the group in which it leads to a name, as far as that is known
	Name  string // that name, as the mount shows it
}

// ParseLink turns the text of a link in the group at dir into that of a link in the store. It
// refuses a link that leaves the mount.
func (r *Resolver) ParseLink(ctx context.Context, dir, shown string) (to LinkTarget, err error) {
	if strings.HasPrefix(shown, "/") {
		rel, ok := r.within(shown)
		if !ok {
			return to, fmt.Errorf("%w: a link to %q would leave the store; expected a "+
				"relative path in the mount", syscall.EPERM, shown)
		}
		shown = names.Relative(dir, rel)
	}
	to.Shown = shown
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
	group := r.resolveText(ctx, dir, above)
	to.Group, to.Name = group, last
	if base, v := view.Split(last); v != nil && !r.IsGroup(ctx, group, last) {
		if last == GroupFile {
			return to, fmt.Errorf("%w: a link leads to a group or to the file of an array, and "+
				"not to a group's document", syscall.EPERM)
		}
		if t, isPart := r.part(group, last); isPart {
			v = t.View
		}
		if view.IsDerived(v) {
			return to, fmt.Errorf("%w: a .%s file shows what other files hold, and no link leads "+
				"to it: link to the .%s of the array", syscall.EPERM, v.Name(),
				view.Headed().Name())
		}
		to.View, last = v, r.Stem(ctx, group, base, v)
	} else if n, err := r.Child(ctx, group, last); err == nil && n.ShowsArray() {
		return to, fmt.Errorf("%w: %q is an array; a link leads to one of its files, as %[2]s.%s",
			iofs.ErrInvalid, shown, view.Headed().Name())
	}
	to.Text, err = hideText(append(above[:len(above):len(above)], last))
	return to, err
}

// isOutside reports whether a link has the text that the mount shows for links out of the store. A
// copy of such a link may lie in another folder, and its text then leads elsewhere.
func isOutside(elems []string) bool {
	above := len(elems) - 2
	return above >= 0 && elems[above] == names.ControlDir && elems[above+1] == outsideFile &&
		!slices.ContainsFunc(elems[:above], func(elem string) bool { return elem != ".." })
}

// within returns an absolute path relative to the mount, if the path is the original mountpoint or
// lies below it.
func (r *Resolver) within(absolute string) (rel string, ok bool) {
	clean := path.Clean(absolute)
	if r.o.Mount == "" || !names.IsUnder(clean, r.o.Mount) {
		return "", false
	}
	return strings.TrimPrefix(clean[len(r.o.Mount):], "/"), true
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
			return fmt.Errorf("%w: a link to %q: %s", syscall.EPERM, shown, names.OwnFolder)
		default:
			at++
		}
	}
	return nil
}

// hideText is the reverse of names.ShowLink.
func hideText(elems []string) (string, error) {
	hidden := make([]string, len(elems))
	for i, elem := range elems {
		if hidden[i] = elem; elem == "" || elem == "." || elem == ".." {
			continue
		}
		name, ok := names.Parse(elem)
		if !ok {
			return "", NotShown(elem)
		}
		hidden[i] = name
	}
	return strings.Join(hidden, "/"), nil
}

// resolveText returns the path of the group to which names lead from the group at dir, as far as
// that is known.
func (r *Resolver) resolveText(ctx context.Context, dir string, elems []string) string {
	text, err := hideText(elems)
	if err != nil {
		return dir
	}
	at := strings.TrimPrefix(path.Join("/", dir, text), "/")
	if group, err := r.h.Resolve(ctx, at); err == nil {
		return group
	}
	return at
}

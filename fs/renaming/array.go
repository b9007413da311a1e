package renaming

import (
	"fmt"
	iofs "io/fs"
	"strings"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// array moves an array by the name of one of its views, or copies its document.
func (r *renaming) array(t resolve.Target) error {
	to := r.path
	switch {
	case !r.isView && t.View == view.Document:
		return r.copyDocument(t)
	case !r.isView:
		return fmt.Errorf("%w: %s is the file of an array, and %s would not be one: "+
			"expected a name that ends in .%s",
			syscall.EPERM, r.From.Name, r.To.Name, t.View.Name())
	case r.Replace && r.Replacing.IsOfGroup(t, r.To.Name, r.By):
		return r.groupDocument(t)
	case t.Node.Kind != zarrcore.ArrayNode || r.To.Name == resolve.GroupFile:
		return fmt.Errorf("%w: a group's document stays with its group", syscall.EPERM)
	case r.view != t.View:
		return fmt.Errorf("%w: %s cannot become %s: an array has both",
			syscall.EPERM, r.From.Name, r.To.Name)
	case to == t.Node.Path:
		return nil // a.npy and a%.npy
	}
	if err := r.staysThere(); err != nil {
		return err
	}
	if link := r.linkToReplace(t.Node.Path); link != nil {
		return r.Links.InPlaceOf(link, func() error { return r.array(t) })
	}
	if r.Replace {
		if old := r.Replacing.ByDocument(t, to); old != nil {
			return r.document(t, old)
		}
		if old := r.Replacing.ByContent(t, to); old != nil {
			if err := r.content(t, old); err != nil {
				return err
			}
		}
	}
	wrote := r.Traces.Of(t.Node.Path).WrittenBy(r.By)
	listed, err := r.Names.Listed(t.Node)
	if err != nil {
		return err
	}
	if err := r.node(t.Node.Path, to, t.Key()); err != nil {
		return err
	}
	r.Failures.Note(to, nil) // mv asks with RENAME_NOREPLACE first, and then without
	r.Traces.Renamed(t.Node.Path, to, t.View, listed, wrote, r.By)
	r.Adopting.Replaced(to, t.View)
	return nil
}

// staysThere returns why a rename that must replace nothing cannot have the name of a removed view.
// The array is still there by its other views, and the rename would take it away. mv, without -n,
// renames without RENAME_NOREPLACE then.
func (r *renaming) staysThere() error {
	if r.Replace || !r.Unlinked.Has(r.path, r.view) {
		return nil
	}
	n, err := r.H.Node(r.Ctx, r.path)
	if err != nil || n.Kind != zarrcore.ArrayNode {
		return nil
	}
	listed, err := r.Names.Listed(n)
	if err != nil {
		return err
	}
	var left []string
	for _, v := range view.Keeping() {
		if listed&view.SetOf(v) != 0 && !r.Unlinked.Has(r.path, v) {
			left = append(left, view.FileOf(r.path, v))
		}
	}
	r.Traces.Refused(r.path, r.view, r.By)
	return fmt.Errorf("%w: only %s was removed, and the array %q is still there by %s: "+
		"remove these, or rename without RENAME_NOREPLACE (mv without -n), which replaces "+
		"the array",
		iofs.ErrExist, r.To.Name, r.path, strings.Join(left, " and "))
}

// content readies the array t to replace the content of the array old, if the user may.
func (r *renaming) content(t resolve.Target, old *zarrcore.Node) error {
	if err := r.refusedFor(t.Node.Path, old.Path); err != nil {
		return err
	}
	return r.contentError(r.Replacing.Content(r.Asking, t, old))
}

// document makes the document of the array t that of the array old, and removes t.
func (r *renaming) document(t resolve.Target, old *zarrcore.Node) error {
	if err := r.Rights.Refuses(r.User, old, rights.ToReplace); err != nil {
		return err
	}
	if err := r.Replacing.Document(t, old, r.By); err != nil {
		return r.contentError(err)
	}
	r.forgetNew() // the kernel takes the removed document for the file of that name
	return nil
}

// groupDocument replaces the document of the group at r.path by that of the group t. A program
// renames the document of t to the other one.
func (r *renaming) groupDocument(t resolve.Target) error {
	old, err := r.H.Node(r.Ctx, r.path)
	if err == nil {
		err = r.Rights.Refuses(r.User, old, rights.ToReplace)
	}
	if err != nil {
		return err
	}
	if err := r.Replacing.GroupDocument(t, r.path, r.By); err != nil {
		return r.contentError(err)
	}
	r.renewInodes(t)
	return nil
}

// copyDocument makes a transient with the text of an array's or group's document. The document
// stays: editors keep the old text this way. To a copying program it is gone: cp --backup creates
// the new one with O_EXCL.
func (r *renaming) copyDocument(t resolve.Target) error {
	if r.By.Mover {
		if err := r.Rights.Refuses(r.User, t.Node, rights.ToReplace); err != nil {
			return err
		}
	}
	if err := r.Transients.RefusesName(r.To.Name); err != nil {
		return err
	}
	x, err := r.Transients.Make(r.Dir.Where, r.To.Name)
	if err != nil {
		return err
	}
	err = r.Transients.Space.Take(int64(len(t.Node.Document)))
	if err == nil {
		_, err = x.Bytes.WriteAt(t.Node.Document, 0)
	}
	if err != nil {
		r.Transients.Drop(x)
		return err
	}
	if r.By.Mover {
		r.Traces.Hide(t.Node.Path, view.Document, r.By)
	}
	r.renewInodes(t)
	return nil
}

// renewInodes gives the file t, which stays, another inode. The kernel takes the one that it had
// for that of the new name. A request for the attributes gets the right inode.
func (r *renaming) renewInodes(t resolve.Target) {
	for _, n := range r.Nodes.Known(t.Node.Path) {
		if n.Place().Key() == t.Key() {
			r.Nodes.Renew(n)
			n.NotifyContent(-1, 0)
			r.forgetNew()
		}
	}
}

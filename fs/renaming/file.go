package renaming

import (
	"cmp"
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/install"
	"github.com/zarrfs/zarrfs/fs/links"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// lacks reports whether the new name is not the file of an array.
func (r *renaming) lacks() (bool, error) {
	if !r.isView {
		return true, nil
	}
	return r.Names.Lacks(r.Ctx, r.path, r.view)
}

// transient renames a transient to a name that is not a view, or onto a view. In the second case it
// becomes the view, or waits until the view's array is there.
func (r *renaming) transient(x *transient.File) error {
	switch {
	case x.Link != "":
		return r.transientLink(x)
	case x.Bytes == nil:
		return r.empty(x)
	}
	ctx, path, v := r.Ctx, r.path, r.view
	r.Sites.Wait(path) // as a lookup does
	if lacks, err := r.lacks(); err != nil {
		return err
	} else if lacks && !(r.isView && r.Creation.Restore(ctx, path, v, r.By)) {
		return r.stay(x)
	}
	if link := r.linkToReplace(""); link != nil {
		return r.Links.InPlaceOf(link, func() error { return r.transient(x) })
	}
	n, err := r.H.Node(ctx, path)
	if err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	if err == nil {
		if err := r.refusesFile(n); err != nil {
			return err
		}
	}
	missing := err != nil && !r.Creation.Restore(ctx, path, v, r.By)
	if missing {
		if err := r.Present.Vacate(ctx, path); err != nil {
			return err
		}
	}
	if missing && !v.IsDescription(nil) {
		return r.stay(x) // until there is an array
	}
	as := install.As{Path: path, View: v, By: r.By, Missing: missing}
	if err := r.Installs.Install(x, as); err != nil {
		err = r.contentError(err)
		x.Refuse(err)
		return err
	}
	return r.Installs.EndInstalled(x, as)
}

// refusesFile returns why a file cannot become one of what the new name shows, which is n.
func (r *renaming) refusesFile(n *zarrcore.Node) error {
	v, hidden := r.view, r.Traces.Of(n.Path).HidesFrom(r.By, r.view)
	switch {
	case n.Kind == zarrcore.LinkNode:
		return links.ErrIsLink(n, v)
	case view.IsComposite(v):
		return view.ErrStructure(v, "another file in the place of")
	case r.To.Name != resolve.GroupFile && n.Kind != zarrcore.ArrayNode:
		return fmt.Errorf("%w: %s is a %s", iofs.ErrExist, n.Path, n.Kind)
	case hidden:
		return nil
	case !r.Replace:
		return cmp.Or(r.staysThere(), iofs.ErrExist)
	}
	err := r.Rights.RefusesAll(r.Asking, r.User, r.H, n, rights.ToReplace)
	if err != nil {
		return err
	}
	return r.Between.Refuses(r.By, n.Path, v)
}

// stay gives a transient another name.
func (r *renaming) stay(x *transient.File) error { return r.stayWith(x, func() {}) }

// stayWith is stay, and calls also in the same step.
func (r *renaming) stayWith(x *transient.File, also func()) error {
	err := cmp.Or(r.Libraries.OfStore(r.To.Name), r.Transients.RefusesName(r.To.Name))
	if err != nil && (x.Bytes != nil || x.Link != "") {
		return err
	}
	if old := r.Transients.Find(r.To.Dir, r.To.Name); old != nil && !r.Replace {
		return iofs.ErrExist
	}
	r.Transients.Rename(x, r.To, also)
	return nil
}

// empty renames the file of a view that was made and not written yet.
func (r *renaming) empty(x *transient.File) error {
	from, was, _ := r.Names.Path(r.From.Dir, r.From.Name)
	if r.view == nil || r.view != was {
		return fmt.Errorf("%w: %s is empty, and not a %s yet", errno.ErrContent, r.From.Name,
			r.To.Name)
	}
	if _, err := r.H.Node(r.Ctx, r.path); err == nil {
		return fmt.Errorf("%w: %s is empty, which is not an array", errno.ErrContent, r.From.Name)
	}
	end := r.Sites.Lock(from)
	if r.Transients.Find(r.From.Dir, r.From.Name) != x {
		end()
		return r.do() // it has just become an array
	}
	defer end()
	rename := func(file func()) error { return r.stayWith(x, file) }
	return r.Present.MoveAwaited(from, r.path, was, rename)
}

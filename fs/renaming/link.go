package renaming

import (
	"fmt"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// link moves a link that the store has, by one of its names.
func (r *renaming) link(t resolve.Target) (err error) {
	to := r.path
	switch {
	case t.View == nil:
		to, err = r.newPath()
	case !r.isView || r.view != t.View:
		err = fmt.Errorf("%w: %s is a link to the file of an array, and %s would not be one: "+
			"expected a name that ends in .%s",
			syscall.EPERM, r.From.Name, r.To.Name, t.View.Name())
	}
	if err != nil || to == t.Node.Path {
		return err
	}
	listed, err := r.Names.Listed(t.Node)
	if err != nil {
		return err
	}
	if err := r.node(t.Node.Path, to, t.Key()); err != nil || t.View == nil {
		return err
	}
	r.Traces.Renamed(t.Node.Path, to, t.View, listed, 0, r.By)
	return nil
}

// transientLink renames a link that the store does not have: onto a view, by which the store has it
// then, or to another such name.
func (r *renaming) transientLink(x *transient.File) error {
	if !r.isView {
		return r.stay(x)
	}
	to, err := r.Names.ParseLink(r.Ctx, r.To.Dir, x.Link)
	if err == nil && to.View != r.view {
		err = fmt.Errorf("%w: a link to %q cannot become %s", errno.ErrContent, x.Link, r.To.Name)
	}
	if err == nil {
		err = r.Links.Put(r.path, to, r.By, r.Replace)
	}
	if err != nil {
		return err
	}
	r.Transients.End(x)
	r.forgetNew() // the kernel takes the node of the old name for that of the new one
	return nil
}

// linkToReplace returns the link whose place the renamed file takes, or nil if it takes no link's
// place. moved is the array that is renamed; "": it is a file that becomes an array. An array never
// replaces a link to itself.
func (r *renaming) linkToReplace(moved string) *zarrcore.Node {
	n, err := r.H.Node(r.Ctx, r.path)
	if err != nil || !r.isView || !r.Links.IsReplaceable(n, r.view, r.Replace) {
		return nil
	}
	if moved != "" && n.Link.Target == moved {
		return nil
	}
	return n
}

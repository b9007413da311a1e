package fs

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
		to, err = r.dir.newPath(r.to.Name)
	case !r.isView || r.view != t.View:
		err = fmt.Errorf("%w: %s is a link to the file of an array, and %s would not be one: "+
			"expected a name that ends in .%s",
			syscall.EPERM, r.from.Name, r.to.Name, t.View.Name())
	}
	if err != nil || to == t.Node.Path {
		return err
	}
	listed := r.f.names.Listed(t.Node)
	if err := r.node(t.Node.Path, to, t.Key()); err != nil || t.View == nil {
		return err
	}
	r.f.traces.Renamed(t.Node.Path, to, t.View, listed, 0, r.by)
	return nil
}

// transientLink renames a link that the store does not have: onto a view, by which the store has it
// then, or to another such name.
func (r *renaming) transientLink(x *transient.File) error {
	if !r.isView {
		return r.stay(x)
	}
	to, err := r.f.names.ParseLink(r.f.ctx, r.to.Dir, x.Link)
	if err == nil && to.View != r.view {
		err = fmt.Errorf("%w: a link to %q cannot become %s", errno.ErrContent, x.Link, r.to.Name)
	}
	if err == nil {
		err = r.f.links.Put(r.path, to, r.by, r.replace)
	}
	if err != nil {
		return err
	}
	r.f.transients.End(x)
	go r.dir.NotifyEntry(r.to.Name) // the kernel takes the node of the old name for that of the new one
	return nil
}

// linkToReplace returns the link whose place the renamed file takes, nil if there is none. moved is
// the array that is renamed; "": it is a file that becomes one. An array never replaces a link to
// itself.
func (r *renaming) linkToReplace(moved string) *zarrcore.Node {
	n, err := r.f.h.Node(r.f.ctx, r.path)
	if err != nil || !r.isView || !r.f.links.IsReplaceable(n, r.view, r.replace) {
		return nil
	}
	if moved != "" && n.Link.Target == moved {
		return nil
	}
	return n
}

// Package renaming renames what a mount shows: a group, an array or a link by any of its names, or
// a file that the store does not have.
package renaming

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/adopt"
	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/creation"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/install"
	"github.com/zarrfs/zarrfs/fs/library"
	"github.com/zarrfs/zarrfs/fs/links"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/nodes"
	"github.com/zarrfs/zarrfs/fs/presence"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/replacing"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/fs/selfcopy"
	"github.com/zarrfs/zarrfs/fs/site"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// Renames are those of a mount.
type Renames struct{ Mount }

// Mount is the mount in which things are renamed.
type Mount struct {
	Ctx       context.Context // ends with the mount
	H         *zarrcore.Hierarchy
	Names     *resolve.Resolver
	Sites     *site.Paths
	Nodes     *nodes.Table
	Present   *presence.Paths
	Links     *links.Links
	Replacing *replacing.Arrays
	Traces    *alias.Traces
	Unlinked  *alias.Unlinked
	Rights    *rights.Rights
	Failures  *errno.Failures
	Files
}

// Files are the files that the store does not have, and what becomes of them.
type Files struct {
	Transients *transient.Files
	Creation   *creation.Arrays
	Adopting   *adopt.Files
	Installs   *install.Files
	Libraries  *library.Answers
	Between    selfcopy.Mount
}

// New returns the renames of a mount.
func New(of Mount) *Renames { return &Renames{of} }

// Request asks for one rename.
type Request struct {
	Asking   context.Context // of the request
	By       program.Process
	User     rights.User
	From, To transient.Spot
	Dir      *nodes.Node // the folder of To
	Replace  bool        // what is at To, if anything
}

// Do renames. A rename goes to its end although its program is interrupted: it must not stop
// halfway. Only what changes neither file yet ends with the request.
func (m *Renames) Do(asked Request) error {
	return (&renaming{Renames: m, Request: asked}).do()
}

// renaming is one rename of the mount.
type renaming struct {
	*Renames
	Request

	path   string    // of the array, or group, of which To is a view, or would be
	view   view.View // nil: To is not a view
	isView bool
}

func (r *renaming) do() error {
	r.path, r.view, r.isView = r.Names.Path(r.To.Dir, r.To.Name)
	err := cmp.Or(r.Names.Misnamed(r.To.Name, r.isView), r.Names.Divides(r.To.Dir, r.To.Name))
	if errors.Is(err, iofs.ErrInvalid) { // of EINVAL mv says that a folder moves into itself
		return fmt.Errorf("%w: %w", errno.ErrContent, err)
	} else if err != nil {
		return err
	}
	if x := r.Transients.Find(r.From.Dir, r.From.Name); x != nil {
		return r.transient(x)
	}
	t, err := r.Names.Resolve(r.Ctx, r.From.Dir, r.From.Name)
	switch {
	case errors.Is(err, iofs.ErrNotExist) && r.follows():
		return nil
	case err != nil:
		return err
	case t.View != nil && view.IsDerived(t.View):
		return fmt.Errorf("%w: %s shows what other files hold: copy it, or rename %s, and it "+
			"follows",
			syscall.EPERM, r.From.Name, nameOfKeeper(t))
	case r.Names.IsAlone():
		return fmt.Errorf("%w: the array is the store itself", iofs.ErrPermission)
	case t.IsLink():
		return r.link(t)
	case t.View == nil:
		return r.group(t.Node.Path)
	}
	return r.array(t)
}

// nameOfKeeper returns the name of the file, or folder, whose rename renames a node.
func nameOfKeeper(t resolve.Target) string {
	if _, name := names.Split(t.Node.Path); t.Node.Kind == zarrcore.GroupNode {
		return "the folder " + names.Show(name)
	}
	return view.FileOf(t.Node.Path, view.Headed())
}

// follows reports whether the same program has renamed the array to the same place through another
// of its names, as `mv a.* sub/` does. Then all is done.
func (r *renaming) follows() bool {
	path, v, ok := r.Names.Former(r.From.Dir, r.From.Name)
	if !ok || v != r.view || !r.Traces.Of(path).Follows(r.By, r.path, v) {
		return false
	}
	r.Traces.Leave(path, v)
	r.Traces.NoteMade(r.path, v, r.By)
	r.Nodes.RemoveKey(identity.OfGhost(path, v))
	r.forgetNew() // the kernel takes the ghost for the file of that name
	return true
}

// forgetNew makes the kernel look the new name up again, once it has its answer.
func (r *renaming) forgetNew() { go r.Dir.NotifyEntry(r.To.Name) }

// newPath returns the path of the node that would be shown as the new name, whatever has a view.
func (r *renaming) newPath() (path string, err error) {
	if r.Dir.Place().IsGone() {
		return "", syscall.ENOENT
	}
	return r.Names.NewPath(r.Dir.Where(), r.To.Name)
}

// group moves a group with all below it.
func (r *renaming) group(path string) error {
	to, err := r.newPath()
	if err != nil {
		return err
	}
	if names.IsUnder(to, path) {
		return fmt.Errorf("%w: %s lies in %s", iofs.ErrInvalid, to, path)
	}
	if len(r.Transients.In(to)) > 0 {
		return zarrcore.ErrNotEmpty
	}
	return r.node(path, to, identity.Of(path, ""))
}

// node moves a node in the store and in the mount. The kernel itself moves what is renamed.
func (r *renaming) node(from, to string, renamed identity.Key) error {
	if err := r.refusedFor(from, to); err != nil {
		return err
	}
	return r.Present.Move(from, to, r.Replace, renamed)
}

// refusedFor returns why the store would not let the user move what is at from, or remove what is
// at to.
func (r *renaming) refusedFor(from, to string) error {
	if !r.Rights.Checks(r.User) {
		return nil
	}
	old, err := r.H.Node(r.Ctx, to)
	if err == nil && r.Replace {
		err := r.Rights.RefusesAll(r.Asking, r.User, r.H, old, rights.ToRemove)
		if err != nil {
			return err
		}
	}
	return r.refusesMove(from)
}

// refusesMove returns why the store would not let the user move what is at from to another folder.
func (r *renaming) refusesMove(from string) error {
	if r.From.Dir == r.To.Dir {
		return nil
	}
	moved, err := r.H.Node(r.Ctx, from)
	if err != nil {
		return err
	}
	return r.Rights.Refuses(r.User, moved, rights.ToMove)
}

// contentError says so if what is renamed cannot be the content of what it replaces. mv says of
// EINVAL that a folder would be moved into itself.
func (r *renaming) contentError(err error) error {
	if e := errno.Of(err); e == syscall.EINVAL || e == syscall.EOPNOTSUPP {
		return fmt.Errorf("%w: %s cannot become %s: %w", errno.ErrContent, r.From.Name, r.To.Name,
			err)
	}
	return err
}

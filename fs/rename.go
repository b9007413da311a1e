package fs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"strings"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/document"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/input"
	"github.com/zarrfs/zarrfs/fs/links"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

var _ = (gofuse.NodeRenamer)((*groupNode)(nil))

// Rename moves a group, an array or a link to one by any of its views, or a transient. A transient
// that is renamed onto a view becomes it.
func (g *groupNode) Rename(ctx context.Context, name string, newParent gofuse.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	if flags&^unix.RENAME_NOREPLACE != 0 {
		return g.fs.AnswerAt("rename", g.path(), name, fmt.Errorf("%w: two files cannot change places at once", iofs.ErrInvalid))
	}
	to, ok := newParent.(*groupNode)
	if !ok {
		return g.refuse("rename", name, names.OwnFolder)
	}
	from, errno := g.here()
	if errno != 0 {
		return errno
	}
	toDir, errno := to.here()
	if errno != 0 {
		return errno
	}
	if newName == names.ControlDir && to.IsRoot() || name == names.ControlDir && g.IsRoot() {
		return g.refuse("rename", name, names.OwnFolder)
	}
	g.listing.Changed()
	to.listing.Changed()
	req := g.fs.request(ctx)
	defer req.End()
	r := renaming{f: g.fs, ctx: req, by: wire.Caller(ctx), user: userOf(ctx),
		from: transient.Spot{Dir: from, Name: name}, to: transient.Spot{Dir: toDir, Name: newName},
		replace: flags&unix.RENAME_NOREPLACE == 0, dir: to}
	return g.fs.AnswerAt("rename", from, name, r.do())
}

// renaming is one rename of the mount. It goes to its end although its program is interrupted: it
// must not stop halfway. Only what changes neither file yet ends with the request.
type renaming struct {
	f        *filesystem
	ctx      context.Context // of the request
	by       program.Process
	user     rights.User
	from, to transient.Spot
	dir      *groupNode // of to
	replace  bool       // what is at to, if anything

	path   string    // of the array, or group, of which to is a view, or would be
	view   view.View // nil: to is not a view
	isView bool
}

func (r *renaming) do() error {
	r.path, r.view, r.isView = r.f.names.Path(r.to.Dir, r.to.Name)
	names := r.f.names
	err := cmp.Or(names.Misnamed(r.to.Name, r.isView), names.Divides(r.to.Dir, r.to.Name))
	if errors.Is(err, iofs.ErrInvalid) { // of EINVAL mv says that a folder moves into itself
		return fmt.Errorf("%w: %w", errno.ErrContent, err)
	} else if err != nil {
		return err
	}
	if x := r.f.transients.Find(r.from.Dir, r.from.Name); x != nil {
		return r.transient(x)
	}
	t, err := r.f.names.Resolve(r.f.ctx, r.from.Dir, r.from.Name)
	switch {
	case errors.Is(err, iofs.ErrNotExist) && r.follows():
		return nil
	case err != nil:
		return err
	case t.View != nil && view.IsDerived(t.View):
		return fmt.Errorf("%w: %s shows what other files hold: copy it, or rename %s, and it follows",
			syscall.EPERM, r.from.Name, nameOfKeeper(t))
	case r.f.names.IsAlone():
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
	path, v, ok := r.f.names.Former(r.from.Dir, r.from.Name)
	if !ok || v != r.view || !r.f.traces.Of(path).Follows(r.by, r.path, v) {
		return false
	}
	r.f.traces.Leave(path, v)
	r.f.traces.Made(r.path, v, r.by)
	ghost := identity.Of(path, ghostView+v.Name())
	r.f.ids.RemoveKey(ghost)
	go r.dir.NotifyEntry(r.to.Name) // the kernel takes the ghost for the file of that name
	return true
}

// group moves a group with all below it.
func (r *renaming) group(path string) error {
	to, err := r.dir.newPath(r.to.Name)
	if err != nil {
		return err
	}
	if names.IsUnder(to, path) {
		return fmt.Errorf("%w: %s lies in %s", iofs.ErrInvalid, to, path)
	}
	if len(r.f.transients.In(to)) > 0 {
		return zarrcore.ErrNotEmpty
	}
	return r.node(path, to, identity.Of(path, ""))
}

// array moves an array by the name of one of its views, or copies its document.
func (r *renaming) array(t resolve.Target) error {
	to := r.path
	switch {
	case !r.isView && t.View == view.Document:
		return r.copyDocument(t)
	case !r.isView:
		return fmt.Errorf("%w: %s is the file of an array, and %s would not be one: expected a name that ends in .%s", syscall.EPERM, r.from.Name, r.to.Name, t.View.Name())
	case r.describesGroup(t):
		return r.groupDocument(t)
	case t.Node.Kind != zarrcore.ArrayNode || r.to.Name == groupFile:
		return fmt.Errorf("%w: a group's document stays with its group", syscall.EPERM)
	case r.view != t.View:
		return fmt.Errorf("%w: %s cannot become %s: an array has both", syscall.EPERM, r.from.Name, r.to.Name)
	case to == t.Node.Path:
		return nil // a.npy and a%.npy
	}
	if err := r.staysThere(); err != nil {
		return err
	}
	if link := r.linkToReplace(t.Node.Path); link != nil {
		return r.f.links.InPlaceOf(link, func() error { return r.array(t) })
	}
	if old := r.describes(t); old != nil {
		return r.document(t, old)
	}
	if old := r.renews(t); old != nil {
		if err := r.refusedFor(t.Node.Path, to); err != nil {
			return err
		}
		if err := r.content(t, old); err != nil {
			return err
		}
	}
	listed, wrote := r.f.names.Listed(t.Node), r.f.traces.Of(t.Node.Path).WrittenBy(r.by)
	if err := r.node(t.Node.Path, to, t.Key()); err != nil {
		return err
	}
	r.f.Failures.Note(to, nil) // mv asks with RENAME_NOREPLACE first, and then without
	r.f.traces.Renamed(t.Node.Path, to, t.View, listed, wrote, r.by)
	r.replaceWaiting(to, t.View)
	return nil
}

// replaceWaiting ends or sets aside the files that waited for an array at path, where one is now. It
// was renamed by its view v.
func (r *renaming) replaceWaiting(path string, v view.View) {
	for _, other := range view.Keeping() {
		x := r.f.transients.Find(r.to.Dir, view.FileOf(path, other))
		switch {
		case x == nil:
		case other == v || x.IsAnnounced():
			r.f.transients.End(x)
		case !r.f.names.Lacks(r.f.ctx, path, other):
			r.f.transients.SetAside(x)
		}
	}
	go r.f.adopting.SettleAside(path)
}

// staysThere returns why a rename that must replace nothing cannot have the name of a removed view.
// The array is still there by its other views, and the rename would take it away. mv, without -n,
// renames without RENAME_NOREPLACE then.
func (r *renaming) staysThere() error {
	if r.replace || !r.f.unlinked.Has(r.path, r.view) {
		return nil
	}
	n, err := r.f.h.Node(r.f.ctx, r.path)
	if err != nil || n.Kind != zarrcore.ArrayNode {
		return nil
	}
	var left []string
	for _, v := range view.Keeping() {
		if r.f.names.Listed(n)&view.SetOf(v) != 0 && !r.f.unlinked.Has(r.path, v) {
			left = append(left, view.FileOf(r.path, v))
		}
	}
	r.f.traces.Refused(r.path, r.view, r.by)
	return fmt.Errorf("%w: only %s was removed, and the array %q is still there by %s: "+
		"remove these, or rename without RENAME_NOREPLACE (mv without -n), which replaces the array",
		iofs.ErrExist, r.to.Name, r.path, strings.Join(left, " and "))
}

// node moves a node in the store and in the mount. The kernel itself moves what is renamed.
func (r *renaming) node(from, to string, renamed identity.Key) error {
	if err := r.refusedFor(from, to); err != nil {
		return err
	}
	return r.f.present.Move(from, to, r.replace, renamed)
}

// refusedFor returns why the store would not let the user move what is at from, or remove what is
// at to.
func (r *renaming) refusedFor(from, to string) error {
	if !r.f.rights.Checks(r.user) {
		return nil
	}
	old, err := r.f.h.Node(r.f.ctx, to)
	if err == nil && r.replace {
		if err := r.f.refusesAll(r.ctx, r.user, old, rights.ToRemove); err != nil {
			return err
		}
	}
	return r.refusesMove(from)
}

// refusesMove returns why the store would not let the user move what is at from to another folder.
func (r *renaming) refusesMove(from string) error {
	if !r.f.rights.Checks(r.user) || r.from.Dir == r.to.Dir {
		return nil
	}
	moved, err := r.f.h.Node(r.f.ctx, from)
	if err != nil {
		return err
	}
	return r.f.rights.Refuses(r.user, moved, rights.ToMove)
}

// transient renames a transient: to a name that is not a view, or onto a view, which it becomes.
func (r *renaming) transient(x *transient.File) error {
	if x.Link != "" {
		return r.transientLink(x)
	}
	if x.Bytes == nil {
		return r.empty(x)
	}
	r.f.sites.Wait(r.path) // as a lookup does
	if !r.isView || r.f.names.Lacks(r.f.ctx, r.path, r.view) && !r.f.creation.Restore(r.f.ctx, r.path, r.view, r.by) {
		return r.stay(x)
	}
	path, v := r.path, r.view
	if link := r.linkToReplace(""); link != nil {
		return r.f.links.InPlaceOf(link, func() error { return r.transient(x) })
	}
	n, err := r.f.h.Node(r.f.ctx, path)
	switch {
	case err == nil && n.Kind == zarrcore.LinkNode:
		return links.ErrIsLink(n, v)
	case err == nil && view.IsComposite(v):
		return view.ErrStructure(v, "another file in the place of")
	case err == nil && r.to.Name != groupFile && n.Kind != zarrcore.ArrayNode:
		return fmt.Errorf("%w: %s is a %s", iofs.ErrExist, path, n.Kind)
	case err == nil && !r.replace && !r.f.traces.Of(path).HidesFrom(r.by, v):
		return cmp.Or(r.staysThere(), iofs.ErrExist)
	case err == nil && !r.f.traces.Of(path).HidesFrom(r.by, v):
		if err := r.f.refusesAll(r.ctx, r.user, n, rights.ToReplace); err != nil {
			return err
		}
		if err := r.f.between.Refuses(r.by, path, v); err != nil {
			return err
		}
	case err != nil && !errors.Is(err, iofs.ErrNotExist):
		return err
	}
	missing := err != nil && !r.f.creation.Restore(r.f.ctx, path, v, r.by)
	r.f.material.Outdate(path)
	if missing {
		if err := r.f.present.Vacate(r.f.ctx, path); err != nil {
			return err
		}
	}
	if missing && !v.Describes(nil) {
		return r.stay(x) // until there is an array
	}
	has := false // the array has all of it already
	if err = view.RefusesWrites(v); err == nil && !missing {
		has, err = r.f.compared.File(x.Bytes, x.Size(), path, v, r.by)
	}
	if err == nil && !has {
		err = r.become(x, path, missing)
	}
	if err != nil {
		err = r.contentError(err)
		x.Refuse(err)
		return err
	}
	r.f.transients.End(x)
	if w := r.f.writings.Find(path); w != nil {
		w.Settle() // the array has the content of another file
	}
	r.f.creation.Made(path, v, r.by)
	err = r.f.creation.TakeAttributes(path, v, x, r.by)
	r.f.kernel.Changed(path)
	r.f.adopting.EndCopies(r.f.ctx, path)
	go r.f.adopting.SettleAside(path)
	return err
}

// contentError says so if what is renamed cannot be the content of what it replaces. mv says of
// EINVAL that a folder would be moved into itself.
func (r *renaming) contentError(err error) error {
	if e := errno.Of(err); e == syscall.EINVAL || e == syscall.EOPNOTSUPP {
		return fmt.Errorf("%w: %s cannot become %s: %w", errno.ErrContent, r.from.Name, r.to.Name, err)
	}
	return err
}

// become makes a transient the file of r.view of the node at path.
func (r *renaming) become(x *transient.File, path string, missing bool) error {
	switch v := r.view.(type) {
	case view.HeaderView:
		return r.becomeArray(v, x, path, missing)
	case view.ArrayView:
		return r.f.adopting.Data(r.f.ctx, path, v, x)
	case view.TextView:
		return r.f.adopting.Elements(r.f.ctx, path, v, x)
	}
	return r.becomeDocument(x, path)
}

// stay gives a transient another name.
func (r *renaming) stay(x *transient.File) error {
	if err := cmp.Or(r.f.libraries.OfStore(r.to.Name), r.f.transients.RefusesName(r.to.Name)); err != nil && (x.Bytes != nil || x.Link != "") {
		return err
	}
	if old := r.f.transients.Find(r.to.Dir, r.to.Name); old != nil && !r.replace {
		return iofs.ErrExist
	}
	r.f.transients.Rename(x, r.to)
	return nil
}

// empty renames the file of a view that was made and not written yet.
func (r *renaming) empty(x *transient.File) error {
	from, was, _ := r.f.names.Path(r.from.Dir, r.from.Name)
	if r.view == nil || r.view != was {
		return fmt.Errorf("%w: %s is empty, and no %s yet", errno.ErrContent, r.from.Name, r.to.Name)
	}
	if _, err := r.f.h.Node(r.f.ctx, r.path); err == nil {
		return fmt.Errorf("%w: %s is empty, which is not an array", errno.ErrContent, r.from.Name)
	}
	end := r.f.sites.Lock(from)
	if r.f.transients.Find(r.from.Dir, r.from.Name) != x {
		end()
		return r.do() // it has just become an array
	}
	defer end()
	if err := r.stay(x); err != nil {
		return err
	}
	r.f.present.MoveAwaited(from, r.path, was)
	return nil
}

// copyDocument makes a transient with the text of an array's or group's document. The document
// stays: editors keep the old text this way. To a copying program it is gone: cp --backup creates
// the new one with O_EXCL.
func (r *renaming) copyDocument(t resolve.Target) error {
	if r.by.Mover {
		if err := r.f.rights.Refuses(r.user, t.Node, rights.ToReplace); err != nil {
			return err
		}
	}
	if err := r.f.transients.RefusesName(r.to.Name); err != nil {
		return err
	}
	x, err := r.f.transients.Make(r.dir.path, r.to.Name)
	if err != nil {
		return err
	}
	err = r.f.transients.Space.Take(int64(len(t.Node.Document)))
	if err == nil {
		_, err = x.Bytes.WriteAt(t.Node.Document, 0)
	}
	if err != nil {
		r.f.transients.Drop(x)
		return err
	}
	if r.by.Mover {
		r.f.traces.Hide(t.Node.Path, view.Document, r.by)
	}
	r.renewInodes(t)
	return nil
}

// renewInodes gives the file t, which stays, another inode. The kernel takes the one that it had
// for that of the new name. A request for the attributes gets the right inode.
func (r *renaming) renewInodes(t resolve.Target) {
	for _, n := range r.f.ids.Known(t.Node.Path) {
		if n.Place().Key() == t.Key() {
			r.f.ids.Renew(n)
			n.NotifyContent(-1, 0)
			go r.dir.NotifyEntry(r.to.Name)
		}
	}
}

// becomeDocument makes the bytes of a transient the document at path.
func (r *renaming) becomeDocument(x *transient.File, path string) error {
	text, err := io.ReadAll(io.NewSectionReader(x.Bytes, 0, input.MostText+1))
	if err != nil {
		return err
	}
	if len(text) > input.MostText {
		return fmt.Errorf("%s: %w", x.Path(), input.TextTooLong(x.Size()))
	}
	d := r.f.documents.Written(path, text)
	if len(text) == 0 {
		return fmt.Errorf("%w: expected a document, found an empty file", iofs.ErrInvalid)
	}
	return d.ApplyInTurn(r.f.ctx, r.by, document.Opened)
}

// becomeArray makes the .npy file that a transient holds an array, or the new content of the one at
// path.
func (r *renaming) becomeArray(
	v view.HeaderView, x *transient.File, path string, missing bool,
) error {
	header, t, err := view.ReadHeader(v, x.Path(), view.Written{ReaderAt: x.Bytes, Size: x.Size()})
	if err != nil {
		return err
	}
	if missing {
		err = r.becomeNew(x, path, header, t)
	}
	if !missing || errors.Is(err, iofs.ErrExist) {
		err = r.f.adopting.Overwrite(v, x, path, header, t)
	}
	if lines, ok := v.(view.TextView); ok && errors.Is(err, zarrcore.ErrVlen) {
		return r.f.adopting.Elements(r.f.ctx, path, lines, x)
	}
	return err
}

// becomeNew makes a new array of a .npy file that a transient holds. A lookup waits until it has its
// bytes.
func (r *renaming) becomeNew(
	x *transient.File, path string, header npy.Info, t dtype.Type,
) error {
	defer r.f.sites.Lock(path)()
	arr, err := r.f.creation.Create(r.f.ctx, path, r.by, header.Shape, t, header.Fortran)
	if err != nil {
		return errno.Refused(err)
	}
	r.f.traces.Made(path, r.view, r.by)
	r.f.compared.Made(path, r.view, r.by)
	if err = r.f.adopting.Behind(arr, x, header); err != nil {
		err = errors.Join(err, r.f.h.Remove(r.f.ctx, path))
	}
	return err
}

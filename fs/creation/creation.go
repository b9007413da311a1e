// Package creation makes the arrays of a mount that programs create by writing files: of the header
// of a .npy, or of a document. Then it settles what stood for them, or waited for them.
package creation

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/compare"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/site"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/fs/xattr"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// Arrays are those that a mount makes.
type Arrays struct{ Mount }

// Mount is the mount that makes them.
type Mount struct {
	Ctx        context.Context // ends with the mount
	H          *zarrcore.Hierarchy
	Log        *slog.Logger
	Names      *resolve.Resolver
	Sites      *site.Paths
	Traces     *alias.Traces
	Unlinked   *alias.Unlinked
	Compared   *compare.Files
	Transients *transient.Files
	Stat       *stat.Cache
	Failures   *errno.Failures

	Files waitingFiles
	// and not from a copied attribute
	IsFromDocument func(path, attr string, by program.Process) bool
	Report         func(op, path string, err error) // logs, and notes at the path
}

// waitingFiles are those that came before their arrays.
type waitingFiles interface {
	// Waiting makes those for the array at path its data.
	Waiting(ctx context.Context, path string) error
}

// New returns the arrays of a mount.
func New(of Mount) *Arrays { return &Arrays{of} }

// Programs that copy files side by side, as `xargs -P` starts them, make the views of one array at
// the same time. Each begins when there is no array. The first one with content that says what the
// array is creates it. The others then find the array, and go on as if they had come after it:
// their content is that of its views.

// ByHeader makes the array that the header of a new .npy file describes. If another view of this
// mount has made the same one since the file was opened, it is that one. The caller has locked its
// creation.
func (c *Arrays) ByHeader(
	ctx context.Context, path string, by program.Process, shape []int64, t dtype.Type, fortran bool,
) (*zarrcore.Array, error) {
	if c.Traces.Of(path).IsMade() {
		arr, err := c.H.OpenArray(ctx, path)
		switch {
		case err != nil:
		case describes(arr, shape, t, fortran):
			return arr, nil
		case isTruncated(arr, shape, t, fortran):
			arr, err = c.H.Overwrite(ctx, path, shape, t, fortran)
			return arr, errno.Refused(err)
		}
	}
	arr, err := c.Create(ctx, path, by, shape, t, fortran)
	if err == nil {
		c.Made(path, view.Headed(), by)
		c.Compared.Made(path, view.Headed(), by)
	}
	return arr, errno.Refused(err)
}

// Create creates an array. If the process by has just removed one through its only listed view, the
// new array replaces that. Attributes stay, and chunks and codecs too, as in an array that is
// overwritten.
func (c *Arrays) Create(
	ctx context.Context, path string, by program.Process, shape []int64, t dtype.Type, fortran bool,
) (*zarrcore.Array, error) {
	old := c.Traces.Of(path).Replacing(by)
	if old != nil && c.H.CreateFromDocument(ctx, path, old.Document) == nil {
		arr, err := c.H.Overwrite(ctx, path, shape, t, fortran)
		if err == nil {
			return arr, nil
		}
		if err := c.H.Remove(ctx, path); err != nil {
			return nil, err
		}
	}
	return c.H.CreateArray(ctx, path, shape, t, fortran)
}

// describes reports whether the header of an array's .npy file says this.
func describes(arr *zarrcore.Array, shape []int64, t dtype.Type, fortran bool) bool {
	m := arr.Live().Meta()
	return m.Type.CanBeSavedAs(t) && slices.Equal(m.Shape, shape) && m.HasOrder(fortran)
}

// isTruncated reports whether the header describes an array that has only lost rows. A program that
// copies the array's .raw has truncated this file, and writes it now.
func isTruncated(arr *zarrcore.Array, shape []int64, t dtype.Type, fortran bool) bool {
	has := arr.Live().Meta().Shape
	return len(has) > 0 && len(has) == len(shape) && has[0] < shape[0] &&
		describes(arr, slices.Concat(has[:1], shape[1:]), t, fortran)
}

// Restore recreates the array that the caller has just removed through its only listed view. It
// does so if the caller now writes bytes that do not describe an array. A .npy describes an array,
// unless the elements have no fixed size. It reports whether it has recreated the array.
func (c *Arrays) Restore(ctx context.Context, path string, v view.View, by program.Process) bool {
	old := c.Traces.Of(path).Replacing(by)
	if old == nil || v.IsDescription(old.Meta) {
		return false
	}
	return c.H.CreateFromDocument(ctx, path, old.Document) == nil
}

// lacks reports whether no array at path has a file of view v, as far as the store says.
func (c *Arrays) lacks(ctx context.Context, path string, v view.View) bool {
	lacks, err := c.Names.Lacks(ctx, path, v)
	return err != nil || lacks
}

// Made notes that the array of a view is there now: made by that view, by that process.
func (c *Arrays) Made(path string, v view.View, by program.Process) {
	dir, name := names.Split(path)
	for _, other := range view.Keeping() {
		x := c.Transients.Find(dir, names.File(names.Show(name), other.Name()))
		switch {
		case x == nil || c.lacks(c.Ctx, path, other):
		case x.IsAnnounced():
			c.Transients.Drop(x)
			// The array is there in any case.
			c.Report("setxattr", path, c.TakeAttributes(path, other, x, by))
		case x.IsLate(): // it becomes the array's when it has been written
		case other == v: // the program has replaced it
			c.Transients.End(x)
		default:
			c.Transients.SetAside(x)
		}
	}
	c.Stat.ForgetAll(path)
	c.Failures.Note(path, nil)
	c.Unlinked.Restore(path, v)
	c.Traces.NoteMade(path, v, by)
}

// ByDocument creates the array that a document describes. If its bytes came before, as NAME.raw,
// they become its data. Those that come later will too.
func (c *Arrays) ByDocument(
	ctx context.Context, path string, doc []byte, by program.Process,
) error {
	if err := c.H.CreateFromDocument(ctx, path, doc); err != nil {
		return errno.Refused(err)
	}
	if err := c.Files.Waiting(ctx, path); err != nil {
		return errors.Join(err, c.H.Remove(ctx, path))
	}
	c.Made(path, view.Document, by)
	c.Compared.Made(path, view.Document, by)
	return nil
}

// HasCome reports whether the store has the array for which a transient stands, by now. Then it
// takes the transient off the list.
func (c *Arrays) HasCome(ctx context.Context, x *transient.File) bool {
	at := x.At()
	path, v, ok := c.Names.Path(at.Dir, at.Name)
	if !ok || x.Link != "" {
		return false
	}
	req := wire.NewRequest(c.Ctx, ctx)
	defer req.End()
	isThere := func() bool {
		n, err := c.H.Node(req, path)
		return err == nil && n.Kind == zarrcore.ArrayNode && !c.lacks(req, path, v)
	}
	if !isThere() {
		return false
	}
	defer c.Sites.Lock(path)()
	if !isThere() { // this mount has tried to make it
		return false
	}
	if c.Transients.Drop(x) {
		c.Stat.ForgetAll(path)
		c.leaveAttributes(x)
	}
	return true
}

// leaveAttributes says so if attributes were copied to a transient whose array another program has
// made. That array keeps its own.
func (c *Arrays) leaveAttributes(x *transient.File) {
	if left := len(x.Copied.Take()); left > 0 {
		c.Log.Warn("another program has made the array of a file to which attributes were copied; "+
			"it did not get them", "file", x.Path(), "attributes", left)
	}
}

// TakeAttributes gives the array at path the attributes that were copied to the transient x. The
// transient has become the array's view v. A document has its own attributes.
func (c *Arrays) TakeAttributes(
	path string, v view.View, x *transient.File, by program.Process,
) error {
	values := x.Copied.Take()
	if v == view.Document || len(values) == 0 {
		return nil
	}
	n, err := c.H.Node(c.Ctx, path)
	if err != nil {
		return err
	}
	defer c.Stat.Forget(path)
	for attr, value := range values {
		if c.IsFromDocument(path, attr, by) {
			continue
		}
		if failed := xattr.Set(c.Ctx, c.H, n, attr, value); failed != nil {
			err = errors.Join(err, errno.Refused(failed))
		}
	}
	return err
}

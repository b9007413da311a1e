package fs

import (
	"cmp"
	"context"
	"errors"
	iofs "io/fs"
	"slices"
	"time"

	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// A program that replaces a file by a new one may write tmp.npy and rename it to a.npy. The mount
// has made an array of tmp.npy, which has nothing but its content: no attributes, no names of
// dimensions, and the chunks of any new array. So its content alone replaces that of a, as if
// tmp.npy had been copied over a.npy.

// renews returns the array whose content the rename replaces, if all of the array t is a .npy file
// that was written through this mount. Otherwise it returns nil.
func (r *renaming) renews(t target) (old *zarrcore.Node) {
	m := t.node.Meta
	if !r.replace || !view.IsHeaded(t.view) || m == nil {
		return nil
	}
	if m.DimensionNames != nil || t.node.Attributes.Len() > 0 {
		return nil
	}
	if !r.f.traces.Of(t.node.Path).MadeOnlyBy(t.view) {
		return nil
	}
	old, err := r.f.h.Node(r.f.ctx, r.path)
	if err != nil || old.Kind != zarrcore.ArrayNode || old.Meta == nil {
		return nil
	}
	return old
}

// content makes the content of the array t that of the array old, and removes t. It reports whether
// it has. A program that has a file of t open must be able to go on with it. Then t is to take the
// place of old as a whole, and gets the attributes and names of dimensions of old.
func (r *renaming) content(t target, old *zarrcore.Node) (done bool, err error) {
	if err := cmp.Or(r.f.refuses(r.user, old, toReplace), r.refusesMove(t.node.Path)); err != nil {
		return false, err
	}
	from, listed := t.node.Path, r.f.listedOf(t.node)
	if r.f.staysInUse(from) {
		return false, r.f.describeAs(r.f.ctx, t.node, old)
	}
	if err := r.f.copyContent(r.f.ctx, from, r.path); err != nil {
		return false, r.contentError(err)
	}
	if r.f.inUse(from) { // since it was copied
		return false, r.f.describeAs(r.f.ctx, t.node, old)
	}
	if err := r.f.h.Remove(r.f.ctx, from); err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return false, err
	}
	r.f.gone(from)
	r.f.born(r.path, t.view, r.by)
	r.f.traces.Renamed(from, r.path, t.view, listed, r.by)
	r.f.changedAt(r.path)
	go r.dir.NotifyEntry(r.to.name) // the kernel takes the removed file for the file of that name
	return true, nil
}

// copyContent makes the content of the array at from that of the array at to, and stores it.
func (f *filesystem) copyContent(ctx context.Context, from, to string) error {
	src, err := f.h.OpenArray(ctx, from)
	if err != nil {
		return err
	}
	defer f.creations.Lock(to)()
	src = src.Live()
	m := src.Meta()
	f.material.written(to)
	arr, err := f.h.Overwrite(ctx, to, m.Shape, m.Type, m.FortranOrder())
	if errors.Is(err, zarrcore.ErrVlen) {
		return f.copyStrings(ctx, to, src)
	}
	if err != nil {
		return refused(err)
	}
	return copyBytes(ctx, arr, src)
}

// describeAs gives the array n the attributes of the array old, and its names of dimensions if both
// have as many.
func (f *filesystem) describeAs(ctx context.Context, n, old *zarrcore.Node) error {
	shown, err := pyjson.Parse(old.Document)
	if err != nil {
		return err
	}
	doc := pyjson.Empty
	members := []string{"attributes", "dimension_names"}
	if len(n.Meta.Shape) != len(old.Meta.Shape) {
		members = members[:1]
	}
	for _, member := range members {
		if value := shown.Get(member); value.Exists() {
			doc = doc.With(member, value)
		}
	}
	defer f.recent.forget(n.Path)
	return f.h.SetDocument(ctx, n.Path, doc.Raw())
}

// inUse reports whether a program has a file of the array at path open or mapped.
func (f *filesystem) inUse(path string) bool {
	isOpen := func(n *fileNode) bool { return n.place.open.Load() > 0 }
	return slices.ContainsFunc(f.files(path), isOpen)
}

const (
	releaseWait  = 100 * time.Millisecond // for the RELEASE of a closed file, which comes late
	releaseGrain = time.Millisecond       // between two looks
)

// staysInUse is inUse after the files that were just closed have been released.
func (f *filesystem) staysInUse(path string) bool {
	for end := time.Now().Add(releaseWait); f.inUse(path); time.Sleep(releaseGrain) {
		if time.Now().After(end) {
			return true
		}
	}
	return false
}

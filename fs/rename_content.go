package fs

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// A program that replaces a file by a new one may write tmp.npy and rename it to a.npy. The mount
// has made an array of tmp.npy, which has nothing but its content: no attributes, no names of
// dimensions, and the chunks of any new array. So its content alone replaces that of a, as if
// tmp.npy had been copied over a.npy. But it is not copied over a: if that failed halfway, both
// the old content and the new one would be lost. First tmp becomes what a is to be, and then it is
// renamed.

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
	if err != nil || old.Kind != zarrcore.ArrayNode || old.Meta == nil || old.Format != t.node.Format {
		return nil
	}
	return old
}

// content readies the array t to take the place of the array old with nothing but its content. It
// gets the attributes, names of dimensions, chunks and codecs of old, and its bytes are made
// durable. A program that has a file of t open must be able to go on with it. Then t keeps its
// chunks and codecs. The rename itself is left to do, and until then nothing of old has changed.
func (r *renaming) content(t target, old *zarrcore.Node) error {
	m, at := t.node.Meta, t.node.Path
	next, err := r.f.h.Successor(r.f.ctx, old.Path, m.Shape, m.Type, m.FortranOrder())
	if err != nil {
		return r.contentError(refused(err))
	}
	if !next.SameLayout(m) && !r.f.staysInUse(at) {
		remade, err := r.f.remakeUnused(r.ctx, at, next.Document)
		if remade || err != nil {
			return r.contentError(err)
		}
	}
	if err := r.f.makeDurable(r.ctx, at); err != nil {
		return err
	}
	return r.f.describeAs(r.f.ctx, t.node, old)
}

// remakeUnused is remake for an array that no program has open. It reports whether that is so at
// the end too. Otherwise nothing has changed.
func (f *filesystem) remakeUnused(
	ctx context.Context, path string, doc []byte) (remade bool, err error) {
	beside, err := f.rebuild(ctx, path, doc)
	if err != nil {
		return false, err
	}
	defer f.creations.Lock(path)()
	if f.inUse(path) {
		return false, f.h.Remove(f.ctx, beside)
	}
	return true, f.supplant(path, beside)
}

// makeDurable stores what was written to the array at path, so that it survives a power cut. A row
// that a program is still writing is left to that program.
func (f *filesystem) makeDurable(ctx context.Context, path string) error {
	arr, err := f.h.OpenArray(ctx, path)
	if err != nil {
		return err
	}
	err = arr.Save(ctx, true)
	if errors.Is(err, zarrcore.ErrFraction) && !arr.WaitsForRow() {
		return nil
	}
	return err
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

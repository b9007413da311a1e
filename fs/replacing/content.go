package replacing

import (
	"context"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/remake"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/writing"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// A program that replaces a file by a new one may write tmp.npy and rename it to a.npy. The mount
// has made an array of tmp.npy, which has nothing but its content: no attributes, no names of
// dimensions, and the chunks of any new array. So its content alone replaces that of a, as if
// tmp.npy had been copied over a.npy. But it is not copied over a: if that failed halfway, both
// the old content and the new one would be lost. First tmp becomes what a is to be, and then it is
// renamed.

// ByContent returns the array at path if its content is replaced by a rename of the array t there.
// That is so if all of t is a .npy file that was written through this mount. Views beside it may
// have been written too, but no document. Otherwise it returns nil.
func (a *Arrays) ByContent(t resolve.Target, path string) (old *zarrcore.Node) {
	m := t.Node.Meta
	if !view.IsHeaded(t.View) || m == nil || remake.IsDescribed(t.Node) {
		return nil
	}
	if !a.Traces.Of(t.Node.Path).IsMadeUndescribed(t.View) {
		return nil
	}
	old, err := a.H.Node(a.Ctx, path)
	if err != nil || old.Kind != zarrcore.ArrayNode || old.Meta == nil ||
		old.Format != t.Node.Format {
		return nil
	}
	return old
}

// Content readies the array t to take the place of the array old with nothing but its content. It
// gets the attributes, names of dimensions, chunks and codecs of old, and its bytes are made
// durable. A program that has a file of t open must be able to go on with it. Then t keeps its
// chunks and codecs. The rename itself is left to do, and until then nothing of old has changed.
func (a *Arrays) Content(ctx context.Context, t resolve.Target, old *zarrcore.Node) error {
	m, at := t.Node.Meta, t.Node.Path
	next, err := a.H.Successor(a.Ctx, old.Path, m.Shape, m.Type, m.IsInFortranOrder())
	if err != nil {
		return errno.Refused(err)
	}
	if !next.SameLayout(m) && !a.Nodes.StaysOpen(at) {
		doc := remake.WithAttributes(next.Document, old)
		if remade, err := a.remakeUnused(ctx, at, doc, old.Path); remade || err != nil {
			return err
		}
	}
	if err := writing.Store(ctx, a.H, at, true); err != nil {
		return err
	}
	// Both may have other attributes by now. Those that a program has given to t count.
	now, err := a.H.Node(a.Ctx, at)
	if err != nil || remake.IsDescribed(now) {
		return err
	}
	if old, err = a.H.Node(a.Ctx, old.Path); err != nil {
		return err
	}
	defer a.Stat.Forget(now.Path)
	return remake.Describe(a.Ctx, a.H, now, old)
}

// remakeUnused is remake.Arrays.Replace for the array at path, if no program has that open. It does
// nothing either if the array changes that it is to replace.
func (a *Arrays) remakeUnused(
	ctx context.Context, path string, doc []byte, onto string,
) (remade bool, err error) {
	replaced := a.H.Fingerprint(ctx, onto)
	isFree := func() bool {
		return !a.Nodes.IsOpen(path) && a.H.Fingerprint(ctx, onto) == replaced
	}
	return a.Remade.Replace(ctx, path, doc, isFree)
}

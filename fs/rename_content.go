package fs

import (
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

// renews returns the array whose content the rename replaces, if all of the array t is a .npy file
// that was written through this mount. Views beside it may have been written too, but no document.
// Otherwise it returns nil.
func (r *renaming) renews(t resolve.Target) (old *zarrcore.Node) {
	m := t.Node.Meta
	if !r.replace || !view.IsHeaded(t.View) || m == nil {
		return nil
	}
	if remake.IsDescribed(t.Node) {
		return nil
	}
	if !r.f.traces.Of(t.Node.Path).MadeUndescribed(t.View) {
		return nil
	}
	old, err := r.f.h.Node(r.f.ctx, r.path)
	if err != nil || old.Kind != zarrcore.ArrayNode || old.Meta == nil || old.Format != t.Node.Format {
		return nil
	}
	return old
}

// content readies the array t to take the place of the array old with nothing but its content. It
// gets the attributes, names of dimensions, chunks and codecs of old, and its bytes are made
// durable. A program that has a file of t open must be able to go on with it. Then t keeps its
// chunks and codecs. The rename itself is left to do, and until then nothing of old has changed.
func (r *renaming) content(t resolve.Target, old *zarrcore.Node) error {
	m, at := t.Node.Meta, t.Node.Path
	next, err := r.f.h.Successor(r.f.ctx, old.Path, m.Shape, m.Type, m.FortranOrder())
	if err != nil {
		return r.contentError(errno.Refused(err))
	}
	if !next.SameLayout(m) && !r.f.ids.StaysOpen(at) {
		remade, err := r.remakeUnused(at, remake.WithAttributes(next.Document, old))
		if remade || err != nil {
			return r.contentError(err)
		}
	}
	if err := writing.Store(r.ctx, r.f.h, at, true); err != nil {
		return err
	}
	// Both may have other attributes by now. Those that a program has given to t count.
	now, err := r.f.h.Node(r.f.ctx, at)
	if err != nil || remake.IsDescribed(now) {
		return err
	}
	if old, err = r.f.h.Node(r.f.ctx, old.Path); err != nil {
		return err
	}
	defer r.f.stat.Forget(now.Path)
	return remake.Describe(r.f.ctx, r.f.h, now, old)
}

// remakeUnused is remake.Arrays.Replace for an array that no program has open. It does nothing either
// if the array changes that it is to replace.
func (r *renaming) remakeUnused(path string, doc []byte) (remade bool, err error) {
	replaced := r.f.h.Fingerprint(r.ctx, r.path)
	isFree := func() bool {
		return !r.f.ids.IsOpen(path) && r.f.h.Fingerprint(r.ctx, r.path) == replaced
	}
	return r.f.remade.Replace(r.ctx, path, doc, isFree)
}

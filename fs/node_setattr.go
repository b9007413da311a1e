package fs

import (
	"context"
	"errors"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/fs/writing"
	"github.com/zarrfs/zarrfs/zarrcore"
)

var (
	_ = (gofuse.NodeSetattrer)((*fileNode)(nil))
	_ = (gofuse.NodeSetattrer)((*groupNode)(nil))
	_ = (gofuse.NodeFsyncer)((*groupNode)(nil))
)

// Setattr changes the size. Modes, owners and times are those of the mount and the store: setting
// them succeeds, as programs that copy files expect, and has no effect.
func (n *fileNode) Setattr(
	ctx context.Context, fh gofuse.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut,
) syscall.Errno {
	size, sized := in.GetSize()
	if fh == nil {
		staleness := n.stalenessUnlessOpen
		if sized {
			staleness = n.stalenessToChange
		}
		if errno := staleness(ctx); errno != 0 {
			return errno
		}
	}
	out.Ino = n.Number()
	n.sayModesStay(in)
	if sized {
		defer n.use().sizing.Begin(wire.Thread(ctx))()
		err := n.fs.copiedOntoItself(ctx, n.path(), n.view)
		if err == nil {
			err = n.fs.between.Refuses(wire.Caller(ctx), n.path(), n.view)
		}
		if err == nil {
			err = resizing{n, ctx}.setSize(fh, int64(size))
		}
		if errno := n.fs.AnswerChange("truncate", n.path(), err); errno != 0 {
			return errno
		}
	}
	errno := n.attr(ctx, out)
	if sized || n.IsWritten() {
		out.SetTimeout(0) // the time is a later one once what was written is stored
	}
	return errno
}

// Setattr of a directory has no effect.
func (g *groupNode) Setattr(
	ctx context.Context, fh gofuse.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut,
) syscall.Errno {
	out.Ino = g.Number()
	g.sayModesStay(in)
	return g.Getattr(ctx, fh, out)
}

// sayModesStay says in the log, the first time only, that setting a mode or an owner has no effect.
func (b *base) sayModesStay(in *fuse.SetAttrIn) {
	_, mode := in.GetMode()
	_, uid := in.GetUID()
	_, gid := in.GetGID()
	if mode || uid || gid {
		b.fs.rights.SayModesStay(b.fs.log)
	}
}

// Fsync stores all that was written anywhere in the mount.
func (g *groupNode) Fsync(context.Context, gofuse.FileHandle, uint32) syscall.Errno {
	return g.fs.Answer("fsync", g.path(), g.fs.flush(g.fs.ctx, true))
}

// setSize truncates or extends the file. With O_TRUNC there is a writable handle already, though
// the request does not name it. Without a handle, as by truncate(2), the new size is stored at
// once.
func (n resizing) setSize(fh gofuse.FileHandle, size int64) error {
	if err := view.RefusesWrites(n.view); err != nil {
		return err
	}
	if size == 0 {
		if err := writing.RefusesSaving(n.view, wire.Caller(n.ctx)); err != nil {
			return err
		}
	}
	if v, ok := n.view.(view.CompositeView); ok {
		return n.setCompositeSize(v, size)
	}
	v, ok := n.view.(view.ArrayView)
	_, isText := n.view.(view.TextView)
	if h, ok := fh.(interface{ Truncated(int64) }); ok {
		h.Truncated(size)
	}
	if _, whole := fh.(*wholeHandle); whole || isText && !ok ||
		n.fs.wholes.FindAt(n.path, n.view) != nil {
		return n.setWholeSize(size)
	}
	if !ok {
		return n.setDocumentSize(size)
	}
	ctx := n.fs.ctx
	if h, ok := fh.(*writer); ok {
		return h.Of.CopyResize(n.ctx, n.fileNode, v, size)
	}
	if n.IsWritten() {
		if w := n.fs.writings.Join(n.path, v); w != nil {
			defer w.Close(v)
			return n.setWrittenSize(w, v, size)
		}
	}
	if view.IsHeaded(v) && size == 0 {
		return view.ErrEmpty(v)
	}
	w, c, err := opening(n).writeWhereItIs(v)
	if isText && errors.Is(err, zarrcore.ErrVlen) {
		return n.setWholeSize(size)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	defer n.use().writers.Add(-1)
	defer w.Close(v)
	if err = w.Resize(ctx, n.fileNode, v, size); err == nil {
		err = w.Flush(ctx, v, nil, false)
	}
	return err
}

// setWrittenSize is setSize for a file that programs have open for writing. They store the size,
// unless all of them have closed the file meanwhile.
func (n resizing) setWrittenSize(w *writing.Array, v view.ArrayView, size int64) error {
	if w.Live() != nil {
		if err := n.fs.rights.RefusesReplacing(n.ctx, n.fs.h, n.path()); err != nil {
			return err
		}
	}
	if err := w.CopyResize(n.ctx, n.fileNode, v, size); err != nil || w.Writers() > 1 {
		return err
	}
	return w.Flush(n.fs.ctx, v, nil, false)
}

// flush stores all that was written to any array.
func (f *filesystem) flush(ctx context.Context, durable bool) error {
	err := errors.Join(f.h.Flush(ctx, durable), f.wholes.Store())
	for _, w := range f.writings.All() {
		f.stat.ForgetAll(w.Path())
		f.writings.Find(w.Path())
	}
	return err
}

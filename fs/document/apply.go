package document

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"syscall"
	"time"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/input"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// Apply makes the array or group what the text says. A text that equals the stored one changes
// nothing. from is what there was when the document was opened.
func (d *File) Apply(ctx context.Context, by program.Process, from Origin) error {
	return d.Text.Apply(func(text []byte) (version string, err error) {
		path, err := d.applyWhereItIs(ctx, text, by, from)
		d.waiting = errors.Is(err, ErrWriters)
		d.of.Taken(path, by, err)
		if err != nil {
			return "", err
		}
		version = d.noteStored(ctx, path)
		d.of.Traces.Described(path)
		d.of.Reads.Note(path, by, text)
		d.of.Copied.Note(path, by)
		d.of.Transients.ForgetText(Spot(path))
		return version, nil
	})
}

const (
	// writersWait is how long a document waits to recreate an array while programs write to the
	// array through other views.
	writersWait = 30 * time.Second
	writersPoll = 5 * time.Millisecond
)

// ErrWriters says that an array cannot be recreated, because what is being written to it would be
// lost.
var ErrWriters = fmt.Errorf("%w: another view of the array is being written", syscall.EBUSY)

// ApplyInTurn is Apply. But if the array must be recreated, ApplyInTurn waits for the programs that
// write to the array.
func (d *File) ApplyInTurn(ctx context.Context, by program.Process, from Origin) error {
	for end := time.Now().Add(writersWait); ; time.Sleep(writersPoll) {
		err := d.Apply(ctx, by, from)
		if !errors.Is(err, ErrWriters) || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
	}
}

// applyWhereItIs applies the text to what is at the document's path, also if that is just being
// renamed.
func (d *File) applyWhereItIs(
	ctx context.Context, text []byte, by program.Process, from Origin,
) (path string, err error) {
	isThere := func() bool { return d.existed.Load() && !d.gone.Load() }
	apply := func() (string, error) { return d.applyHere(ctx, text, by, from) }
	return d.of.Sites.WhereItIs(d.Path, isThere, apply)
}

func (d *File) applyHere(
	ctx context.Context, text []byte, by program.Process, from Origin,
) (path string, err error) {
	path, end := d.of.Sites.LockAt(d.Path)
	isOther, err := d.store(ctx, path, text, by, from)
	end()
	if isOther {
		err = d.remake(ctx, path, text, err)
	}
	d.of.Stat.Forget(path)
	return path, err
}

// remake recreates the array at path as the text says. Nothing is locked while its bytes are
// copied. If programs write to it, or replace or rename it, that is ErrWriters. If it cannot be
// recreated, that is refusal.
func (d *File) remake(
	ctx context.Context, path string, text []byte, refusal error,
) error {
	isFree := func() bool {
		w := d.of.Writings.Find(path)
		return (w == nil || w.Writers() == 0) && d.of.Sites.Check(path, &d.home) == nil
	}
	if !isFree() {
		return ErrWriters
	}
	remade, err := d.of.Remade.Replace(ctx, path, text, isFree)
	switch {
	case remade:
		return nil
	case err == nil, errors.Is(err, iofs.ErrNotExist):
		return ErrWriters
	}
	return refusal
}

// store stores what the text says. isOther reports whether the text describes another array, and
// the present array can be recreated as that one.
func (d *File) store(
	ctx context.Context, path string, written []byte, by program.Process, from Origin,
) (isOther bool, err error) {
	if d.gone.Load() {
		return false, fmt.Errorf("%w: %q was removed after its document was opened, "+
			"and nothing is changed", syscall.ESTALE, path)
	}
	n, err := d.of.H.Node(ctx, path)
	if err == nil {
		err = d.of.Sites.Check(path, &d.home)
	}
	switch {
	case errors.Is(err, iofs.ErrNotExist) && !d.existed.Load():
		if err := describesArray(path, written); err != nil {
			return false, err
		}
		return false, d.of.Arrays.ByDocument(ctx, path, written, by)
	case err != nil:
		return false, err
	case bytes.Equal(trimEnd(n.Document), trimEnd(written)) && !d.isUnsaved():
		return false, nil
	}
	text, err := d.withoutOldShape(n, written, by)
	if err != nil {
		return false, err
	}
	d.of.Kernel.DropArray(path) // where a dirty page belongs depends on the shape
	d.of.Material.Outdate(path)
	err = d.of.H.SetDocument(ctx, path, text)
	d.of.Material.Rewrite(path)
	if err == nil {
		d.of.Kernel.Resized(path, nil)
		d.of.Kernel.DropArray(path)
	}
	trace, fixed := d.of.Traces.Of(path), errors.Is(err, meta.ErrInvalid)
	late := d.waiting || trace.IsUnfinished(by) || from == Missing && trace.IsMade()
	return late && (fixed || isForeign(n, written)) || from == Removed && fixed, errno.Refused(err)
}

// describesArray refuses a document that is not one of an array, for a file of that array's name. A
// group made of it would not have that file.
func describesArray(path string, doc []byte) error {
	if !meta.DescribesGroup(doc) {
		return nil
	}
	_, name := names.Split(path)
	return fmt.Errorf("%w: expected the document of an array, found one without a shape, as "+
		"groups have; mkdir %[2]s makes a group, and %[2]s/%[3]s is its document",
		iofs.ErrInvalid, names.Show(name), resolve.GroupFile)
}

// trimEnd removes the newline at the end of a document, which programs may write or leave out.
func trimEnd(text []byte) []byte { return bytes.TrimSuffix(text, []byte("\n")) }

// isForeign reports whether a document describes an array of another format than that of the array
// n. Such a document changes nothing of n but the attributes.
func isForeign(n *zarrcore.Node, text []byte) bool {
	if n.Kind != zarrcore.ArrayNode {
		return false
	}
	f, err := meta.ParseForeign(text, n.Format)
	return err == nil && f != nil
}

// withoutOldShape returns the text of a document without its shape, if that is not meant to resize
// the array n. A text that changes nothing but the shape may have been meant to resize it. It is
// refused, so that the program learns that the array keeps its shape.
func (d *File) withoutOldShape(
	n *zarrcore.Node, written []byte, by program.Process,
) ([]byte, error) {
	shape := input.ShapeIn(written)
	if n.Kind != zarrcore.ArrayNode || n.Meta == nil || shape == "" || isForeign(n, written) {
		return written, nil
	}
	shown := fmt.Sprint(n.Meta.Shape)
	current, writers := shown, 0
	if w := d.of.Writings.Find(n.Path); w != nil && w.Live() != nil {
		current = fmt.Sprint(w.Live().Meta().Shape) // rows may not be stored yet
		writers = w.Writers()
	}
	isOld := shape == shown || d.of.Reads.IsOld(n.Path, by, shape, current)
	if shape == current || !isOld {
		return written, nil
	}
	text, err := pyjson.Remove(written, "shape")
	if err != nil {
		return written, nil
	}
	// Programs that are writing the array may be about to give it this shape.
	if shape != shown && writers == 0 && input.IsWithoutShape(n.Document, text) {
		return nil, fmt.Errorf("%w: the document of %q changes only the shape, to %s, which the "+
			"array had before. The array keeps its present shape, %s. To resize it, read the "+
			"document again, and then write yours", iofs.ErrInvalid, n.Path, shape, current)
	}
	d.of.Log.Warn("a document had the shape that the array had before; the array keeps its shape",
		"path", n.Path, "document", shape, "array", current)
	return text, nil
}

// isUnsaved reports whether the array's length may be another than its document says.
func (d *File) isUnsaved() bool {
	w := d.of.Writings.FindAt(d.Path)
	if w == nil {
		return false
	}
	arr := w.Live()
	return arr != nil && arr.IsUnsaved()
}

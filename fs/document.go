package fs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/creation"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/input"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/site"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// document is a .json file, or a group's zarr.json, while programs write it: its whole text. A
// flush applies it to the existing array or group, or creates one.
type document struct {
	fs    *filesystem
	where atomic.Pointer[string] // the path of the array or group
	opens int                    // guarded by the lock of the states
	home  site.Home
	gone  atomic.Bool // the array or group was removed

	existed atomic.Bool // the array or group was there, and is not only about to be created

	text    *input.Text
	waiting bool // see apply; guarded by the lock of the text
}

func newDocument(f *filesystem, path string, text []byte) *document {
	d := &document{fs: f}
	d.where.Store(&path)
	d.text = input.NewText(text, d.judge)
	return d
}

// newWritten returns a document that a program has written as a whole.
func newWritten(f *filesystem, path string, text []byte) *document {
	d := newDocument(f, path, text)
	d.text.SetWritten()
	return d
}

// judge returns why no text that begins so can become the document.
func (d *document) judge(beginning []byte) error {
	whole, err := meta.CheckBeginning(beginning)
	if err == nil && whole != nil && !d.existed.Load() {
		err = creation.DescribesArray(d.path(), whole)
	}
	return errno.Refused(err)
}

// path returns the path of the array or group.
func (d *document) path() string { return *d.where.Load() }

// documents are those of a mount that are open for writing.
type documents struct{ fs *filesystem }

func (t *documents) find(path string) *document {
	return t.findAt(func() string { return path })
}

// findAt is find for the path that where returns, also if a rename comes just then.
func (t *documents) findAt(where func() string) (d *document) {
	t.fs.states.Seek(where, func(s *state) { d = s.documentOpen() })
	return d
}

// open counts a writable handle of the document at the path that where returns. The first begins
// with the document of n, and isFirst is set. A text of an array or group that another program has
// recreated since ends.
func (t *documents) open(where func() string, n *zarrcore.Node) (d *document, isFirst bool) {
	identity := t.fs.wholes.IdentityFor(where)
	t.fs.states.Follow(where, func(s *state) {
		s.texts.LeaveOthers(identity)
		if d = s.documentOpen(); d == nil {
			isFirst = true
			d = newDocument(t.fs, where(), slices.Clone(n.Document))
			d.text.Begin(n.Version)
			d.home.Note(identity)
			s.texts.Document.It = d
		}
		d.opens++
	})
	return d, isFirst
}

// close ends a handle, and reports whether it was the last. A text that could not be applied ends
// with the last.
func (t *documents) close(d *document) (last bool) {
	t.fs.states.Follow(d.path, func(s *state) {
		d.opens--
		last = d.opens == 0
		if last && s.documentOpen() == d {
			s.texts.Document.It = nil
		}
	})
	return last
}

// Moved notes that the array or group has another path.
func (d *document) Moved(to string) { d.where.Store(&to) }

// Ended notes that the array or group is not there any more. A later array or group of that name
// has a document of its own.
func (d *document) Ended() { d.gone.Store(true) }

// Home implements openText.
func (d *document) Home() *site.Home { return &d.home }

// refresh makes the text that of the stored document, unless a program has changed the text.
func (d *document) refresh(ctx context.Context) {
	d.text.Refresh(func() (text []byte, version string, err error) {
		n, err := d.fs.h.Node(ctx, d.path())
		if err != nil {
			return nil, "", err
		}
		return n.Document, n.Version, nil
	})
}

// noteStored notes that the text was applied, and returns the version of what is stored then.
func (d *document) noteStored(ctx context.Context, path string) (version string) {
	if n, err := d.fs.h.Node(ctx, path); err == nil {
		version = n.Version
	}
	if !d.existed.Swap(true) {
		d.home.Note(d.fs.sites.Identity(path))
	}
	return version
}

// isEmptied reports whether the text of a document that was there is empty now, and whether a
// program has truncated it.
func (d *document) isEmptied() (emptied, cut bool) {
	if !d.existed.Load() {
		return false, false
	}
	return d.text.IsEmptied()
}

// apply makes the array or group what the text says. A text that equals the stored one changes
// nothing. from is what there was when the document was opened.
func (d *document) apply(ctx context.Context, by program.Process, from origin) error {
	return d.text.Apply(func(text []byte) (version string, err error) {
		path, err := d.applyWhereItIs(ctx, text, by, from)
		d.waiting = errors.Is(err, errWriters)
		d.fs.failures.Note(d.fs.libraries.RefusedAt(path, by, err), err)
		if err != nil {
			return "", err
		}
		version = d.noteStored(ctx, path)
		d.fs.traces.Described(path)
		d.fs.reads.Note(path, by, text)
		d.fs.copied.Note(path, by)
		d.fs.transients.ForgetText(spotOfDocument(path))
		return version, nil
	})
}

const (
	// writersWait is how long a document that recreates an array waits for programs that write to
	// it through other views.
	writersWait = 30 * time.Second
	writersPoll = 5 * time.Millisecond
)

// errWriters says that an array cannot be recreated, because what is being written to it would be
// lost.
var errWriters = fmt.Errorf("%w: another view of the array is being written", syscall.EBUSY)

// applyInTurn is apply, but waits for the programs that write to the array where it must be
// recreated.
func (d *document) applyInTurn(ctx context.Context, by program.Process, from origin) error {
	for end := time.Now().Add(writersWait); ; time.Sleep(writersPoll) {
		err := d.apply(ctx, by, from)
		if !errors.Is(err, errWriters) || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
	}
}

// applyWhereItIs applies the text to what is at the document's path, also if that is just being
// renamed.
func (d *document) applyWhereItIs(
	ctx context.Context, text []byte, by program.Process, from origin,
) (path string, err error) {
	isThere := func() bool { return d.existed.Load() && !d.gone.Load() }
	apply := func() (string, error) { return d.applyHere(ctx, text, by, from) }
	return d.fs.sites.WhereItIs(d.path, isThere, apply)
}

func (d *document) applyHere(
	ctx context.Context, text []byte, by program.Process, from origin,
) (path string, err error) {
	path, end := d.fs.sites.LockAt(d.path)
	isOther, err := d.store(ctx, path, text, by, from)
	end()
	if isOther {
		err = d.remake(ctx, path, text, err)
	}
	d.fs.stat.Forget(path)
	return path, err
}

// remake recreates the array at path as the text says. Nothing is locked while its bytes are copied.
// If programs write to it, or replace or rename it, that is errWriters. If it cannot be recreated,
// that is refusal.
func (d *document) remake(
	ctx context.Context, path string, text []byte, refusal error,
) error {
	isFree := func() bool {
		w := d.fs.writings.Find(path)
		return (w == nil || w.Writers() == 0) && d.fs.sites.Check(path, &d.home) == nil
	}
	if !isFree() {
		return errWriters
	}
	remade, err := d.fs.remade.Replace(ctx, path, text, isFree)
	switch {
	case remade:
		return nil
	case err == nil, errors.Is(err, iofs.ErrNotExist):
		return errWriters
	}
	return refusal
}

// store stores what the text says, and reports whether it describes another array, as which the one
// that is there can be recreated.
func (d *document) store(
	ctx context.Context, path string, written []byte, by program.Process, from origin,
) (isOther bool, err error) {
	if d.gone.Load() {
		return false, fmt.Errorf("%w: %q was removed after its document was opened, "+
			"and nothing is changed", syscall.ESTALE, path)
	}
	n, err := d.fs.h.Node(ctx, path)
	if err == nil {
		err = d.fs.sites.Check(path, &d.home)
	}
	switch {
	case errors.Is(err, iofs.ErrNotExist) && !d.existed.Load():
		return false, d.fs.creation.ByDocument(ctx, path, written, by)
	case err != nil:
		return false, err
	case bytes.Equal(trimEnd(n.Document), trimEnd(written)) && !d.unsaved():
		return false, nil
	}
	text, err := d.withoutOldShape(n, written, by)
	if err != nil {
		return false, err
	}
	d.fs.kernel.DropArray(path) // where a dirty page belongs depends on the shape
	d.fs.material.Outdate(path)
	err = d.fs.h.SetDocument(ctx, path, text)
	d.fs.material.Rewrite(path)
	if err == nil {
		d.fs.kernel.Resized(path, nil)
		d.fs.kernel.DropArray(path)
	}
	trace, fixed := d.fs.traces.Of(path), errors.Is(err, meta.ErrInvalid)
	late := d.waiting || trace.Unfinished(by) || from == missing && trace.Made()
	return late && (fixed || foreign(n, written)) || from == anew && fixed, errno.Refused(err)
}

// trimEnd removes the newline at the end of a document, which programs may write or leave out.
func trimEnd(text []byte) []byte { return bytes.TrimSuffix(text, []byte("\n")) }

// foreign reports whether a document describes an array of another format than that of the array n.
// Such a document changes nothing of n but the attributes.
func foreign(n *zarrcore.Node, text []byte) bool {
	if n.Kind != zarrcore.ArrayNode {
		return false
	}
	f, err := meta.ParseForeign(text, n.Format)
	return err == nil && f != nil
}

// withoutOldShape returns the text of a document without its shape, if that is not meant to resize
// the array n. A text that changes nothing but the shape may have been meant to resize it. It is
// refused, so that the program learns that the array keeps its shape.
func (d *document) withoutOldShape(
	n *zarrcore.Node, written []byte, by program.Process,
) ([]byte, error) {
	shape := input.ShapeIn(written)
	if n.Kind != zarrcore.ArrayNode || n.Meta == nil || shape == "" || foreign(n, written) {
		return written, nil
	}
	shown := fmt.Sprint(n.Meta.Shape)
	current, writers := shown, 0
	if w := d.fs.writings.Find(n.Path); w != nil && w.Live() != nil {
		current = fmt.Sprint(w.Live().Meta().Shape) // rows may not be stored yet
		writers = w.Writers()
	}
	isOld := shape == shown || d.fs.reads.IsOld(n.Path, by, shape, current)
	if shape == current || !isOld {
		return written, nil
	}
	text, err := pyjson.Remove(written, "shape")
	if err != nil {
		return written, nil
	}
	// Programs that are writing the array may be about to give it that shape.
	if shape != shown && writers == 0 && input.IsWithoutShape(n.Document, text) {
		return nil, fmt.Errorf("%w: the document of %q says nothing new but the shape %s, which "+
			"the array had before; it has %s by now, and keeps that. To resize it, read the document "+
			"as it is, and then write the other one again", iofs.ErrInvalid, n.Path, shape, current)
	}
	d.fs.log.Warn("a document had the shape that the array had before; the array keeps its shape",
		"path", n.Path, "document", shape, "array", current)
	return text, nil
}

// unsaved reports whether the array's length may be another than its document says.
func (d *document) unsaved() bool {
	w := d.fs.writings.FindAt(d.path)
	if w == nil {
		return false
	}
	arr := w.Live()
	return arr != nil && arr.Unsaved()
}

// documentHandle is an open document that can be written. It reads what is written, applied or not.
type documentHandle struct {
	textHandle
	input.Emptying // see program.OfThread why by is not asked at FLUSH
	doc            *document

	awaited *transient.File // stands for a new array; nil: it was there
	anew    bool            // the file was created, where the array was there
}

// origin is what there was when a document was opened.
type origin uint8

const (
	opened  origin = iota // the document
	missing               // no array
	anew                  // an array whose document had been removed
)

// origin returns what there was when the handle was opened.
func (h *documentHandle) origin() origin {
	switch {
	case h.awaited != nil:
		return missing
	case h.anew:
		return anew
	}
	return opened
}

var (
	_ = (gofuse.FileReader)((*documentHandle)(nil))
	_ = (gofuse.FileWriter)((*documentHandle)(nil))
	_ = (gofuse.FileFlusher)((*documentHandle)(nil))
	_ = (gofuse.FileFsyncer)((*documentHandle)(nil))
	_ = (gofuse.FileAllocater)((*documentHandle)(nil))
	_ = (gofuse.FileReleaser)((*documentHandle)(nil))
)

// openDocument opens the document for writing.
func (n *fileNode) openDocument(ctx context.Context) (gofuse.FileHandle, uint32, syscall.Errno) {
	path, x := n.path(), n.hold()
	node, err := n.fs.h.Node(ctx, path)
	missing := errors.Is(err, iofs.ErrNotExist)
	switch {
	case missing && x == nil:
		return nil, 0, n.lookAgain(ctx)
	case missing:
		node = &zarrcore.Node{}
	default:
		err = n.refusesDocument(ctx, node, err)
	}
	if err != nil && !missing {
		n.letGo(x, false)
		return nil, 0, n.fs.answer("open", path, err)
	}
	d, isFirst := n.fs.documents.open(n.path, node)
	if !missing {
		d.existed.Store(true)
	}
	if !missing && !isFirst {
		d.refresh(ctx) // what is not there by now is found out when the text is applied
	}
	h := &documentHandle{textHandle: n.openText(), doc: d, awaited: x}
	h.By = wire.Caller(ctx)
	return h, fuse.FOPEN_DIRECT_IO, 0
}

// refusesDocument returns why the user of a request may not write the document of a node, which was
// looked up with err. A new shape changes chunks, so that the rights to them count too.
func (n *fileNode) refusesDocument(ctx context.Context, node *zarrcore.Node, err error) error {
	if err == nil {
		err = n.fs.refusesStoring(ctx, node.Path)
	}
	return err
}

// setDocumentSize truncates or extends the document.
func (n *fileNode) setDocumentSize(size int64) error {
	if d := n.fs.documents.findAt(n.path); d != nil {
		err := d.text.SetSize(size)
		d.text.NoteCut(err == nil && size == 0)
		return err
	}
	return n.resizeClosed("a document", size)
}

// noteRead remembers that the caller knows the document as it is now.
func (h *documentHandle) noteRead(ctx context.Context) {
	h.doc.text.Look(func(text []byte) {
		h.node.fs.reads.Note(h.node.path(), wire.Caller(ctx), text)
	})
}

// Read reads the text.
func (h *documentHandle) Read(_ context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	n := 0
	h.doc.text.Look(func(text []byte) { n = copy(dest, text[min(off, int64(len(text))):]) })
	return fuse.ReadResultData(dest[:n]), 0
}

// Write changes the text.
func (h *documentHandle) Write(ctx context.Context, p []byte, off int64) (uint32, syscall.Errno) {
	err := h.doc.text.Write(p, off, h.node.fs.notes.Of(ctx).AtEnd)
	if errno := h.node.fs.answerChange("write", h.node.path(), err); errno != 0 {
		return 0, errno
	}
	h.Wrote()
	h.node.told.Store(unknownSize)
	return uint32(len(p)), 0
}

// Flush applies the text.
func (h *documentHandle) Flush(context.Context) syscall.Errno {
	if emptied, _ := h.doc.isEmptied(); emptied && h.IsMeant() {
		return h.node.fs.answer("close", h.node.path(), view.ErrEmpty(h.node.view))
	}
	return h.apply("close")
}

// Fsync applies the text.
func (h *documentHandle) Fsync(context.Context, uint32) syscall.Errno {
	return h.apply("fsync")
}

func (h *documentHandle) apply(op string) syscall.Errno {
	err := h.doc.applyInTurn(h.node.fs.ctx, h.By, h.origin())
	if err != nil {
		h.keepRefused()
	}
	h.node.ForgetSize()
	return h.node.fs.answer(op, h.node.path(), err)
}

// Release ends the handle, and applies what pages of a mapping have brought behind the last close.
func (h *documentHandle) Release(context.Context) syscall.Errno {
	f := h.node.fs
	if h.doc.text.IsDue() {
		h.apply("release") // its error is in the log
	}
	h.closed()
	size := h.doc.text.Offered()
	last := f.documents.close(h.doc)
	if _, cut := h.doc.isEmptied(); last && cut {
		f.answer("close", h.node.path(), view.ErrEmpty(h.node.view)) // for the log
	}
	refused := last && h.doc.text.IsRefused()
	h.node.letGo(h.awaited, refused)
	if refused {
		f.log.Warn("a document was written, but not taken", "path", h.node.path(), "bytes", size,
			"kept", h.doc.text.IsKept())
	}
	if last {
		h.node.ForgetSize()
	}
	return 0
}

// keepRefused keeps the text of a new document that was refused, when the mount ends, as other files
// are. Its program is told, but not every program looks at the error of a write or a close. The text
// is kept no longer once a document is taken under that name.
func (h *documentHandle) keepRefused() {
	d, f := h.doc, h.node.fs
	if h.awaited == nil || !f.transients.Has(h.awaited) {
		return // there is an array, or the file was removed
	}
	err := d.text.KeepRefused(func(text []byte) error {
		return f.transients.KeepText(spotOfDocument(d.path()), text)
	})
	if err != nil {
		f.log.Error("a document was refused, and its text cannot be kept", "path", d.path(),
			"bytes", d.text.Offered(), "err", err)
	}
}

// spotOfDocument returns where the document of the array at path is shown.
func spotOfDocument(path string) transient.Spot {
	dir, _ := names.Split(path)
	return transient.Spot{Dir: dir, Name: view.FileOf(path, view.Document)}
}

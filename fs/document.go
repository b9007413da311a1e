package fs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// documentMost is how long a written document may be, in bytes.
const documentMost = 64 << 20

// document is a .json file, or a group's zarr.json, while programs write it: its whole text. A
// flush applies it to the existing array or group, or creates one.
type document struct {
	fs    *filesystem
	where atomic.Pointer[string] // the path of the array or group
	opens int                    // guarded by the lock of the states
	home  home
	gone  atomic.Bool // the array or group was removed

	existed atomic.Bool // the array or group was there, and is not only about to be created

	mu      sync.Mutex // held while the text is applied, too
	text    []byte
	written bool   // since it was applied
	due     bool   // written since the last attempt to apply it
	stored  string // the version of the stored document when the text was read or applied
	cut     bool   // a program has truncated it to nothing, and nothing was written since
	jumped  bool   // a write did not begin where the one before it had ended
	parsed  int    // how many bytes were parsed while the text was written
	refused error  // why the text was not taken; it stands until it is cut to nothing
	waiting bool   // the array may be recreated as the text says, and programs wait to do so

	refusedText []byte // what refused WRITEs would have put behind it
	kept        bool   // as it is now; see keepRefused
}

func newDocument(f *filesystem, path string, text []byte) *document {
	d := &document{fs: f, text: text}
	d.where.Store(&path)
	return d
}

// path returns the path of the array or group.
func (d *document) path() string { return *d.where.Load() }

// documents are those of a mount that are open for writing.
type documents struct{ fs *filesystem }

func (t *documents) find(path string) (d *document) {
	t.fs.states.Look(path, func(s *state) { d = s.document.It })
	return d
}

// open counts a writable handle of the document at the path that where returns. The first begins
// with the document of n, and isFirst is set. A text of an array or group that another program has
// recreated since ends.
func (t *documents) open(where func() string, n *zarrcore.Node) (d *document, isFirst bool) {
	identity := t.fs.identityFor(where)
	t.fs.states.Follow(where, func(s *state) {
		s.leaveOthers(identity)
		if s.document.It == nil {
			isFirst = true
			s.document.It = newDocument(t.fs, where(), slices.Clone(n.Document))
			s.document.It.stored = n.Version
			s.document.It.home.note(identity)
		}
		d = s.document.It
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
		if last && s.document.It == d {
			s.document.It = nil
		}
	})
	return last
}

// Moved notes that the array or group has another path.
func (d *document) Moved(to string) { d.where.Store(&to) }

// Ended notes that the array or group is not there any more. A later array or group of that name
// has a document of its own.
func (d *document) Ended() { d.gone.Store(true) }

// refresh makes the text that of the stored document, unless a program has changed the text. A text
// that equals what was stored by this mount may be spelled in another way, and stays.
func (d *document) refresh(ctx context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.written || d.refused != nil {
		return
	}
	n, err := d.fs.h.Node(ctx, d.path())
	if err == nil && (n.Version == "" || n.Version != d.stored) {
		d.text, d.stored = slices.Clone(n.Document), n.Version
	}
}

// noteStored notes that the text was applied. The caller holds mu.
func (d *document) noteStored(ctx context.Context, path string) {
	d.written, d.stored = false, ""
	if n, err := d.fs.h.Node(ctx, path); err == nil {
		d.stored = n.Version
	}
	if !d.existed.Swap(true) {
		d.home.note(d.fs.identity(path))
	}
}

// size returns the size of the text if programs have changed it.
func (d *document) size() (int64, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return int64(len(d.text)), d.written
}

// isRefused reports whether a text was written that could not be taken.
func (d *document) isRefused() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.refused != nil || d.written && len(d.text) > 0
}

// write writes p at off. A gap in front of it is zero bytes, as in any file.
func (d *document) write(p []byte, off int64, atEnd bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refused != nil {
		d.refuse(p)
		return d.refused
	}
	if atEnd {
		off = int64(len(d.text))
	}
	d.jumped = d.jumped || off != int64(len(d.text))
	if d.refused = d.refuses(p); d.refused != nil {
		d.due = true
		d.refuse(p)
		return d.refused
	}
	if err := d.resize(max(int64(len(d.text)), off+int64(len(p)))); err != nil {
		return err
	}
	copy(d.text[off:], p)
	return nil
}

// parsedFreely is how many bytes are parsed of a text while it is written, beyond eight times its
// length. So writing a long text in small pieces takes no time that grows with its square.
const parsedFreely = 16 << 20

// refuses returns why the text cannot become a document, whatever comes behind p. Shells do not
// look at the error of close. What is written in another order is judged when it is applied.
func (d *document) refuses(p []byte) error {
	size := len(d.text) + len(p)
	if d.jumped || size > documentMost || d.parsed+size > parsedFreely+8*size {
		return nil
	}
	d.parsed += size
	whole, err := meta.CheckBeginning(slices.Concat(d.text, p))
	if err == nil && whole != nil && !d.existed.Load() {
		err = describesArray(d.path(), whole)
	}
	return refused(err)
}

// refuse notes what a refused WRITE has brought, once where the program tries again. bsdtar extends
// a file of which a WRITE was refused by a zero byte, which no text has.
func (d *document) refuse(p []byte) {
	tries := bytes.HasSuffix(d.refusedText, p)
	extends := len(bytes.Trim(p, "\x00")) == 0
	if !tries && !extends && len(d.text)+len(d.refusedText)+len(p) <= documentMost {
		d.refusedText, d.kept = append(d.refusedText, p...), false
	}
}

// setSize truncates or extends the text. A refused text can only be truncated to nothing.
func (d *document) setSize(size int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refused != nil && size > 0 {
		return d.refused
	}
	return d.resize(size)
}

// noteCut notes whether a program has truncated the text to nothing.
func (d *document) noteCut(cut bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cut = cut
}

// isEmptied reports whether the text of a document that was there is empty now, and whether a
// program has truncated it.
func (d *document) isEmptied() (emptied, cut bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	emptied = d.existed.Load() && d.written && len(d.text) == 0 && d.refused == nil
	return emptied, emptied && d.cut
}

// documentTooLong says that a document cannot have that many bytes.
func documentTooLong(size int64) error {
	return fmt.Errorf("%w: a document of %d bytes, expected at most %d",
		syscall.EFBIG, size, documentMost)
}

// resize truncates or extends the text. The caller holds mu.
func (d *document) resize(size int64) error {
	if size < 0 || size > documentMost {
		return documentTooLong(size)
	}
	if n := int64(len(d.text)); size > n {
		d.text = append(d.text, make([]byte, size-n)...)
	}
	d.text = d.text[:size]
	d.written, d.due, d.kept, d.cut = true, true, false, false
	if size == 0 {
		d.jumped, d.parsed, d.refused, d.refusedText = false, 0, nil, nil
	}
	return nil
}

// apply makes the array or group what the text says. An empty text has no effect yet: shells close
// a duplicate of the file before they write. A text that equals the stored one changes nothing.
// from is what there was when the document was opened.
func (d *document) apply(ctx context.Context, by program.Process, from origin) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.due = false
	if d.refused != nil {
		return d.refused
	}
	if !d.written || len(d.text) == 0 {
		return nil
	}
	path, err := d.applyWhereItIs(ctx, by, from)
	d.waiting = errors.Is(err, errWriters)
	d.fs.failures.Note(d.fs.refusedAt(path, by, err), err)
	if err == nil {
		d.noteStored(ctx, path)
		d.fs.traces.Described(path)
		d.fs.reads.note(path, by, d.text)
		d.fs.copied.note(path, by)
		d.fs.transients.ForgetText(spotOfDocument(path))
	}
	return err
}

// isDue reports whether the text was written since the last attempt to apply it.
func (d *document) isDue() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.due
}

// applyWhereItIs applies the text to what is at the document's path, also if that is just being
// renamed. The caller holds mu.
func (d *document) applyWhereItIs(
	ctx context.Context, by program.Process, from origin,
) (path string, err error) {
	isThere := func() bool { return d.existed.Load() && !d.gone.Load() }
	apply := func() (string, error) { return d.applyHere(ctx, by, from) }
	return d.fs.whereItIs(d.path, isThere, apply)
}

func (d *document) applyHere(
	ctx context.Context, by program.Process, from origin,
) (path string, err error) {
	path, end := d.fs.lockCreation(d.path)
	isOther, err := d.store(ctx, path, by, from)
	end()
	if isOther {
		err = d.remake(ctx, path, err)
	}
	d.fs.stat.Forget(path)
	return path, err
}

// remake recreates the array at path as the text says. Nothing is locked while its bytes are copied.
// If programs write to it, or replace or rename it, that is errWriters. If it cannot be recreated,
// that is refusal.
func (d *document) remake(ctx context.Context, path string, refusal error) error {
	isFree := func() bool {
		w := d.fs.writings.find(path)
		return (w == nil || w.writers() == 0) && d.fs.checkHome(path, &d.home) == nil
	}
	if !isFree() {
		return errWriters
	}
	remade, err := d.fs.remake(ctx, path, d.text, isFree)
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
	ctx context.Context, path string, by program.Process, from origin,
) (isOther bool, err error) {
	if d.gone.Load() {
		return false, fmt.Errorf("%w: %q was removed after its document was opened, "+
			"and nothing is changed", syscall.ESTALE, path)
	}
	n, err := d.fs.h.Node(ctx, path)
	if err == nil {
		err = d.fs.checkHome(path, &d.home)
	}
	switch {
	case errors.Is(err, iofs.ErrNotExist) && !d.existed.Load():
		return false, d.fs.createByDocument(ctx, path, d.text, by)
	case err != nil:
		return false, err
	case bytes.Equal(trimEnd(n.Document), trimEnd(d.text)) && !d.unsaved():
		return false, nil
	}
	text, err := d.withoutOldShape(n, by)
	if err != nil {
		return false, err
	}
	d.fs.dropArrayPages(path) // where a dirty page belongs depends on the shape
	d.fs.material.Outdate(path)
	err = d.fs.h.SetDocument(ctx, path, text)
	d.fs.material.Rewrite(path)
	if err == nil {
		d.fs.resized(path, nil)
		d.fs.dropArrayPages(path)
	}
	trace, fixed := d.fs.traces.Of(path), errors.Is(err, meta.ErrInvalid)
	late := d.waiting || trace.Unfinished(by) || from == missing && trace.Made()
	return late && (fixed || foreign(n, d.text)) || from == anew && fixed, refused(err)
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

// unsaved reports whether the array's length may be another than its document says.
func (d *document) unsaved() bool {
	w := d.fs.writings.find(d.path())
	if w == nil {
		return false
	}
	arr := w.array()
	return arr != nil && arr.Unsaved()
}

// refused turns an error about a document that a program wrote into one about what the program did.
// An invalid document in the store means a broken store, but this one never got there.
func refused(err error) error {
	if errors.Is(err, meta.ErrInvalid) {
		return fmt.Errorf("%w: %w", iofs.ErrInvalid, err)
	}
	return err
}

// documentHandle is an open document that can be written. It reads what is written, applied or not.
type documentHandle struct {
	textHandle
	emptying // see program.OfThread why by is not asked at FLUSH
	doc      *document

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
		return nil, 0, syscall.ESTALE // the kernel looks the name up again, and creates the file if that is asked for
	case missing:
		node = &zarrcore.Node{}
	case err == nil:
		err = n.fs.rights.MayStore(path)
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
	h.by = wire.Caller(ctx)
	return h, fuse.FOPEN_DIRECT_IO, 0
}

// setDocumentSize truncates or extends the document.
func (n *fileNode) setDocumentSize(size int64) error {
	if d := n.fs.documents.find(n.path()); d != nil {
		err := d.setSize(size)
		d.noteCut(err == nil && size == 0)
		return err
	}
	return n.resizeClosed("a document", size)
}

// Read reads the text.
func (h *documentHandle) Read(_ context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	h.doc.mu.Lock()
	defer h.doc.mu.Unlock()
	if off >= int64(len(h.doc.text)) {
		return fuse.ReadResultData(nil), 0
	}
	return fuse.ReadResultData(dest[:copy(dest, h.doc.text[off:])]), 0
}

// Write changes the text.
func (h *documentHandle) Write(ctx context.Context, p []byte, off int64) (uint32, syscall.Errno) {
	err := h.doc.write(p, off, h.node.fs.notes.Of(ctx).AtEnd)
	if errno := h.node.fs.answerChange("write", h.node.path(), err); errno != 0 {
		return 0, errno
	}
	h.wrote()
	h.node.told.Store(unknownSize)
	return uint32(len(p)), 0
}

// Flush applies the text.
func (h *documentHandle) Flush(context.Context) syscall.Errno {
	if emptied, _ := h.doc.isEmptied(); emptied && h.isMeant() {
		return h.node.fs.answer("close", h.node.path(), errEmpty(h.node.view))
	}
	return h.apply("close")
}

// Fsync applies the text.
func (h *documentHandle) Fsync(context.Context, uint32) syscall.Errno {
	return h.apply("fsync")
}

func (h *documentHandle) apply(op string) syscall.Errno {
	err := h.doc.applyInTurn(h.node.fs.ctx, h.by, h.origin())
	if err != nil {
		h.keepRefused()
	}
	h.node.sizeUnknown()
	return h.node.fs.answer(op, h.node.path(), err)
}

// Release ends the handle, and applies what pages of a mapping have brought behind the last close.
func (h *documentHandle) Release(context.Context) syscall.Errno {
	f := h.node.fs
	if h.doc.isDue() {
		h.apply("release") // its error is in the log
	}
	h.closed()
	size := h.doc.offered()
	last := f.documents.close(h.doc)
	if _, cut := h.doc.isEmptied(); last && cut {
		f.answer("close", h.node.path(), errEmpty(h.node.view)) // for the log
	}
	refused := last && h.doc.isRefused()
	h.node.letGo(h.awaited, refused)
	if refused {
		f.log.Warn("a document was written, but not taken", "path", h.node.path(), "bytes", size,
			"kept", h.doc.isKept())
	}
	if last {
		h.node.sizeUnknown()
	}
	return 0
}

// sizeUnknown makes the kernel ask for the attributes again.
func (n *fileNode) sizeUnknown() {
	n.told.Store(unknownSize)
	n.NotifyContent(-1, 0) // attributes only: takes no page lock, so it may be sent from a handler
}

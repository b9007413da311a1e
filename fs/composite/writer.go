package composite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/coherence"
	"github.com/zarrfs/zarrfs/fs/material"
	"github.com/zarrfs/zarrfs/fs/netcdf"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/writing"
	"github.com/zarrfs/zarrfs/layout/hdf5"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/keyed"
)

// Files are those of a mount.
type Files struct {
	Mount
	Sizes Sizes
}

// Mount is the mount of the files.
type Mount struct {
	Ctx      context.Context // ends with the mount
	H        *zarrcore.Hierarchy
	Log      *slog.Logger
	Rights   *rights.Rights
	Material *material.Files
	Writings *writing.Arrays
	Layout   netcdf.Layout
}

// New returns the files of a mount.
func New(of Mount) *Files { return &Files{Mount: of, Sizes: Sizes{layout: of.Layout}} }

// Refuses returns why a user may not know what a composite file shows of the documents.
func (f *Files) Refuses(ctx context.Context, c *view.Composite) error {
	user := rights.UserOf(ctx)
	if !f.Rights.Checks(user) {
		return nil
	}
	for _, n := range c.Nodes() {
		err := f.Rights.RefusesReading(user, n)
		if err == nil {
			err = f.Rights.RefusesListing(user, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Writer is a writable handle of a composite file.
type Writer struct {
	on   *Files
	of   *view.Composite
	view view.View
	file coherence.File

	turns  keyed.Mutex // by array: it is opened once, and looked for after a rename
	mu     sync.Mutex
	writes map[*hdf5.Dataset]*partWriter
}

// Open returns a writable handle of a file that shows what of does.
func (f *Files) Open(file coherence.File, of *view.Composite) *Writer {
	return &Writer{on: f, of: of, view: file.View(), file: file,
		writes: make(map[*hdf5.Dataset]*partWriter)}
}

// partWriter is an array that is written through a composite file. The file outlives the array, so
// that a program must learn that what it wrote is lost.
type partWriter struct {
	*writing.Array
	from  string      // the path at which it was opened
	fresh atomic.Bool // it was written since it was flushed
}

// lost returns an error if the array was removed.
func (w *partWriter) lost() error {
	if w.IsEnded() {
		return view.ErrNoPlace(w.from)
	}
	return nil
}

// flush stores what was written.
func (w *partWriter) flush(ctx context.Context, durable bool) error {
	if !w.fresh.Swap(false) {
		return w.Array.Flush(ctx, view.Plain(), nil, durable)
	}
	err := w.Array.Flush(ctx, view.Plain(), nil, durable)
	if err = errors.Join(w.lost(), err); err != nil {
		w.fresh.Store(true)
	}
	return err
}

// errStructure refuses what would change more than the bytes of arrays.
func (h *Writer) errStructure(what string) error {
	return view.ErrStructure(h.view, what)
}

// Write takes bytes of arrays. Bytes of the structure must be as they are. If synced is set, what
// is written survives a power cut.
func (h *Writer) Write(
	ctx context.Context, p []byte, off int64, how writing.How, synced bool,
) error {
	if err := h.check(ctx, p, off); err != nil {
		return err
	}
	if err := h.put(p, off, how); err != nil || !synced {
		return err
	}
	return h.Flush(true)
}

// check refuses p at off before any of it is written.
func (h *Writer) check(ctx context.Context, p []byte, off int64) error {
	if off+int64(len(p)) > h.of.Size() {
		return h.errStructure("bytes after the end of")
	}
	at := int64(0)
	return h.of.Stretches(off, int64(len(p)), func(s view.Piece) error {
		part := p[at : at+s.N]
		at += s.N
		switch {
		case s.Of != nil && h.isShown(ctx, part, s, off+at-s.N):
			return nil
		case s.Of != nil:
			_, err := h.writerOf(ctx, s)
			return err
		case s.IsGap && !isZero(part):
			return h.errStructure("bytes that belong to no array in")
		case !s.IsGap && !h.of.IsMetadata(part, s.Off):
			return h.errStructure("a change of the structure of")
		}
		return nil
	})
}

// isShown reports whether a file has these bytes at off, of an array whose elements it has in
// another form. They can be written as they are.
func (h *Writer) isShown(ctx context.Context, p []byte, s view.Piece, off int64) bool {
	if _, inPlace := h.of.Source(s.Of); inPlace {
		return false
	}
	found, err := h.of.Read(ctx, off, s.N)
	if err != nil {
		return false
	}
	defer found.Done()
	return bytes.Equal(found.Bytes(nil), p)
}

func isZero(p []byte) bool {
	for _, b := range p {
		if b != 0 {
			return false
		}
	}
	return true
}

// put writes p at off.
func (h *Writer) put(p []byte, off int64, kind writing.How) error {
	ctx, raw := h.on.Ctx, view.Plain()
	if kind == writing.AtEnd {
		return h.errStructure("bytes after the end of")
	}
	at := int64(0)
	return h.of.Stretches(off, int64(len(p)), func(s view.Piece) error {
		part := p[at : at+s.N]
		at += s.N
		if _, inPlace := h.of.Source(s.Of); s.Of == nil || !inPlace {
			return nil
		}
		w, err := h.writerOf(ctx, s)
		if err != nil {
			return err
		}
		w.fresh.Store(true)
		for from, to := range h.of.Places(s) {
			if _, err = w.Put(ctx, h.file, raw, part[from:][:to.N], to.Off, kind); err != nil {
				return err
			}
		}
		return nil
	})
}

// writerOf returns the array to which a stretch belongs, for writing.
func (h *Writer) writerOf(ctx context.Context, s view.Piece) (*partWriter, error) {
	source, ok := h.of.Source(s.Of)
	if !ok {
		return nil, fmt.Errorf("%w: the elements of %q have another form in a .%s file, where "+
			"they can only be read: write them by the array's .%s or .%s", syscall.EPERM,
			source.Path, h.view.Name(), view.Headed().Name(), view.Lines().Name())
	}
	defer h.turns.Lock(source.Path)()
	arr, err := h.of.Opened(ctx, s.Of)
	if err != nil {
		return nil, err
	}
	w := h.written(s.Of)
	if w == nil {
		if w, err = h.openPart(ctx, arr); err != nil {
			return nil, err
		}
		h.noteWritten(s.Of, w)
	}
	w.Arrive(ctx)
	if err := w.lost(); err != nil {
		return nil, err
	}
	return w, view.CheckArray(source, w.Live())
}

// written returns the array of a dataset, if it was opened for writing.
func (h *Writer) written(d *hdf5.Dataset) *partWriter {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.writes[d]
}

func (h *Writer) noteWritten(d *hdf5.Dataset, w *partWriter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writes[d] = w
}

// openPart opens an array for writing.
func (h *Writer) openPart(ctx context.Context, arr *zarrcore.Array) (*partWriter, error) {
	f, path := h.on, arr.Path()
	n, err := f.H.Node(f.Ctx, path)
	if errors.Is(err, iofs.ErrNotExist) {
		return nil, view.ErrNoPlace(path)
	}
	if err == nil {
		err = f.Rights.RefusesWriting(rights.UserOf(ctx), n)
	}
	if err == nil {
		err = arr.Writable()
	}
	if err == nil {
		err = f.Rights.RefusesStoring(ctx, f.H, path)
	}
	if err != nil {
		return nil, err
	}
	f.Material.Outdate(path)
	w := f.Writings.Open(pathstate.At(path), arr, view.Plain())
	return &partWriter{Array: w, from: path}, nil
}

// writers returns the arrays that were written.
func (h *Writer) writers() (all []*partWriter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.writes {
		all = append(all, w)
	}
	return all
}

// Flush stores what was written. If durable is set, it survives a power cut.
func (h *Writer) Flush(durable bool) error {
	var errs []error
	for _, w := range h.writers() {
		w.TellPaged()
		errs = append(errs, w.flush(h.on.Ctx, durable))
	}
	return errors.Join(errs...)
}

// Close ends the writing. What could not be stored stays in memory, and is named in the log.
func (h *Writer) Close() {
	for _, w := range h.writers() {
		if bytes, err := w.Unsaved(); err != nil {
			h.on.Log.Error("closed, but not stored", "path", w.Path(), "bytes", bytes, "err", err)
		}
		w.Close(view.Plain())
	}
}

package fs

import (
	"slices"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
)

// A new .json whose text is not the document of an array leaves no file in the mount. Its program
// is told, but not every program looks at the error of a write or a close. So the text is kept when
// the mount ends, as other files are, unless a document is taken under that name.

// keepRefused keeps the text of a new document that was refused. What a refused WRITE has brought
// is a part of it.
func (h *documentHandle) keepRefused() {
	d, f := h.doc, h.node.fs
	if h.awaited == nil || !f.transients.Has(h.awaited) { // there is an array, or the file was removed
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	text := slices.Concat(d.text, d.refusedText)
	if d.kept || len(text) == 0 {
		return
	}
	if err := f.transients.KeepText(spotOfDocument(d.path()), text); err != nil {
		f.log.Error("a document was refused, and its text cannot be kept", "path", d.path(),
			"bytes", len(text), "err", err)
		return
	}
	d.kept = true
}

// isKept reports whether the text is kept beyond the last close.
func (d *document) isKept() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.kept
}

// offered returns how many bytes programs have written, also those that were refused.
func (d *document) offered() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.text) + len(d.refusedText)
}

// spotOfDocument returns where the document of the array at path is shown.
func spotOfDocument(path string) transient.Spot {
	dir, _ := names.Split(path)
	return transient.Spot{Dir: dir, Name: shownView(path, view.Document)}
}

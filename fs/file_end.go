package fs

import (
	"sync"

	"github.com/zarrfs/zarrfs/fs/view"
)

// Several programs may write one array at the same time. If a file is closed while the array, or
// its .npy, ends in the middle of a row, that is an error. It is an error of the program that has
// written that end. Another one cannot know whether more is to come.

// ender is the open handle that has written the end of something.
type ender struct {
	mu sync.Mutex // innermost
	h  *writer    // nil: it is closed
}

// set notes that h writes the end.
func (e *ender) set(h *writer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.h = h
}

// closed notes that h is closed.
func (e *ender) closed(h *writer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.h == h {
		e.h = nil
	}
}

// isOther reports whether a handle other than h has written the end, and may go on.
func (e *ender) isOther(h *writer) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.h != nil && e.h != h
}

// endsAt notes that the handle writes up to end, if its file has not come further.
func (h *writer) endsAt(end int64, kind how) {
	w := h.writing
	if kind == byPage || kind == atOffset && end < w.come(h.view) {
		return
	}
	w.ender.set(h)
	if view.IsHeaded(h.view) {
		w.npy.ender.set(h)
	}
}

// come returns up to where a view's file has come. For a .npy that is rewritten, that may be less
// than its size.
func (w *writing) come(v view.View) int64 {
	if view.IsHeaded(v) && w.awaiting(v) == nil {
		if end := w.npy.come.End(); end > 0 {
			return end
		}
	}
	size, _ := w.size(v)
	return size
}

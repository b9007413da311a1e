package fs

import (
	"sync"

	"github.com/zarrfs/zarrfs/fs/view"
)

// Several programs may write one .npy at the same time. If the file is closed before all of it has
// come, that is an error of the program that has written the last of it. Another one cannot know
// whether more is to come. See open_row.go for the array's last row.

// ender is the open handle that has written up to where a .npy has come.
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

// endsAt notes that the handle writes up to end, if its .npy has not come further.
func (h *writer) endsAt(end int64, kind how) {
	if !view.IsHeaded(h.view) || kind == atOffset && end < h.writing.come(h.view) {
		return
	}
	h.writing.npy.ender.set(h)
}

// come returns up to where a .npy has come. If it is rewritten, that may be less than its size.
func (w *writing) come(v view.View) int64 {
	if w.awaiting(v) == nil {
		if end := w.npy.come.End(); end > 0 {
			return end
		}
	}
	size, _ := w.size(v)
	return size
}

package writing

import (
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/fs/input"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// Several programs may write one .npy at the same time. If the file is closed before all of it has
// come, the program that wrote its last bytes gets an error. Another program cannot know whether
// more is to come. See open_row.go for the array's last row.

// ender is the open handle that has written up to where a .npy has come. Several programs may have
// it, such as those that a shell starts.
type ender struct {
	mu          sync.Mutex // innermost
	h           *Handle    // nil: it is closed
	owner       uint64     // of the descriptors of the program that wrote; see wire.Note
	truncations int        // how often the .npy was truncated to nothing
}

// set notes that a program writes the end by h.
func (e *ender) set(h *Handle, owner uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.h, e.owner = h, owner
}

// noteTruncation notes that the .npy was truncated to nothing. The program that did so is about to
// write it.
func (e *ender) noteTruncation() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.truncations++
}

// begins notes that a program begins to write the .npy by h, unless h is only going on.
func (e *ender) begins(h *Handle, off int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if off == 0 || !h.HasWritten() {
		h.truncations = e.truncations
	}
}

// isCut reports whether the .npy was truncated to nothing since a program has begun to write it by
// h.
func (e *ender) isCut(h *Handle) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return h != nil && h.HasWritten() && h.truncations != e.truncations
}

// closed notes that h is closed.
func (e *ender) closed(h *Handle) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.h == h {
		e.h, e.owner = nil, 0
	}
}

// isOther reports whether a handle other than h has written the end, and may go on.
func (e *ender) isOther(h *Handle) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.h != nil && e.h != h
}

// isBy reports whether a program has written the end by h.
func (e *ender) isBy(h *Handle, owner uint64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.h == h && e.owner == owner
}

// isLeftTo reports whether what is missing of a .npy, which has so many handles, is to come by
// another one than h. Another program has written its end, or truncated it after this one had
// begun, and is about to write it.
func (e *ender) isLeftTo(h *Handle, opens int) bool {
	return e.isOther(h) || e.isCut(h) && opens > 1
}

// come returns up to where a .npy has come. If it is rewritten, that may be less than its size.
func (w viewFile) come() int64 {
	if w.Awaiting(w.v) == nil {
		if end := w.npy.come.End(); end > 0 {
			return end
		}
	}
	size, _ := w.Size(w.v)
	return size
}

// shortFile is a .npy that its last writer has closed before all of it had come. A program that
// appends to it goes on where it has ended. It stays with the array that is renamed.
type shortFile struct {
	came input.Came
	size int64     // of the array, in bytes
	at   time.Time // when it was stored; if the array has changed since, its end is the array's
}

// isEmpty reports whether there is none.
func (f *shortFile) isEmpty() bool { return *f == shortFile{} }

// short returns what has come of the file, if it is not whole. All of that is stored in the array.
func (f *npyFile) short(arr *zarrcore.Array) shortFile {
	came := f.come.Came()
	if !came.GoesOn() {
		return shortFile{}
	}
	return shortFile{came, arr.Size(), time.Now()}
}

// sizeOf returns the size of an array in bytes, and when it was last changed, as far as is known.
func sizeOf(arr *zarrcore.Array) (size int64, changed time.Time) {
	if arr == nil {
		return 0, time.Time{}
	}
	return arr.Live().Size(), arr.Live().ModTime()
}

// resume notes that programs write again to the array, whose size and time are these.
func (f *npyFile) resume(was shortFile, size int64, changed time.Time) {
	if !was.isEmpty() && was.size == size && !changed.After(was.at) {
		f.come.Resume(was.came)
	}
}

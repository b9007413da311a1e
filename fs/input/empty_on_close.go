package input

import (
	"sync/atomic"

	"github.com/zarrfs/zarrfs/fs/program"
)

// A program that truncates a file to nothing may be about to write it, as shells do, or may want it
// empty. A .raw is empty at once. An empty .jsonl has no lines, once it is closed so. No array has
// an empty .npy or document: nothing is changed, and the close or the log says so.

// Emptying is what a handle has to do with the truncation of its file.
type Emptying struct {
	By      program.Process // that opened it
	cut     atomic.Bool     // ftruncate(2) made the file empty
	written atomic.Bool     // by this handle, since it was opened or truncated by it
}

// Truncated notes that ftruncate(2) has given the file this size.
func (e *Emptying) Truncated(size int64) {
	e.cut.Store(size == 0)
	e.written.Store(false)
}

// Wrote notes that bytes were written. If the file is empty after that, another program has
// truncated it, and is about to write it.
func (e *Emptying) Wrote() {
	e.cut.Store(false)
	e.written.Store(true)
}

// IsMeant reports whether a program that closes an empty file means it to be so. Shells close a
// duplicate of the file before they write. Programs that copy files do not, and no shell can call
// ftruncate(2).
func (e *Emptying) IsMeant() bool { return e.cut.Load() || e.By.Mover && !e.written.Load() }

// HasWritten reports whether bytes were written by the handle since it was opened or truncated by
// it.
func (e *Emptying) HasWritten() bool { return e.written.Load() }

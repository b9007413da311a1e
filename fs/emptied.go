package fs

import (
	"fmt"
	iofs "io/fs"
	"sync/atomic"
	"time"

	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/view"
)

// A program that truncates a file to nothing may be about to write it, as shells do, or may want it
// empty. A .raw is empty at once. An empty .jsonl has no lines, once it is closed so. No array has
// an empty .npy or document: nothing is changed, and the close or the log says so.

// emptying is what a handle has to do with the truncation of its file.
type emptying struct {
	by      program.Process // that opened it
	cut     atomic.Bool     // ftruncate(2) made the file empty
	written atomic.Bool     // by this handle, since it was opened or truncated by it
}

// truncated notes that ftruncate(2) has given the file this size.
func (e *emptying) truncated(size int64) {
	e.cut.Store(size == 0)
	e.written.Store(false)
}

// wrote notes that bytes were written. If the file is empty after that, another program has
// truncated it, and is about to write it.
func (e *emptying) wrote() {
	e.cut.Store(false)
	e.written.Store(true)
}

// isMeant reports whether a program that closes an empty file means it to be so. Shells close a
// duplicate of the file before they write. Programs that copy files do not, and no shell can call
// ftruncate(2).
func (e *emptying) isMeant() bool { return e.cut.Load() || e.by.Mover && !e.written.Load() }

// errEmpty says that a file of an array cannot be empty.
func errEmpty(v view.View) error {
	return fmt.Errorf("%w: expected the content of a .%s file, found no bytes, and nothing is "+
		"changed; truncate the .raw or .jsonl file of an array to remove its rows",
		iofs.ErrInvalid, v.Name())
}

// awaitEmptied waits until an empty text is taken whose program has just closed it. The RELEASE of a
// file comes some time after its close.
func (n *fileNode) awaitEmptied() {
	for end := time.Now().Add(releaseWait); time.Now().Before(end); time.Sleep(releaseGrain) {
		w := n.fs.wholes.find(n.path(), n.view)
		if w == nil || !w.isCut() {
			return
		}
	}
}

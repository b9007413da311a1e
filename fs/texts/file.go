package texts

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/scratch"
	"github.com/zarrfs/zarrfs/fs/site"
	"github.com/zarrfs/zarrfs/fs/view"
)

// File is a file of an array whose elements have no fixed size, its .jsonl or .npy, while programs
// write it. What they write is kept in a scratch file, and taken as a whole when it is flushed. For
// .jsonl it may be only what comes behind the stored lines.
type File struct {
	table *Files
	View  view.TextView
	where atomic.Pointer[string] // the array's path
	opens int                    // guarded by the lock of the states

	home     site.Home
	gone     atomic.Bool           // the array is no more
	vanished atomic.Bool           // another program has removed the array
	size     atomic.Int64          // of file
	loaded   atomic.Bool           // file has all of the text, not only what is appended to it
	written  atomic.Bool           // since it was taken
	failed   atomic.Pointer[error] // why it was not stored at the last try, though it is valid

	mu sync.Mutex // held while the text changes, and while it is taken
	text

	with   view.View // not nil: the text is compared, and not taken; see package compare
	stored string    // the array's fingerprint when the text was loaded or taken
}

// text is what programs have written.
type text struct {
	file *scratch.File
	bad  error // why a line that was written is not an element; until the file is truncated
	due  bool  // written since the last attempt to take it
	cut  bool  // a program has truncated it to nothing, and nothing was written since
}

// Path returns the array's path.
func (w *File) Path() string { return *w.where.Load() }

// Attr returns the size of the file if programs have changed it. stored is the size of the stored
// text.
func (w *File) Attr(stored int64) int64 {
	switch {
	case !w.written.Load():
		return stored
	case w.loaded.Load():
		return w.size.Load()
	}
	return stored + w.size.Load()
}

// Replacing returns the size of the file if programs have rewritten all of it, whatever is stored.
func (w *File) Replacing() (size int64, ok bool) {
	size = w.size.Load()
	return size, w.loaded.Load() && w.written.Load()
}

// Write writes p at off, or behind all there is. A line that cannot be an element is written as
// well. So the whole text is refused later, with all before that line.
func (w *File) Write(p []byte, off int64, atEnd bool, accepts func(line []byte) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	// After a bad line nothing is written: the next line might replace it.
	if err := cmp.Or(w.bad, w.lost()); err != nil {
		return err
	}
	if !atEnd || !w.View.Appends() {
		if err := w.load(); err != nil {
			return err
		}
	}
	if atEnd {
		off = w.size.Load()
	}
	if err := w.table.Transients.Space.Take(int64(len(p))); err != nil {
		return err
	}
	doubtful := off == w.size.Load() && w.beginsLine(off)
	n, err := w.file.WriteAt(p, off)
	w.size.Store(max(w.size.Load(), off+int64(n)))
	w.due, w.cut = true, false
	if !w.written.Swap(true) {
		err = errors.Join(err, w.label())
	}
	if err == nil && doubtful {
		w.bad = w.whyNoElement(p, accepts)
		err = w.bad
	}
	return err
}

// beginsLine reports whether what is written at off begins a line. The caller holds mu.
func (w *File) beginsLine(off int64) bool {
	last := []byte{'\n'}
	if off > 0 {
		w.file.ReadAt(last, off-1)
	}
	return w.View.Appends() && last[0] == '\n'
}

// whyNoElement returns why the first line of p, if it is complete, is not an element. A program
// that writes one line after the other gets the error at once: shells do not look at the error of
// close. Zeros are room for what is written later.
func (w *File) whyNoElement(p []byte, accepts func(line []byte) error) error {
	line, _, complete := bytes.Cut(p, []byte("\n"))
	if !complete || bytes.IndexByte(line, 0) >= 0 {
		return nil
	}
	if err := accepts(line); err != nil {
		return fmt.Errorf("cannot write %q: the line %.40q: %w", w.Path(), line, err)
	}
	return nil
}

// CopyBegins notes that a program is about to write all of the text.
func (w *File) CopyBegins(by program.Process) {
	with := w.table.Compared.Begins(w.Path(), w.View, by)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.with = with
}

// SetSize truncates or extends the text.
func (w *File) SetSize(size int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if size == 0 {
		w.loaded.Store(true)
	} else if err := w.load(); err != nil {
		return err
	}
	if err := w.file.Truncate(size); err != nil {
		return err
	}
	w.size.Store(size)
	w.written.Store(true)
	w.bad, w.due, w.cut = nil, true, false
	return w.label()
}

// label notes, for after a kill, whether file has something that is not stored. The caller holds
// mu.
func (w *File) label() error {
	if !w.written.Load() {
		return w.file.Stored()
	}
	return w.file.Unstored(w.Path() + w.part() + "." + w.View.Name())
}

// Read reads the text.
func (w *File) Read(p []byte, off int64) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.load(); err != nil {
		return 0, err
	}
	n, err := w.file.ReadAt(p, off)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// load makes file the whole text: what is stored, and behind it what was appended. The caller holds
// mu.
func (w *File) load() error {
	if w.loaded.Load() {
		return nil
	}
	if w.gone.Load() { // another array may have its name
		return fmt.Errorf("%w: the array %q was removed", syscall.ESTALE, w.Path())
	}
	if err := w.table.Sites.Check(w.Path(), &w.home); err != nil {
		return fmt.Errorf("%w: %w", site.ErrVanished(w.Path()), err)
	}
	w.stored = w.fingerprint()
	file, err := w.table.Transients.MakeFile()
	if err != nil {
		return err
	}
	to := w.table.Transients.Space.Writer(file)
	stored, err := view.Open(w.table.Ctx, w.table.H, w.Path(), w.View.Name())
	if err == nil {
		_, err = io.Copy(to, stored)
		stored.Close()
	}
	if err == nil {
		_, err = io.Copy(to, io.NewSectionReader(w.file, 0, w.size.Load()))
	}
	if err != nil {
		file.Close()
		return err
	}
	w.file.Close()
	w.file = file
	w.loaded.Store(true)
	w.size.Store(to.Size())
	return w.label()
}

// Truncate makes the text empty because a program has asked for that.
func (w *File) Truncate() error {
	err := w.SetSize(0)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = err == nil && w.size.Load() == 0
	return err
}

// IsEmptied reports whether a program has truncated the text to nothing, and nothing was written
// since.
func (w *File) IsEmptied() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cut
}

// forget makes file empty, as if nothing had been loaded or written. The caller holds mu.
func (w *File) forget() error {
	w.loaded.Store(false)
	w.size.Store(0)
	return w.file.Truncate(0)
}

// Refresh forgets a text that was loaded if the array has changed since, unless a program has
// changed the text. So a program that opens the file sees the array as it is.
func (w *File) Refresh() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.written.Load() || !w.loaded.Load() || w.fingerprint() == w.stored {
		return nil
	}
	return w.forget()
}

// fingerprint returns a text that changes whenever the array's lines may have.
func (w *File) fingerprint() string {
	arr, err := w.table.H.OpenVlen(w.table.Ctx, w.Path())
	if err != nil {
		return err.Error()
	}
	return arr.Fingerprint()
}

// IsDue reports whether the text was written since the last attempt to take it.
func (w *File) IsDue() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.due
}

// vanish notes that another program has removed the array. It waits until the text is not being
// taken, so that no part of it reaches the next array of that name.
func (w *File) vanish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.vanished.Store(true)
}

// lost returns an error if there is no array any more that could take the text.
func (w *File) lost() error {
	if w.vanished.Load() {
		return site.ErrVanished(w.Path())
	}
	return nil
}

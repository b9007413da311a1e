package texts

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/zarrfs/zarrfs/fs/compare"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/scratch"
	"github.com/zarrfs/zarrfs/fs/site"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/rescue"
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
	bad  error // why a line that was written is not an element; until the file is cut
	due  bool  // written since the last attempt to take it
	cut  bool  // a program has truncated it to nothing, and nothing was written since
}

// Path returns the array's path.
func (w *File) Path() string { return *w.where.Load() }

// wholeFiles are those of an array: one for each view at most.
type wholeFiles []*File

func (p *wholeFiles) Moved(to string) {
	for _, w := range *p {
		w.where.Store(&to)
	}
}

// Ended notes that the array is not there any more. Programs that have its files open go on without
// effect.
func (p *wholeFiles) Ended() {
	for _, w := range *p {
		w.gone.Store(true)
		if w.isOver() {
			go w.discard()
		}
	}
	*p = nil
}

func (p *wholeFiles) IsEmpty() bool { return len(*p) == 0 }

// of returns the file of a view, nil if there is none.
func (p *wholeFiles) of(v view.View) *File {
	for _, w := range *p {
		if w.View == v {
			return w
		}
	}
	return nil
}

// end ends a file that nobody needs any more.
func (p *wholeFiles) end(w *File) {
	if !w.isOver() {
		return
	}
	*p = slices.DeleteFunc(*p, func(other *File) bool { return other == w })
	go w.discard()
}

// Mount is the mount whose texts these are.
type Mount struct {
	Ctx        context.Context // ends with the mount
	H          *zarrcore.Hierarchy
	Log        *slog.Logger
	Sites      *site.Paths
	Transients *transient.Files
	Compared   *compare.Files
	Stat       *stat.Cache
	Failures   *errno.Failures
}

// Files are those of a mount that are open for writing, or not stored.
type Files struct {
	Mount
	states pathstate.Parts[Part]
}

// New returns the texts of a mount. There are none yet.
func New(of Mount, states pathstate.Parts[Part]) *Files { return &Files{of, states} }

// below returns the files of the array at path, or of those in the group at path.
func (t *Files) below(path string) (files wholeFiles) {
	t.states.Each(path, func(_ string, s *Part) { files = append(files, s.files...) })
	return files
}

// Find returns the file of a view of the array at path, nil if there is none.
func (t *Files) Find(path string, v view.View) *File {
	return t.FindAt(func() string { return path }, v)
}

// FindAt is Find for the path that where returns, also if a rename comes just then.
func (t *Files) FindAt(where func() string, v view.View) (w *File) {
	t.states.Seek(where, func(s *Part) { w = s.files.of(v) })
	return w
}

// Open counts a writable handle of a view of the array at the path that where returns. A text of an
// array that another program has recreated since ends.
func (t *Files) Open(where func() string, v view.TextView) (*File, error) {
	identity := t.IdentityFor(where)
	if w := t.count(where, v, identity, nil); w != nil {
		return w, nil
	}
	file, err := t.Transients.MakeFile()
	if err != nil {
		return nil, err
	}
	made := &File{table: t, View: v, text: text{file: file}}
	made.home.Note(identity)
	w := t.count(where, v, identity, made)
	if w != made {
		file.Close()
	}
	return w, nil
}

// count counts a handle of the file that is there, or otherwise of made if that is not nil.
func (t *Files) count(
	where func() string, v view.TextView, identity string, made *File,
) (w *File) {
	t.states.Follow(where, func(s *Part) {
		s.LeaveOthers(identity)
		if w = s.files.of(v); w == nil && made != nil {
			w = made
			path := where()
			w.where.Store(&path)
			s.files = append(s.files, w)
		}
		if w != nil {
			w.opens++
		}
	})
	return w
}

// Close ends a handle. A refused text ends with the last handle. A text that could not be stored
// stays until it is stored.
func (t *Files) Close(w *File) {
	lost := false
	t.states.Follow(w.Path, func(s *Part) {
		w.opens--
		lost = w.opens == 0 && w.written.Load() && w.size.Load() > 0 && !w.gone.Load() && w.failed.Load() == nil
		s.files.end(w)
	})
	if lost {
		t.Log.Warn("an array's file was written, but not taken", "path", w.Path(), "view", w.View.Name(), "bytes", w.size.Load())
	}
}

// Empty takes a text that programs have truncated to nothing, when its last handle ends. It reports
// whether it has done so.
func (t *Files) Empty(w *File) (taken bool, err error) {
	last := false
	t.states.Follow(w.Path, func(*Part) { last = w.opens == 1 })
	if !last || !w.IsCut() {
		return false, nil
	}
	return true, w.TakeEmpty()
}

// isOver reports whether nobody needs the file any more. The caller holds the lock of the states.
func (w *File) isOver() bool {
	return w.opens == 0 && (w.failed.Load() == nil || w.gone.Load())
}

// discard ends a file once nothing is done with it.
func (w *File) discard() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.file.Close()
}

// Rescue writes what is not stored to files in the folder dir, as it was written, and returns their
// names.
func (t *Files) Rescue(dir string) (files []string, err error) {
	var errs []error
	for _, w := range t.all((*File).isUnstored) {
		path := w.Path()
		name, err := w.rescue(dir, path)
		if err != nil {
			errs = append(errs, fmt.Errorf("rescue %s: %w", path, err))
			continue
		}
		files = append(files, name)
	}
	return files, errors.Join(errs...)
}

// Vanished notes that another program has removed the array at path, or what is below it.
func (t *Files) Vanished(path string) {
	for _, w := range t.below(path) {
		w.vanish()
	}
}

// all returns the files for which is returns true.
func (t *Files) all(is func(*File) bool) (all []*File) {
	for _, w := range t.below("") {
		if is(w) {
			all = append(all, w)
		}
	}
	return all
}

// Store takes what could not be stored until now, and returns why it still cannot.
func (t *Files) Store() error {
	var errs []error
	for _, w := range t.all(func(w *File) bool { return w.failed.Load() != nil }) {
		if w.gone.Load() {
			continue
		}
		errs = append(errs, w.Take(true), w.TakeEmpty())
		t.states.Follow(w.Path, func(s *Part) { s.files.end(w) })
	}
	return errors.Join(errs...)
}

// Unsaved returns why what was written to a file of the array at path could not be stored at the
// last attempt. It returns nil if it was stored.
func (t *Files) Unsaved(path string) (err error) {
	t.states.Look(path, func(s *Part) {
		for _, w := range s.files {
			if why := w.failed.Load(); why != nil && err == nil {
				err = *why
			}
		}
	})
	return err
}

// AddErrors adds, by array, why what programs have written was not stored. It makes the map if that
// is nil and there are errors.
func (t *Files) AddErrors(byArray map[string]string) map[string]string {
	for _, w := range t.all(func(*File) bool { return true }) {
		why := w.failed.Load()
		if why == nil {
			continue
		}
		if byArray == nil {
			byArray = make(map[string]string)
		}
		byArray[w.Path()] = (*why).Error()
	}
	return byArray
}

// Unstored returns the paths of the arrays of which a file was written, and not taken, or not
// stored.
func (t *Files) Unstored() (paths []string) {
	for _, w := range t.all((*File).isUnstored) {
		paths = append(paths, w.Path())
	}
	return paths
}

func (w *File) isUnstored() bool {
	return w.failed.Load() != nil || w.written.Load() && w.size.Load() > 0
}

// part is a word for the name of a file that has only what was appended.
func (w *File) part() string {
	if w.loaded.Load() {
		return ""
	}
	return "-appended"
}

// rescue copies the text to a file in the folder dir, and returns its name. If there is room for a
// part only, there is no file.
func (w *File) rescue(dir, path string) (name string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := io.NewSectionReader(w.file, 0, w.size.Load())
	return rescue.Text(dir, path, w.part()+"."+w.View.Name(), text)
}

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

// label notes for what comes after a kill whether file has something that is not stored. The caller
// holds mu.
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

// IsCut reports whether a program has truncated the text to nothing, and nothing was written since.
func (w *File) IsCut() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cut
}

// Take makes what was written the content of the array. An empty text has no effect yet: shells
// close a duplicate of the file before they write.
func (w *File) Take(durable bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due = false
	if !w.written.Load() || w.size.Load() == 0 {
		return nil
	}
	return w.takeAll(durable)
}

// TakeEmpty makes an empty text the content of the array, if a program has truncated it to nothing.
func (w *File) TakeEmpty() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.cut {
		return nil
	}
	return w.takeAll(false)
}

// takeAll is take, whatever the text is. The caller holds mu.
func (w *File) takeAll(durable bool) error {
	if w.gone.Load() {
		return w.lost()
	}
	f := w.table
	path, err := w.takeWhereItIs(durable)
	f.Stat.ForgetAll(path)
	switch {
	case err == nil:
		f.Failures.Note(path, nil)
		w.failed.Store(nil)
		w.written.Store(false)
		w.cut = false
		w.label() // otherwise it seems to be left after a kill, though it is stored
	case isRefused(err) || w.with != nil: // what is compared is not to be stored later either
		if w.bad != nil { // it was said already, by the same words
			err = w.bad
		}
		f.Failures.Note(path, err)
		w.failed.Store(nil)
		w.cut = w.cut && w.with == nil
		return err
	default:
		w.failed.Store(&err)
		w.later()
		return err
	}
	if !w.loaded.Load() {
		return w.forget()
	}
	w.stored = w.fingerprint()
	return nil
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

// takeWhereItIs takes the text at the array's path, also if the array is just being renamed. The
// caller holds mu.
func (w *File) takeWhereItIs(durable bool) (path string, err error) {
	text := view.Written{ReaderAt: w.file, Size: w.size.Load()}
	take := func() (path string, err error) {
		path = w.Path()
		if err := w.table.Sites.Check(path, &w.home); err != nil {
			return path, err
		}
		if w.with != nil {
			has, err := w.table.Compared.Text(w.file, text.Size, path, w.View, w.with)
			if has || err != nil {
				return path, err
			}
		}
		return path, w.View.Take(w.table.Ctx, w.table.H, path, text, w.loaded.Load(), durable)
	}
	return w.table.Sites.WhereItIs(w.Path, func() bool { return !w.gone.Load() }, take)
}

// storeAgain is how long after a failure the next attempt to store begins.
const storeAgain = 5 * time.Second

// later tries to store again, without a request.
func (w *File) later() {
	time.AfterFunc(storeAgain, func() {
		if w.table.Ctx.Err() == nil {
			w.table.Store() // its error is noted, and tried again
		}
	})
}

// isRefused reports whether an error is a permanent one of the input, not of the store.
func isRefused(err error) bool {
	switch errno.Of(err) {
	case syscall.EINVAL, syscall.EOPNOTSUPP, syscall.EROFS, syscall.ENOENT, syscall.EFBIG, syscall.ESTALE:
		return true
	}
	return false
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

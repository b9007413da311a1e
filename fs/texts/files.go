package texts

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/fs/compare"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/site"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

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
	states      pathstate.Parts[Part]
	recreations atomic.Int64
}

// New returns the texts of a mount. There are none yet.
func New(of Mount, states pathstate.Parts[Part]) *Files { return &Files{Mount: of, states: states} }

// below returns the files of the array at path, or of those in the group at path.
func (t *Files) below(path string) (files wholeFiles) {
	t.states.Each(path, func(_ string, s *Part) { files = append(files, s.files...) })
	return files
}

// Find returns the file of a view of the array at path, nil if there is none.
func (t *Files) Find(path string, v view.View) *File {
	return t.FindAt(pathstate.At(path), v)
}

// FindAt is Find for the path that where returns, also if a rename comes just then.
func (t *Files) FindAt(where func() string, v view.View) (w *File) {
	t.states.Seek(where, func(s *Part) { w = s.files.of(v) })
	return w
}

// Open counts a writable handle of a view of the array at the path that where returns. A text of an
// array that another program has recreated since ends.
func (t *Files) Open(where func() string, v view.TextView) (*File, error) {
	if w := t.count(where, v, nil); w != nil {
		return w, nil
	}
	file, err := t.Transients.MakeFile()
	if err != nil {
		return nil, err
	}
	made := &File{table: t, View: v, text: text{file: file}}
	w := t.count(where, v, made)
	if w != made {
		file.Close()
	}
	return w, nil
}

// count counts a handle of the file that is there, or otherwise of made if that is not nil.
func (t *Files) count(where func() string, v view.TextView, made *File) (w *File) {
	t.InDirectory(where, func(s *Part, identity string) {
		if w = s.files.of(v); w == nil && made != nil {
			w = made
			w.home.Note(identity)
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
		lost = w.opens == 0 && w.written.Load() && w.size.Load() > 0 && !w.gone.Load() &&
			w.failed.Load() == nil
		s.files.end(w)
	})
	if lost {
		t.Log.Warn("what a program wrote to an array's file was not stored in the array", "path",
			w.Path(), "view", w.View.Name(), "bytes", w.size.Load())
	}
}

// Empty takes a text that programs have truncated to nothing, when its last handle ends. It reports
// whether it has done so.
func (t *Files) Empty(w *File) (taken bool, err error) {
	last := false
	t.states.Follow(w.Path, func(*Part) { last = w.opens == 1 })
	if !last || !w.IsEmptied() {
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

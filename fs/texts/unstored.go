package texts

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore/rescue"
)

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
	return appended
}

// appended ends the name of a file that has only what was appended, before its view's suffix.
const appended = "-appended"

// Appended returns the view of a file that a mount has kept, if the file has only what was appended
// to an array. Otherwise it returns nil.
func Appended(file string) view.View {
	base, v := view.Split(file)
	if t, isText := v.(view.TextView); isText && t.Appends() && strings.HasSuffix(base, appended) {
		return v
	}
	return nil
}

// rescue copies the text to a file in the folder dir, and returns its name. If there is room for a
// part only, there is no file.
func (w *File) rescue(dir, path string) (name string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := io.NewSectionReader(w.file, 0, w.size.Load())
	return rescue.Text(dir, path, w.part()+"."+w.View.Name(), text)
}

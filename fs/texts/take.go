package texts

import (
	"syscall"
	"time"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/view"
)

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
	case syscall.EINVAL, syscall.EOPNOTSUPP, syscall.EROFS, syscall.ENOENT, syscall.EFBIG,
		syscall.ESTALE:
		return true
	}
	return false
}

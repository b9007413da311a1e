package fs

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"syscall"
	"time"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/pathstate"
)

// failures remembers, by path, why requests to a node were refused. user.zarrfs.error of the node
// and of its folder shows it.
type failures struct{ *pathstate.Bounded[failure] }

// failure is why a node was refused something, and when.
type failure struct {
	err  error
	at   time.Time
	read bool // it could not be read; the next open for reading forgets that
}

// failuresMost is how many are remembered.
const failuresMost = 1024

func (t *failures) init(states *states) {
	t.Bounded = pathstate.NewBounded(pathstate.PartsOf(states, func(s *state) *pathstate.Bound[failure] {
		return &s.failure
	}), failuresMost)
}

// note remembers an error, or forgets it after a success.
func (t *failures) note(path string, err error) {
	if err == nil {
		t.Drop(path)
		return
	}
	t.Edit(path, func(*failure) *failure { return &failure{err: err, at: time.Now()} })
}

// noteRead remembers why a node could not be read. It does not replace the reason of a refused
// change.
func (t *failures) noteRead(path string, err error) {
	t.Edit(path, func(known *failure) *failure {
		if known != nil && !known.read {
			return known
		}
		return &failure{err: err, at: time.Now(), read: true}
	})
}

// opened forgets why the node at path could not be read: perhaps it was repaired.
func (t *failures) opened(path string) {
	t.Change(path, func(known *failure) *failure {
		if known.read {
			return nil
		}
		return known
	})
}

// of returns why the node at path was refused something last, nil if it was not.
func (t *failures) of(path string) error {
	if f := t.Of(path); f != nil {
		return f.err
	}
	return nil
}

// in returns the last error of the group at dir, or of what is, or would have been, directly in it.
func (t *failures) in(dir string) error {
	var last failure
	for _, path := range t.Entered() {
		if parent, _ := names.Split(path); path != dir && parent != dir {
			continue
		}
		if f := t.Of(path); f != nil && f.at.After(last.at) {
			last = *f
		}
	}
	return last.err
}

// answerChange returns the number for how a change of the node at path has ended. The reason of a
// refusal is remembered until another change succeeds.
func (f *filesystem) answerChange(op, path string, err error) syscall.Errno {
	if err == nil {
		f.failures.note(path, nil)
	}
	return f.answer(op, path, err)
}

// answer is answerChange for an operation whose success does not mean that an earlier refused
// change is repaired, such as a close.
func (f *filesystem) answer(op, path string, err error) syscall.Errno {
	err = f.storeGone(err)
	if err != nil && f.unsaved(path) == nil {
		f.failures.note(path, err)
	}
	return f.errors.Errno(op, path, err)
}

// answerRead is answer for an open, or a read, of what is to be read only.
func (f *filesystem) answerRead(op, path string, err error) syscall.Errno {
	if !errno.IsExpected(op, err) {
		f.failures.noteRead(path, err)
	}
	return f.errors.Errno(op, path, err)
}

// answerLookup is the number for a name that was looked up in the group at dir. A name that is not
// found is usual. But where the store is gone no name is found, and the log says why.
func (f *filesystem) answerLookup(dir, name string, err error) syscall.Errno {
	if errors.Is(err, iofs.ErrNotExist) {
		if gone := f.removedStore(); gone != nil {
			return f.errors.Errno("lookup", "", gone)
		}
	}
	return f.errors.Errno("lookup", names.Join(dir, name), err)
}

// answerAt is answer for a request for a name in the group at dir.
func (f *filesystem) answerAt(op, dir, name string, err error) syscall.Errno {
	path := names.Join(dir, name)
	if of, _, ok := f.viewPath(dir, name); ok && err != nil {
		path = of
	}
	return f.answer(op, path, err)
}

// storeGone replaces an error that something is missing if the whole store is missing.
func (f *filesystem) storeGone(err error) error {
	if !errors.Is(err, iofs.ErrNotExist) || errors.As(err, new(*errno.RemovedStore)) {
		return err
	}
	if gone := f.removedStore(); gone != nil {
		return fmt.Errorf("%w: %w", gone, err)
	}
	return err
}

// removedStore returns an error if the store's folder is not there any more.
func (f *filesystem) removedStore() error {
	if f.o.Folder == "" {
		return nil
	}
	if _, err := os.Stat(f.o.Folder); !errors.Is(err, iofs.ErrNotExist) {
		return nil
	}
	return &errno.RemovedStore{Folder: f.o.Folder}
}

// unsaved returns why what was written to the array at path could not be stored at the last
// attempt. It returns nil if it was stored.
func (f *filesystem) unsaved(path string) error {
	if w := f.writings.find(path); w != nil {
		if _, err := w.unsaved(); err != nil {
			return err
		}
	}
	return f.wholes.unsaved(path)
}

package fs

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/names"
)

// answerChange returns the number for how a change of the node at path has ended. The reason of a
// refusal is remembered until another change succeeds.
func (f *filesystem) answerChange(op, path string, err error) syscall.Errno {
	if err == nil {
		f.failures.Note(path, nil)
	}
	return f.answer(op, path, err)
}

// answer is answerChange for an operation whose success does not mean that an earlier refused
// change is repaired, such as a close.
func (f *filesystem) answer(op, path string, err error) syscall.Errno {
	err = f.storeGone(err)
	if err != nil && f.unsaved(path) == nil {
		f.failures.Note(path, err)
	}
	return f.errors.Errno(op, path, err)
}

// answerRead is answer for an open, or a read, of what is to be read only.
func (f *filesystem) answerRead(op, path string, err error) syscall.Errno {
	if !errno.IsExpected(op, err) {
		f.failures.NoteRead(path, err)
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
	if of, _, ok := f.names.Path(dir, name); ok && err != nil {
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

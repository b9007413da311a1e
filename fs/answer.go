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

// answers are how the requests of a mount are answered: an error becomes a number, is logged once,
// and the reason of a refusal stays for the node's user.zarrfs.error.
type answers struct {
	errors   errno.Log
	failures *errno.Failures
	folder   string // a local folder of the store; "": it has none

	root    func() error                          // why the root that is held is not found
	pathOf  func(dir, name string) (string, bool) // of the array or group of which a name is a view
	unsaved func(path string) error               // why what was written there is not stored; nil: it is
}

// answerChange returns the number for how a change of the node at path has ended. The reason of a
// refusal is remembered until another change succeeds.
func (a *answers) answerChange(op, path string, err error) syscall.Errno {
	if err == nil {
		a.failures.Note(path, nil)
	}
	return a.answer(op, path, err)
}

// answer is answerChange for an operation whose success does not mean that an earlier refused
// change is repaired, such as a close.
func (a *answers) answer(op, path string, err error) syscall.Errno {
	err = a.storeGone(err)
	if err != nil && a.unsaved(path) == nil {
		a.failures.Note(path, err)
	}
	return a.errors.Errno(op, path, err)
}

// answerRead is answer for an open, or a read, of what is to be read only.
func (a *answers) answerRead(op, path string, err error) syscall.Errno {
	if !errno.IsExpected(op, err) {
		a.failures.NoteRead(path, err)
	}
	return a.errors.Errno(op, path, err)
}

// answerLookup is the number for a name that was looked up in the group at dir. A name that is not
// found is usual. But where the store is gone no name is found, and the log says why.
func (a *answers) answerLookup(dir, name string, err error) syscall.Errno {
	if errors.Is(err, iofs.ErrNotExist) {
		if gone := a.removedStore(); gone != nil {
			return a.errors.Errno("lookup", "", gone)
		}
	}
	return a.errors.Errno("lookup", names.Join(dir, name), err)
}

// answerAt is answer for a request for a name in the group at dir.
func (a *answers) answerAt(op, dir, name string, err error) syscall.Errno {
	path := names.Join(dir, name)
	if of, ok := a.pathOf(dir, name); ok && err != nil {
		path = of
	}
	return a.answer(op, path, err)
}

// storeGone replaces an error that something is missing if the whole store is missing.
func (a *answers) storeGone(err error) error {
	if !errors.Is(err, iofs.ErrNotExist) || errors.As(err, new(*errno.RemovedStore)) {
		return err
	}
	if gone := a.removedStore(); gone != nil {
		return fmt.Errorf("%w: %w", gone, err)
	}
	return err
}

// removedStore returns an error if the store's folder is not there any more. A folder that was
// renamed is there: the mount holds it, and all goes on in it.
func (a *answers) removedStore() error {
	if a.folder == "" {
		return nil
	}
	_, err := os.Stat(a.folder)
	if !errors.Is(err, iofs.ErrNotExist) || !errors.Is(a.root(), iofs.ErrNotExist) {
		return nil
	}
	return &errno.RemovedStore{Folder: a.folder}
}

// whyUnsaved returns why what was written to the array at path could not be stored at the last
// attempt. It returns nil if it was stored.
func (f *filesystem) whyUnsaved(path string) error {
	if w := f.writings.Find(path); w != nil {
		if _, err := w.Unsaved(); err != nil {
			return err
		}
	}
	return f.wholes.Unsaved(path)
}

package errno

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/names"
)

// Answers are how the requests of a mount are answered: an error becomes a number, is logged once,
// and the reason of a refusal stays for the node's user.zarrfs.error.
type Answers struct {
	Errors   Log
	Failures *Failures
	Folder   string // a local folder of the store; "": it has none

	Root   func() error                          // why the root that is held is not found
	PathOf func(dir, name string) (string, bool) // of the array or group of which a name is a view
	// why what was written there is not stored; nil: it is
	Unsaved func(path string) error
}

// AnswerChange returns the number for how a change of the node at path has ended. The reason of a
// refusal is remembered until another change succeeds.
func (a *Answers) AnswerChange(op, path string, err error) syscall.Errno {
	if err == nil {
		a.Failures.Note(path, nil)
	}
	return a.Answer(op, path, err)
}

// Answer is AnswerChange for an operation whose success does not mean that an earlier refused
// change is repaired, such as a close.
func (a *Answers) Answer(op, path string, err error) syscall.Errno {
	err = a.storeGone(err)
	if err != nil && a.Unsaved(path) == nil {
		a.Failures.Note(path, err)
	}
	return a.Errors.Errno(op, path, err)
}

// AnswerRead is Answer for an open, or a read, of what is to be read only.
func (a *Answers) AnswerRead(op, path string, err error) syscall.Errno {
	if !IsExpected(op, err) {
		a.Failures.NoteRead(path, err)
	}
	return a.Errors.Errno(op, path, err)
}

// AnswerLookup is the number for a name that was looked up in the group at dir. A name that is not
// found is usual. But where the store is gone no name is found, and the log says why.
func (a *Answers) AnswerLookup(dir, name string, err error) syscall.Errno {
	if errors.Is(err, iofs.ErrNotExist) {
		if gone := a.RemovedStore(); gone != nil {
			return a.Errors.Errno("lookup", "", gone)
		}
	}
	return a.Errors.Errno("lookup", names.Join(dir, name), err)
}

// AnswerAt is Answer for a request for a name in the group at dir.
func (a *Answers) AnswerAt(op, dir, name string, err error) syscall.Errno {
	path := names.Join(dir, name)
	if of, ok := a.PathOf(dir, name); ok && err != nil {
		path = of
	}
	return a.Answer(op, path, err)
}

// storeGone replaces an error that something is missing if the whole store is missing.
func (a *Answers) storeGone(err error) error {
	if !errors.Is(err, iofs.ErrNotExist) || errors.As(err, new(*RemovedStore)) {
		return err
	}
	if gone := a.RemovedStore(); gone != nil {
		return fmt.Errorf("%w: %w", gone, err)
	}
	return err
}

// RemovedStore returns an error if the store's folder is not there any more. A folder that was
// renamed is there: the mount holds it, and all goes on in it.
func (a *Answers) RemovedStore() error {
	if a.Folder == "" {
		return nil
	}
	_, err := os.Stat(a.Folder)
	if !errors.Is(err, iofs.ErrNotExist) || !errors.Is(a.Root(), iofs.ErrNotExist) {
		return nil
	}
	return &RemovedStore{Folder: a.Folder}
}

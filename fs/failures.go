package fs

import (
	"maps"
	"sync"
	"syscall"
)

// failures remembers, by path, why what programs wanted of a node was refused, for user.zarrfs.error.
type failures struct {
	mu     sync.Mutex
	byPath map[string]error
}

// failuresMost is how many are remembered.
const failuresMost = 1024

// note remembers an error, or forgets it after a success.
func (t *failures) note(path string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		delete(t.byPath, path)
		return
	}
	if t.byPath == nil || len(t.byPath) >= failuresMost {
		t.byPath = make(map[string]error)
	}
	t.byPath[path] = err
}

// forget forgets the errors of what is at path or below it.
func (t *failures) forget(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.byPath, func(p string, _ error) bool { return isUnder(p, path) })
}

func (t *failures) of(path string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byPath[path]
}

// answerChange returns the number for how a change of the node at path has ended. The reason of a refusal is remembered until another
// change is taken.
func (f *filesystem) answerChange(op, path string, err error) syscall.Errno {
	if err == nil {
		f.failures.note(path, nil)
	}
	return f.answerClose(op, path, err)
}

// answerClose is answerChange for a close or fsync: one that succeeds says nothing of a change that was refused before it.
func (f *filesystem) answerClose(op, path string, err error) syscall.Errno {
	if err != nil && f.unsaved(path) == nil {
		f.failures.note(path, err)
	}
	return f.errors.errno(op, path, err)
}

// unsaved returns why what was written to the array at path could not be stored when that was last tried; nil if it was.
func (f *filesystem) unsaved(path string) error {
	if w := f.writings.find(path); w != nil {
		if _, err := w.unsaved(); err != nil {
			return err
		}
	}
	return f.wholes.unsaved(path)
}

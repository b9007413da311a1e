package live

import (
	"sync"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// keptRenames is how many renames and removals are remembered. A program that writes to what it has
// just opened comes long before so many others.
const keptRenames = 4096

// A renameLog remembers the last renames and removals of this process, in order. An array that
// was moved when nobody had it open does not learn of the next rename, and is looked for by it.
type renameLog struct {
	mu   sync.Mutex
	last []renaming // a removal is one to ""
	all  int        // how many there were

	underway atomic.Pointer[renaming] // that this process is just doing; nil: none
}

// A renaming is a rename in the store.
type renaming struct{ from, to string }

// begin notes that a rename is about to be done in the store, until the caller calls end.
func (l *renameLog) begin(from, to string) (end func()) {
	l.underway.Store(&renaming{from, to})
	return func() { l.underway.Store(nil) }
}

// follow returns what becomes of a path by the rename that is just being done, if it is renamed.
func (l *renameLog) follow(path string) (string, bool) {
	r := l.underway.Load()
	if r == nil {
		return "", false
	}
	return store.Moved(path, r.from, r.to)
}

// add notes a rename. What was at to is removed by it.
func (l *renameLog) add(from, to string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(renaming{to, ""})
	l.note(renaming{from, to})
}

// remove notes that what was at path is removed.
func (l *renameLog) remove(path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(renaming{path, ""})
}

// note adds one of them. The caller holds mu.
func (l *renameLog) note(r renaming) {
	if len(l.last) == keptRenames {
		l.last = l.last[1:]
	}
	l.last, l.all = append(l.last, r), l.all+1
}

// count returns how many renames there were.
func (l *renameLog) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

// since returns what has become of a path by all of them but the first known. It reports false if
// what was there was removed, or if not all of them are remembered.
func (l *renameLog) since(path string, known int) (now string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := known - (l.all - len(l.last))
	if first < 0 {
		return "", false
	}
	for _, r := range l.last[first:] {
		to, moved := store.Moved(path, r.from, r.to)
		switch {
		case moved && r.to == "":
			return "", false
		case moved:
			path = to
		}
	}
	return path, true
}

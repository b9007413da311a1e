package live

import (
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// keptRenames is how many renames and removals are remembered. A program that writes to what it has
// just opened comes long before so many others.
const keptRenames = 4096

// A renameLog remembers the last renames and removals of this process, in order. An array that
// was moved when nobody had it open is not told of the next rename, and is looked for by it.
type renameLog struct {
	mu   sync.Mutex
	last []renaming // a removal is one to ""
	all  int        // how many there were
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

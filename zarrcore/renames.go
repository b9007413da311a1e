package zarrcore

import (
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// keptRenames is how many renames are remembered. A program that writes to an array which it has
// just opened comes long before so many others.
const keptRenames = 1024

// A renameLog remembers the last renames of this process, in their order. An array that was moved
// when nobody had it open is not told of the next rename, and is looked for by it.
type renameLog struct {
	mu   sync.Mutex
	last []renaming
	all  int // how many there were
}

// add notes a rename.
func (l *renameLog) add(from, to string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) == keptRenames {
		l.last = l.last[1:]
	}
	l.last, l.all = append(l.last, renaming{from, to}), l.all+1
}

// count returns how many renames there were.
func (l *renameLog) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

// since returns what has become of a path by all renames but the first known.
func (l *renameLog) since(path string, known int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.last[max(0, known-(l.all-len(l.last))):] {
		if to, ok := store.Moved(path, r.from, r.to); ok {
			path = to
		}
	}
	return path
}

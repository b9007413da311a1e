package fs

import (
	"slices"
	"sync"

	"github.com/zarrfs/zarrfs/fs/pathstate"
)

// state is what the mount knows of a path: of the group or array there, and of its files. All of it
// is in one table: a rename moves it, and a removal ends it. The table's lock is innermost except
// writing.mu and identities.mu.
type state struct {
	writing  carried[*writing]  // what programs write to the array's files
	document carried[*document] // its document, while programs write it
	wholes   wholeFiles         // files that are taken as a whole, while programs write them
	unlinked unlinkedViews      // views that were removed

	transients transientFiles // of a group: files in it that the store does not have

	trace   bound[trace]       // what a process did to it
	failure bound[failure]     // why it was refused something
	recent  bound[recentNode]  // its metadata, as it was a moment ago
	stored  bound[storedEntry] // what it takes in the store
}

// states are those of a mount.
type states = pathstate.Table[state, *state]

// part is one thing that is known of a path. Its methods are called while the table is locked.
type part interface {
	// moved notes that what was at the path is at another one now.
	moved(to string)
	// ended notes that nothing is at the path any more.
	ended()
	// isEmpty reports whether nothing is known.
	isEmpty() bool
}

// parts returns all parts of a state.
func (s *state) parts() [9]part {
	return [...]part{&s.writing, &s.document, &s.wholes, &s.unlinked, &s.transients, &s.trace, &s.failure, &s.recent, &s.stored}
}

// Moved implements pathstate.State.
func (s *state) Moved(to string) {
	for _, p := range s.parts() {
		p.moved(to)
	}
}

// Ended implements pathstate.State.
func (s *state) Ended() {
	for _, p := range s.parts() {
		p.ended()
	}
}

// IsEmpty implements pathstate.State.
func (s *state) IsEmpty() bool {
	for _, p := range s.parts() {
		if !p.isEmpty() {
			return false
		}
	}
	return true
}

// Join implements pathstate.State. Only files that the store does not have stay where a group has
// ended.
func (s *state) Join(stayed *state) { s.transients.join(stayed.transients) }

// carried is a part that goes along with what is renamed. It knows its path itself, for those that
// have it open.
type carried[T interface {
	comparable
	moved(to string)
	ended()
}] struct{ it T }

func (p *carried[T]) moved(to string) {
	if !p.isEmpty() {
		p.it.moved(to)
	}
}

func (p *carried[T]) ended() {
	if !p.isEmpty() {
		p.it.ended()
	}
	*p = carried[T]{}
}

// take takes over what another state has of this part, and ends what was here before.
func (p *carried[T]) take(other *carried[T], to string) {
	p.ended()
	*p, *other = *other, carried[T]{}
	p.moved(to)
}

func (p *carried[T]) isEmpty() bool { return *p == carried[T]{} }

// bound is a part that is true of what is at this path only: a rename ends it, as a removal does.
type bound[T any] struct{ it *T }

func (p *bound[T]) moved(string)  { p.it = nil }
func (p *bound[T]) ended()        { p.it = nil }
func (p *bound[T]) isEmpty() bool { return p.it == nil }

// bounded are all parts of one kind, of so many paths at most: that of the path which came first
// makes room.
type bounded[T any] struct {
	states *states
	part   func(*state) *bound[T]
	most   int

	mu    sync.Mutex // guards paths and next; innermost
	paths []string   // that have got a part, the oldest at next where there are most of them
	next  int
}

// of returns a copy of the part of a path, or nil if there is no part.
func (b *bounded[T]) of(path string) (part *T) {
	b.states.Look(path, func(s *state) {
		if it := b.part(s).it; it != nil {
			found := *it
			part = &found
		}
	})
	return part
}

// edit replaces the part of a path by what change returns for it. nil stands for no part. change is
// called while the states are locked.
func (b *bounded[T]) edit(path string, change func(*T) *T) {
	oldest, full := "", false
	b.states.Make(path, func(s *state) {
		p := b.part(s)
		isNew := p.it == nil
		p.it = change(p.it)
		if isNew && p.it != nil {
			oldest, full = b.enter(path)
		}
	})
	if full && oldest != path {
		b.drop(oldest)
	}
}

// drop ends the part of a path.
func (b *bounded[T]) drop(path string) {
	b.states.Edit(path, func(s *state) { b.part(s).it = nil })
}

// enter notes that a path has got a part, and returns the path that makes room for it, if one must.
func (b *bounded[T]) enter(path string) (oldest string, full bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.paths) < b.most {
		b.paths = append(b.paths, path)
		return "", false
	}
	oldest, b.paths[b.next] = b.paths[b.next], path
	b.next = (b.next + 1) % b.most
	return oldest, true
}

// entered returns the paths that have got a part and did not make room since.
func (b *bounded[T]) entered() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.paths)
}

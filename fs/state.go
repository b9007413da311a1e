package fs

import "github.com/zarrfs/zarrfs/fs/pathstate"

// state is what the mount knows of a path: of the group or array there, and of its files. All of it is in one table, so that what is
// renamed takes it along and what is removed gives it up. The table's lock is innermost but for writing.mu.
type state struct {
	writing  carried[*writing]  // what programs write to the array's files
	document carried[*document] // its document, while programs write it
	wholes   wholeFiles         // files that are taken as a whole, while programs write them
	unlinked unlinkedViews      // views that were removed
}

// states are those of a mount.
type states = pathstate.Table[state, *state]

// part is one thing that is known of a path. Its methods are called while the table is locked.
type part interface {
	// moved tells that what was at the path is at another one now.
	moved(to string)
	// ended tells that nothing is at the path any more.
	ended()
	// isEmpty reports whether nothing is known.
	isEmpty() bool
}

// parts returns all parts of a state.
func (s *state) parts() [4]part {
	return [...]part{&s.writing, &s.document, &s.wholes, &s.unlinked}
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

// Join implements pathstate.State. Nothing stays where something has ended.
func (s *state) Join(*state) {}

// carried is a part that goes along with what is renamed. It knows its path itself, for those that have it open.
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

func (p *carried[T]) isEmpty() bool { return *p == carried[T]{} }

package pathstate

import (
	"slices"
	"sync"
)

// Part is one thing that is known of a path. A state has several of them. Its methods are called
// while the table is locked.
type Part interface {
	// Moved notes that what was at the path is at another one now.
	Moved(to string)
	// Ended notes that nothing is at the path any more.
	Ended()
	// IsEmpty reports whether nothing is known.
	IsEmpty() bool
}

// Parts are the parts of one kind of all states of a table, each at its path. A package that keeps
// one kind gets them, and knows nothing of the others. The methods are those of Table.
type Parts[T any] interface {
	Look(path string, see func(*T))
	// Copy returns a copy of the part that Seek finds, or the zero value.
	Copy(where func() string) T
	Seek(where func() string, see func(*T))
	Edit(path string, change func(*T))
	Make(path string, change func(*T))
	Follow(where func() string, change func(*T))
	Both(where func() (one, other string), change func(one, other *T))
	Each(path string, change func(path string, part *T))
	Changes() int64
}

// At returns where something is that no rename moves meanwhile: always at path.
func At(path string) (where func() string) { return func() string { return path } }

// PartsOf returns the parts of a table that part finds in a state.
func PartsOf[S any, P State[S], T any](t *Table[S, P], part func(P) *T) Parts[T] {
	return parts[S, P, T]{t, part}
}

type parts[S any, P State[S], T any] struct {
	table *Table[S, P]
	part  func(P) *T
}

func (p parts[S, P, T]) Look(path string, see func(*T)) {
	p.table.Look(path, func(s P) { see(p.part(s)) })
}

func (p parts[S, P, T]) Copy(where func() string) (part T) {
	p.table.Seek(where, func(s P) { part = *p.part(s) })
	return part
}

func (p parts[S, P, T]) Seek(where func() string, see func(*T)) {
	p.table.Seek(where, func(s P) { see(p.part(s)) })
}

func (p parts[S, P, T]) Edit(path string, change func(*T)) {
	p.table.Edit(path, func(s P) { change(p.part(s)) })
}

func (p parts[S, P, T]) Make(path string, change func(*T)) {
	p.table.Make(path, func(s P) { change(p.part(s)) })
}

func (p parts[S, P, T]) Follow(where func() string, change func(*T)) {
	p.table.Follow(where, func(s P) { change(p.part(s)) })
}

func (p parts[S, P, T]) Both(where func() (one, other string), change func(one, other *T)) {
	p.table.Both(where, func(one, other P) { change(p.part(one), p.part(other)) })
}

func (p parts[S, P, T]) Each(path string, change func(path string, part *T)) {
	p.table.Each(path, func(path string, s P) { change(path, p.part(s)) })
}

func (p parts[S, P, T]) Changes() int64 { return p.table.Changes() }

// Carried is a part that goes along with what is renamed. It knows its path itself, for those that
// have it open.
type Carried[T interface {
	comparable
	Moved(to string)
	Ended()
}] struct{ It T }

// Moved implements Part.
func (p *Carried[T]) Moved(to string) {
	if !p.IsEmpty() {
		p.It.Moved(to)
	}
}

// Ended implements Part.
func (p *Carried[T]) Ended() {
	if !p.IsEmpty() {
		p.It.Ended()
	}
	*p = Carried[T]{}
}

// Take takes over what another state has of this part, and ends what was here before.
func (p *Carried[T]) Take(other *Carried[T], to string) {
	p.Ended()
	*p, *other = *other, Carried[T]{}
	p.Moved(to)
}

// IsEmpty implements Part.
func (p *Carried[T]) IsEmpty() bool { return *p == Carried[T]{} }

// Bound is a part that is true of what is at this path only: a rename ends it, as a removal does.
type Bound[T any] struct{ it *T }

// Moved implements Part.
func (p *Bound[T]) Moved(string) { p.it = nil }

// Ended implements Part.
func (p *Bound[T]) Ended() { p.it = nil }

// IsEmpty implements Part.
func (p *Bound[T]) IsEmpty() bool { return p.it == nil }

// Change replaces the part by what change returns for it, if there is one.
func (p *Bound[T]) Change(change func(*T) *T) {
	if p.it != nil {
		p.it = change(p.it)
	}
}

// Bounded are all parts of one kind, of so many paths at most: that of the path which came first
// makes room.
type Bounded[T any] struct {
	parts Parts[Bound[T]]
	most  int

	mu    sync.Mutex // guards paths and next; innermost
	paths []string   // that have got a part, the oldest at next where there are most of them
	next  int
}

// NewBounded returns parts of so many paths at most.
func NewBounded[T any](parts Parts[Bound[T]], most int) *Bounded[T] {
	return &Bounded[T]{parts: parts, most: most}
}

// Of returns a copy of the part of a path, or nil if there is no part.
func (b *Bounded[T]) Of(path string) (part *T) {
	b.parts.Look(path, func(p *Bound[T]) {
		if p.it != nil {
			found := *p.it
			part = &found
		}
	})
	return part
}

// Shared is Of without the copy, for parts that are replaced and never changed.
func (b *Bounded[T]) Shared(path string) (part *T) {
	b.parts.Look(path, func(p *Bound[T]) { part = p.it })
	return part
}

// Edit replaces the part of a path by what change returns for it. nil stands for no part. change is
// called while the table is locked.
func (b *Bounded[T]) Edit(path string, change func(*T) *T) {
	oldest, full := "", false
	b.parts.Make(path, func(p *Bound[T]) {
		isNew := p.it == nil
		p.it = change(p.it)
		if isNew && p.it != nil {
			oldest, full = b.enter(path)
		}
	})
	if full && oldest != path {
		b.Drop(oldest)
	}
}

// Change is Edit where there is a part.
func (b *Bounded[T]) Change(path string, change func(*T) *T) {
	b.parts.Edit(path, func(p *Bound[T]) { p.Change(change) })
}

// Drop ends the part of a path.
func (b *Bounded[T]) Drop(path string) {
	b.parts.Edit(path, func(p *Bound[T]) { p.it = nil })
}

// HasAny reports whether the part of path, or of a path below it, is one that is reports. is is
// called while the table is locked.
func (b *Bounded[T]) HasAny(path string, is func(path string, part *T) bool) (found bool) {
	b.parts.Each(path, func(path string, p *Bound[T]) {
		found = found || p.it != nil && is(path, p.it)
	})
	return found
}

// Changes returns how many moves and ends there were, as Table.Changes does.
func (b *Bounded[T]) Changes() int64 { return b.parts.Changes() }

// enter notes that a path has got a part, and returns the path that makes room for it, if one must.
func (b *Bounded[T]) enter(path string) (oldest string, full bool) {
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

// Len returns how many paths have got a part and did not make room since.
func (b *Bounded[T]) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.paths)
}

// Entered returns the paths that have got a part and did not make room since.
func (b *Bounded[T]) Entered() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.paths)
}

package store

// Traits say what a store is like, so that its readers ask for no more than it gives cheaply. The
// zero Traits are those of a store in memory.
type Traits struct {
	// Remote says that each call takes a round trip over a network. Readers then ask for several
	// objects at once, and for no more than they need.
	Remote bool

	// Immutable says that what is found once stays as it is: nothing is read again.
	Immutable bool

	// DirTimes says that the ModTime of a directory changes whenever a name in it does.
	DirTimes bool

	// List is what a listing costs.
	List ListKind

	// Versions is what Info.Version says.
	Versions VersionKind

	// ValidName reports whether the store can hold a key with this element; nil: it holds them all.
	ValidName func(elem string) bool
}

// ListKind is what it costs to list a directory, or to ask whether there is one.
type ListKind uint8

// The kinds of listings.
const (
	ListCheap ListKind = iota // no more than to read an object: a folder, a list in memory
	ListDear                  // a round trip for each directory, or each page of it
	ListNever                 // always ErrCannotList
)

// VersionKind is what Info.Version says.
type VersionKind uint8

// The kinds of versions. Equal versions of a key always mean equal bytes.
const (
	VersionEvery   VersionKind = iota // each replacement has a version that never comes again
	VersionContent                    // an object replaced by the same bytes keeps its version
	VersionNone                       // it is ""
)

// Traiter is a Driver that says what its store is like. It is optional: a Driver without it has the
// traits of a folder.
type Traiter interface {
	// Traits never changes.
	Traits() Traits
}

// TraitsOf returns the traits of d.
func TraitsOf(d Driver) Traits {
	if t, ok := d.(Traiter); ok {
		return t.Traits()
	}
	return Traits{DirTimes: true}
}

// Traits returns what the store is like.
func (s *Store) Traits() Traits { return s.traits }

// Package store says what zarrfs needs of a key-value store that holds a Zarr hierarchy.
//
// A backend implements [Driver] (and [Writer], [Locker], [Linker], [Refresher] where it can) in a
// package of its own. Everybody else uses the concrete type [Store], which holds what all backends
// have in common: checking keys, naming the key in errors, size limits.
//
// # Keys
//
// A key is a path of elements joined by "/" without a leading or trailing one, as in the Zarr
// specifications: "ocean/zarr.json", "ocean/c/0/1". A directory is a common prefix of keys; it
// needs no object of its own. "" names the root directory.
//
// # Writing
//
// An object is replaced in steps, so that a flush pays once for what it can pay once: [Store.Stage]
// each object, [Store.SyncStaged] them all, [Staged.Commit] each, [Store.SyncDirs] where an fsync
// asks for it. [Store.Put] is the first three for one object. [Store.StageParts] stages one that is
// not in memory as a whole. A condition [If] makes a replacement fail, rather than undo what
// another writer did since the object was read. [Store.Hold] is for a writer of several objects of
// one directory, which others may rename meanwhile.
//
// # Remote stores
//
// [Traits] say what a call costs. Where each takes a round trip, a backend implements [Opener],
// [RangeReader], [Getter] and [Walker], which take one request where the plain calls take several.
//
// # Errors
//
// A missing key is fs.ErrNotExist. The sentinels below say the rest; anything else is the backend's
// own error, wrapped.
package store

import (
	"errors"
	"fmt"
	"io"
)

var (
	// ErrReadOnly is returned by all that changes a store where the backend cannot.
	ErrReadOnly = errors.New("store: read-only")

	// ErrConflict is returned where an object was changed by somebody else between reading and
	// replacing it.
	ErrConflict = errors.New("store: object was changed by another writer")

	// ErrNotEmpty is returned by RemoveAlone for a directory that holds more than its own objects.
	ErrNotEmpty = errors.New("not empty")

	// ErrInvalidKey is returned for a key that IsValidKey refuses. It is not fs.ErrNotExist: such a
	// key is never taken for a missing chunk.
	ErrInvalidKey = errors.New("store: invalid key")

	// ErrCannotList is returned by List and Survey of a store that can only be asked for objects by
	// their keys, as web servers are.
	ErrCannotList = fmt.Errorf("store: it cannot list what it holds: %w", errors.ErrUnsupported)

	// ErrTooLarge is returned by ReadAll for an object above the caller's limit.
	ErrTooLarge = errors.New("store: object is too large")
)

// Store is a Driver made safe and convenient. Its errors are *fs.PathError with the key as path. It
// is safe for concurrent use.
//
// It hands out values for other duties: [Store.Dirs] for what is done with directories,
// [Store.Links], [Store.Unfinished] for what killed programs leave, and [Store.Ahead] for what is
// fetched ahead of readers.
type Store struct {
	Reader
	name   string
	traits Traits // of the driver
	shared bool   // the driver is another Store's to close
}

// New returns the store behind d. name is shown to people: a path or URL without secrets.
func New(d Driver, name string) *Store {
	return newStore(keyspace{driver: d}, name)
}

func newStore(k keyspace, name string) *Store {
	return &Store{Reader: Reader{k}, name: name, traits: TraitsOf(k.driver)}
}

// Name returns the name given to New.
func (s *Store) Name() string { return s.name }

// Wrapped returns the store with the driver that wrap makes from its own driver. Close of s closes
// the driver of s; Close of the result does not.
func (s *Store) Wrapped(wrap func(Driver) Driver) *Store {
	w := *s
	w.driver, w.shared = wrap(s.driver), true
	w.traits = TraitsOf(w.driver)
	return &w
}

// Close releases what the backend holds, if it holds anything. Objects that are open stay usable.
func (s *Store) Close() error {
	if c, ok := s.driver.(io.Closer); ok && !s.shared {
		return annotate("close", s.name, c.Close())
	}
	return nil
}

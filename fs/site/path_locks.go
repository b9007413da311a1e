// Package site knows of each path whether this mount just makes or renames what is there. It also
// knows whether that is still what a program has opened.
package site

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"sync/atomic"
	"syscall"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/keyed"
)

// Paths are those of a mount, at which it makes and renames arrays and groups.
type Paths struct {
	ctx      context.Context // ends with the mount
	h        *zarrcore.Hierarchy
	renaming keyed.Tree   // stopped while what is at a path is renamed, until the states know
	renames  atomic.Int64 // how many have begun
	// By path: an array that is being stored looks like a folder until its document exists.
	creations keyed.Mutex
}

// New returns the paths of a mount, which ends with ctx.
func New(ctx context.Context, h *zarrcore.Hierarchy) *Paths { return &Paths{ctx: ctx, h: h} }

// Lock lets lookups and creations of a path wait until unlock is called.
func (s *Paths) Lock(path string) (unlock func()) { return s.creations.Lock(path) }

// Wait waits until nobody has locked a path.
func (s *Paths) Wait(path string) { s.creations.Wait(path) }

// Renames says that what is at a path is renamed until ended is called.
func (s *Paths) Renames(path string) (ended func()) {
	s.renames.Add(1)
	return s.renaming.Stop(path)
}

// A Moment is a point in time. A search for something begins with one, to know afterwards whether
// it was renamed meanwhile.
type Moment struct {
	paths   *Paths
	renames int64 // that had begun
}

// Now returns this moment.
func (s *Paths) Now() Moment { return Moment{s, s.renames.Load()} }

// HasMoved reports whether what was looked for at path since m may be elsewhere, or was meanwhile.
// where returns its path as the states know it. If this mount is just renaming it, HasMoved waits
// until that is done: the states follow after the store has renamed it. That where returns the
// same path is not enough, for it may have been renamed and renamed back. A rename of something
// else only lets the caller look once more.
func (m Moment) HasMoved(where func() string, path string) bool {
	m.paths.AwaitRename(path)
	return where() != path || m.paths.renames.Load() != m.renames
}

// CreateAt creates the array at the path of a file, as returned by where. The group may have just
// been renamed in this mount. The file gets its new path right after the store has renamed the
// group, and the array is created there.
func (s *Paths) CreateAt(
	where func() string, create func(path string) (*zarrcore.Array, error),
) (*zarrcore.Array, error) {
	for {
		since := s.Now()
		path, arr, err := s.createHere(where, create)
		if !errors.Is(err, iofs.ErrNotExist) || !since.HasMoved(where, path) {
			return arr, err
		}
	}
}

// AwaitRename waits until this mount has renamed what is at path, if it is doing so.
func (s *Paths) AwaitRename(path string) {
	s.renaming.Wait(context.Background(), path) // a rename ends with the mount
}

func (s *Paths) createHere(
	where func() string, create func(path string) (*zarrcore.Array, error),
) (path string, arr *zarrcore.Array, err error) {
	path, end := s.LockAt(where)
	defer end()
	arr, err = create(path)
	return path, arr, err
}

// LockAt locks what creates an array at the path that where returns. A rename of a new file
// waits for that lock, so the path stays what it is.
func (s *Paths) LockAt(where func() string) (path string, unlock func()) {
	for {
		path = where()
		unlock = s.creations.Lock(path)
		if where() == path {
			return path, unlock
		}
		unlock()
	}
}

// ErrVanished returns the error of a file whose array or group another program has removed.
func ErrVanished(path string) error {
	return fmt.Errorf("%w: another program has removed %q, and what was written to its file "+
		"is not stored; write it to the file that is there now", syscall.ESTALE, path)
}

// WhereItIs calls do. do looks for an array or group, and returns the path at which it has looked.
// If there is nothing, do is called again once where returns another path, since a rename may be
// under way. isThere reports whether the mount knows that the array or group was there and did not
// end.
func (s *Paths) WhereItIs(
	where func() string, isThere func() bool, do func() (path string, err error),
) (path string, err error) {
	for {
		since := s.Now()
		path, err = do()
		if !errors.Is(err, iofs.ErrNotExist) || !isThere() {
			return path, err
		}
		if !since.HasMoved(where, path) {
			return path, fmt.Errorf("%w: %w", ErrVanished(path), err)
		}
	}
}

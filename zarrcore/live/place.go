package live

import (
	"cmp"
	"context"
	"errors"
	iofs "io/fs"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/zarrcore/keyed"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// A place is where an array is: the path and the directory in which it was found, and what this
// process has made of that path since. It knows no array, and opens none. All is read without a
// lock, and all methods may be called concurrently.
type place struct {
	path    string
	where   string // the identity of the directory in which the array was found; "" if not known
	renames *renameLog

	moved atomic.Pointer[string] // the path that the array has now
	known atomic.Int64           // how many renames had been when moved was set
	away  keyed.Tree             // stopped while the array is moved in the store, and moved set

	// What is found at path may be another array's. moved is set before readers go on.
	replaced atomic.Bool
}

// isOtherThan reports whether two places are certain to be different directories: then the array of
// one of them has, or had, the name of the other.
func (p *place) isOtherThan(other *place) bool { return store.AreDifferent(p.where, other.where) }

// isMoved reports whether the array is not where it was found.
func (p *place) isMoved() bool { return p.moved.Load() != nil }

// at returns where the array is, as far as this process has moved it. It reports false if it was
// removed, or if that is not known any more.
func (p *place) at() (path string, ok bool) {
	moved := p.moved.Load()
	if moved == nil {
		return p.path, true
	}
	return p.renames.since(*moved, int(p.known.Load()))
}

// find calls look with the path where the array is, as far as this process has moved it. Where it
// is not found, a rename may have come meanwhile. Then look is called again. Its last error, or
// that there is no path, is returned.
func (p *place) find(look func(path string) error) (err error) {
	for {
		before := p.renames.count()
		path, ok := p.at()
		if !ok {
			return cmp.Or(err, iofs.ErrNotExist)
		}
		if err = look(path); !errors.Is(err, iofs.ErrNotExist) {
			return err
		}
		if to, ok := p.renames.follow(path); ok {
			if err = look(to); !errors.Is(err, iofs.ErrNotExist) {
				return err
			}
		}
		// It may have been renamed and renamed back.
		if now, _ := p.at(); now == path && p.renames.count() == before {
			return err
		}
	}
}

// movedTo notes the path that the array has now.
func (p *place) movedTo(path string) {
	p.known.Store(int64(p.renames.count()))
	p.moved.Store(&path)
}

// leave makes readers that do not find an object wait, until the array is at its new path.
func (p *place) leave() (arrived func()) { return p.away.Stop("") }

// hasLeft waits while the array is on its way to another path, and reports whether it is there. A
// reader calls hasLeft if it has not found an object, or if the object may be another array's.
func (p *place) hasLeft(ctx context.Context) (bool, error) {
	err := p.away.Wait(ctx, "")
	return err == nil && p.isMoved(), err
}

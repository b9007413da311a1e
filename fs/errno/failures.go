package errno

import (
	"time"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/pathstate"
)

// Failures remember, by path, why requests to a node were refused. user.zarrfs.error of the node
// and of its folder shows it.
type Failures struct{ parts *pathstate.Bounded[Failure] }

// Failure is why a node was refused something, and when: a part of the state of its path.
type Failure struct {
	err  error
	at   time.Time
	read bool // it could not be read; the next open for reading forgets that
}

// mostFailures is how many are remembered.
const mostFailures = 1024

// NewFailures returns the failures that the parts of a mount's states are.
func NewFailures(states pathstate.Parts[pathstate.Bound[Failure]]) *Failures {
	return &Failures{pathstate.NewBounded(states, mostFailures)}
}

// Note remembers an error, or forgets it after a success.
func (t *Failures) Note(path string, err error) {
	if err == nil {
		t.parts.Drop(path)
		return
	}
	t.parts.Edit(path, func(*Failure) *Failure { return &Failure{err: err, at: time.Now()} })
}

// NoteRead remembers why a node could not be read. It does not replace the reason of a refused
// change.
func (t *Failures) NoteRead(path string, err error) {
	t.parts.Edit(path, func(known *Failure) *Failure {
		if known != nil && !known.read {
			return known
		}
		return &Failure{err: err, at: time.Now(), read: true}
	})
}

// Opened forgets why the node at path could not be read: perhaps it was repaired.
func (t *Failures) Opened(path string) {
	t.parts.Change(path, func(known *Failure) *Failure {
		if known.read {
			return nil
		}
		return known
	})
}

// Of returns why the node at path was refused something last, nil if it was not.
func (t *Failures) Of(path string) error {
	if f := t.parts.Of(path); f != nil {
		return f.err
	}
	return nil
}

// In returns the last error of the group at dir, or of what is, or would have been, directly in it.
func (t *Failures) In(dir string) error {
	var last Failure
	for _, path := range t.parts.Entered() {
		if parent, _ := names.Split(path); path != dir && parent != dir {
			continue
		}
		if f := t.parts.Of(path); f != nil && f.at.After(last.at) {
			last = *f
		}
	}
	return last.err
}

package store

import (
	"context"
	"errors"
	"fmt"
)

// Holder is a Driver that can hold a directory open. It is optional. A backend leaves it out where
// no other program can rename directories; then a directory and its path are the same.
type Holder interface {
	// Hold returns the directory dir as a store of its own, whose keys are relative to dir. It
	// stays that directory when it is renamed, whatever program does that: all that is read and
	// written goes with it. Once the directory is removed, nothing is found in it, and what is to
	// be written to it is fs.ErrNotExist: it is never recreated. A missing dir is fs.ErrNotExist,
	// and so is an object. A link at dir, or on the way to it, is ErrThroughLink. The result is an
	// io.Closer, whose Close ends the use of the directory.
	Hold(ctx context.Context, dir string) (Driver, error)
}

// Hold returns a Store that is the directory now found at dir. The Store stays with that directory
// when the directory is renamed; see Holder. The Store takes only keys written as if the directory
// were at as; as is mostly dir. Close it.
//
// Below a held directory, directories are made as they are needed, but the held directory itself is
// never made. So a writer that begins with Hold cannot recreate a directory after another program
// has renamed or removed it.
func (s *Store) Hold(ctx context.Context, dir, as string) (*Store, error) {
	rel, err := s.dir(dir)
	if err != nil {
		return nil, annotate("open", dir, err)
	}
	h, ok := s.driver.(Holder)
	switch {
	case (!ok || rel == "") && dir == as:
		return &Store{Reader: s.Reader, name: s.name, traits: s.traits, shared: true}, nil
	case !ok:
		return nil, annotate("open", dir, fmt.Errorf("it cannot be held as %q: %w", as,
			errors.ErrUnsupported))
	}
	d, err := h.Hold(ctx, rel)
	if err != nil {
		return nil, annotate("open", dir, err)
	}
	return newStore(keyspace{d, as}, s.name), nil
}

// Pruner is a Driver whose directories are there also when they are empty. It is optional.
type Pruner interface {
	// Prune removes dir and all directories below it, as far as they hold no object.
	Prune(ctx context.Context, dir string) error
}

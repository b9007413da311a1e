package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// Hold returns a Store that is the directory dir as it is found now, and stays with it when it is
// renamed; see Holder. The keys that it takes are written as if the directory were at as, which
// mostly is dir, and it takes no other ones. Close it.
//
// Below a directory that is held, directories are made as they are needed, but never the directory
// itself. So a writer that begins with Hold cannot make a directory again that another program has
// renamed or removed meanwhile.
func (s *Store) Hold(ctx context.Context, dir, as string) (*Store, error) {
	rel, err := s.relativeDir(dir)
	if err != nil {
		return nil, annotate("open", dir, err)
	}
	h, ok := s.driver.(Holder)
	switch {
	case (!ok || rel == "") && dir == as:
		return &Store{driver: s.driver, name: s.name, within: s.within, shared: true}, nil
	case !ok:
		return nil, annotate("open", dir, fmt.Errorf("it cannot be held as %q: %w", as,
			errors.ErrUnsupported))
	}
	d, err := h.Hold(ctx, rel)
	if err != nil {
		return nil, annotate("open", dir, err)
	}
	return &Store{driver: d, name: s.name, within: as}, nil
}

// Identity tells the directory dir from one that is recreated in its place, as Identifier.Identity
// does. In a store that cannot tell them apart it is "".
func (s *Store) Identity(ctx context.Context, dir string) (identity string, err error) {
	i, ok := s.driver.(Identifier)
	if !ok {
		return "", nil
	}
	rel, err := s.relativeDir(dir)
	if err == nil {
		identity, err = i.Identity(ctx, rel)
	}
	return identity, annotate("stat", dir, err)
}

// AreDifferent reports whether two identities are certain to be those of different directories.
func AreDifferent(a, b string) bool { return a != "" && b != "" && a != b }

// relative returns what the driver knows the key of an object as.
func (s *Store) relative(key string) (string, error) {
	if !ValidKey(key) {
		return "", ErrInvalidKey
	}
	if s.within == "" {
		return key, nil
	}
	rest, ok := strings.CutPrefix(key, s.within)
	if !ok || len(rest) < 2 || rest[0] != '/' {
		return "", fmt.Errorf("%w: it is not below %q, which is held", ErrInvalidKey, s.within)
	}
	return rest[1:], nil
}

// absolute returns the key that the driver knows as rel.
func (s *Store) absolute(rel string) string {
	if s.within == "" || rel == "" {
		return s.within + rel
	}
	return s.within + "/" + rel
}

// relativeDir is relative, for a key that may also be that of the directory which is the driver's
// root.
func (s *Store) relativeDir(key string) (string, error) {
	if !validDir(key) {
		return "", ErrInvalidKey
	}
	if key == s.within {
		return "", nil
	}
	return s.relative(key)
}

// Pruner is a Driver whose directories are there also when they are empty. It is optional.
type Pruner interface {
	// Prune removes dir and all directories below it, as far as they hold no object.
	Prune(ctx context.Context, dir string) error
}

// Prune removes the directory dir, and all below it, as far as they hold no object: those that were
// made for objects which are gone. Of a Store that is held it leaves the directory that is held. A
// missing dir is not an error.
func (s *Store) Prune(ctx context.Context, dir string) error {
	rel, err := s.relativeDir(dir)
	if p, ok := s.driver.(Pruner); ok && err == nil {
		err = p.Prune(ctx, rel)
	}
	return annotate("remove", dir, err)
}

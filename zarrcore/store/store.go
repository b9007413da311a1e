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
// not in memory as a whole. A condition [If] makes a replacement fail, rather than undo what another
// writer did since the object was read. [Store.Hold] is for a writer of several objects of one
// directory, which others may rename meanwhile.
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
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"
)

var (
	// ErrReadOnly is returned by all that changes a store where the backend cannot.
	ErrReadOnly = errors.New("store: read-only")

	// ErrConflict is returned where an object was changed by somebody else between reading and
	// replacing it.
	ErrConflict = errors.New("store: object was changed by another writer")

	// ErrInvalidKey is returned for a key that ValidKey refuses. It is not fs.ErrNotExist: such a
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
type Store struct {
	driver Driver
	name   string
	// keys lead below this directory, which is the driver's root; "" if it is not held
	within string
	shared bool // the driver is another Store's to close
}

// New returns the store behind d. name is shown to people: a path or URL without secrets.
func New(d Driver, name string) *Store { return &Store{driver: d, name: name} }

// Name returns the name given to New.
func (s *Store) Name() string { return s.name }

// Open opens the object at key for reading. The Object's own errors do not name the key.
func (s *Store) Open(ctx context.Context, key string) (Object, error) {
	rel, err := s.relative(key)
	if err != nil {
		return nil, annotate("open", key, err)
	}
	o, err := s.driver.Open(ctx, rel)
	if err != nil {
		return nil, annotate("open", key, err)
	}
	return o, nil
}

// Stat describes one object or directory; key "" is the root.
func (s *Store) Stat(ctx context.Context, key string) (Info, error) {
	rel, err := s.relativeDir(key)
	if err != nil {
		return Info{}, annotate("stat", key, err)
	}
	info, err := s.driver.Stat(ctx, rel)
	return info, annotate("stat", key, err)
}

// List calls yield for each direct child of dir, as Driver.List does. Entries whose names no key
// can have (a hostile server may send "..") are left out. An error of yield comes back as it is.
func (s *Store) List(ctx context.Context, dir string, yield func(Entry) error) error {
	rel, err := s.relativeDir(dir)
	if err != nil {
		return annotate("list", dir, err)
	}
	var stopped error
	err = s.driver.List(ctx, rel, func(e Entry) error {
		if !validElement(e.Name) || strings.IndexByte(e.Name, '/') >= 0 {
			return nil
		}
		stopped = yield(e)
		return stopped
	})
	if stopped != nil {
		return stopped
	}
	return annotate("list", dir, err)
}

// Survey calls yield for each direct child of dir, as List does, with what Stat says of it. Of a
// directory that may be its name alone. An object that vanishes meanwhile is left out.
func (s *Store) Survey(ctx context.Context, dir string, yield func(Entry, Info) error) error {
	sv, ok := s.driver.(Surveyor)
	if !ok {
		return s.List(ctx, dir, func(e Entry) error { return s.survey(ctx, dir, e, yield) })
	}
	rel, err := s.relativeDir(dir)
	if err != nil {
		return annotate("list", dir, err)
	}
	var stopped error
	err = sv.Survey(ctx, rel, func(e Entry, info Info) error {
		if !validElement(e.Name) || strings.IndexByte(e.Name, '/') >= 0 {
			return nil
		}
		stopped = yield(e, info)
		return stopped
	})
	if stopped != nil {
		return stopped
	}
	return annotate("list", dir, err)
}

// survey yields one child, of which only its name is known.
func (s *Store) survey(
	ctx context.Context, dir string, e Entry, yield func(Entry, Info) error,
) error {
	if e.Dir {
		return yield(e, Info{Name: e.Name, Dir: true})
	}
	key := e.Name
	if dir != "" {
		key = dir + "/" + key
	}
	info, err := s.Stat(ctx, key)
	if err != nil || info.Dir {
		return ctx.Err()
	}
	return yield(e, info)
}

// StatAlong says what Stat would of each of names in dir, and in each directory above it, but
// nothing of what is missing. An error is for the caller to ask for each by itself.
func (s *Store) StatAlong(
	ctx context.Context, dir string, names []string, tell func(dir, name string, info Info),
) error {
	d, ok := s.driver.(PathStater)
	// which a directory that is held is not
	if rel, err := s.relativeDir(dir); ok && err == nil && rel == dir {
		return d.StatAlong(ctx, dir, names, tell)
	}
	return errors.ErrUnsupported
}

// Peek reads the beginning of the object at key into p, for callers that look at a great many small
// objects. It returns how many bytes: all of them if the object has fewer than len(p).
func (s *Store) Peek(ctx context.Context, key string, p []byte) (n int, err error) {
	if d, ok := s.driver.(Peeker); ok && ValidKey(key) {
		rel, err := s.relative(key)
		if err == nil {
			n, err = d.Peek(ctx, rel, p)
		}
		return n, annotate("read", key, err)
	}
	o, err := s.OpenFor(ctx, key, Want{N: int64(len(p))})
	if err != nil {
		return 0, err
	}
	defer o.Close()
	n, err = o.ReadAt(p[:min(int64(len(p)), o.Size())], 0)
	if err == io.EOF {
		err = nil
	}
	return n, annotate("read", key, err)
}

// ReadAll returns the whole object at key, for small ones such as metadata documents. More than
// limit bytes are ErrTooLarge, and nothing is allocated for them.
func (s *Store) ReadAll(ctx context.Context, key string, limit int64) ([]byte, Info, error) {
	o, err := s.OpenFor(ctx, key, Want{N: limit})
	if err != nil {
		return nil, Info{}, err
	}
	defer o.Close()
	data, err := readAll(o, limit)
	if err != nil {
		return nil, Info{}, annotate("read", key, err)
	}
	info := o.Info()
	if owned, ok := o.(Owned); ok {
		info.Rights = owned.Rights()
	}
	return data, info, nil
}

func readAll(o Object, limit int64) ([]byte, error) {
	size := o.Size()
	if size < 0 || size > limit {
		return nil, fmt.Errorf("%w: at most %d bytes are expected, found %d", ErrTooLarge, limit,
			size)
	}
	data := make([]byte, size)
	n, err := o.ReadAt(data, 0)
	if int64(n) == size {
		return data, nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return nil, fmt.Errorf("expected %d bytes, found %d: %w", size, n, err)
}

// Stamp sets the modification time of the directory dir, in a backend that can; see Stamper. The
// zero time is now.
func (s *Store) Stamp(ctx context.Context, dir string, at time.Time) error {
	rel, err := s.relativeDir(dir)
	if d, ok := s.driver.(Stamper); ok && err == nil {
		err = d.Stamp(ctx, rel, at)
	}
	return annotate("stamp", dir, err)
}

// Refresh makes the backend forget what it remembers of dir and below; see Refresher.
func (s *Store) Refresh(dir string) {
	if r, ok := s.driver.(Refresher); ok && s.within == "" {
		r.Refresh(dir)
	}
}

// Close releases what the backend holds, if it holds anything. Objects that are open stay usable.
func (s *Store) Close() error {
	if c, ok := s.driver.(io.Closer); ok && !s.shared {
		return annotate("close", s.name, c.Close())
	}
	return nil
}

// annotate names the operation and the key in err, the one place where that is done.
func annotate(op, key string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: key, Err: err}
}

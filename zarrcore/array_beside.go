package zarrcore

import (
	"context"
	"errors"
	iofs "io/fs"
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Supplant puts the array at beside in the place of the one at path. It is a copy of that array,
// and was made since copied was its fingerprint. Programs that have the array open go on with the
// copy. If the array has changed meanwhile, that is ErrOutdated, and nothing is done.
func (h *changes) Supplant(ctx context.Context, beside, path, copied string) error {
	defer h.describing.Lock(path)()
	if err := h.rename(ctx, beside, path, true, copied); err != nil {
		return &Error{Op: "replace", Path: path, Err: err}
	}
	return nil
}

// A Beside is an array that is made beside another one, to take its place. It follows renames of
// the groups above it.
type Beside struct {
	h    *changes
	path string // "" once it is renamed itself, or removed; guarded by besides.mu
}

// besides are the arrays that are beside another one. Its lock is held over nothing that waits.
type besides struct {
	mu  sync.Mutex
	all map[*Beside]struct{}
}

// add adds b.
func (s *besides) add(b *Beside) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[b] = struct{}{}
}

// end notes that arrays are not beside others any more.
func (s *besides) end(ends func(*Beside) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for b := range s.all {
		if ends(b) {
			b.path = ""
			delete(s.all, b)
		}
	}
}

// move lets arrays beside others follow a rename of a group above them.
func (s *besides) move(from, to string) {
	s.end(func(b *Beside) bool {
		if path, ok := store.Moved(b.path, from, to); ok {
			b.path = path
		}
		return b.path == to
	})
}

// Path returns where the array is now, "" if it is not beside another one any more.
func (b *Beside) Path() string {
	b.h.beside.mu.Lock()
	defer b.h.beside.mu.Unlock()
	return b.path
}

// Remove removes the array, wherever it is, unless it has got another name.
func (b *Beside) Remove(ctx context.Context) error {
	for {
		path := b.Path()
		if path == "" {
			return nil
		}
		err := b.h.Remove(ctx, path)
		if b.Path() != path { // a rename was faster, or it is removed
			continue
		}
		b.h.beside.end(func(other *Beside) bool { return other == b })
		return err
	}
}

// CreateBeside is CreateFromDocument under a name of its own, in the same group as path, for an
// array that fill gives its content. It has the rights of the one at path. Listings leave it out
// until Rename gives it another name. If the process dies before that, the array is removed when
// the store is next opened for writing. If fill fails, it is removed at once.
func (h *creation) CreateBeside(
	ctx context.Context, path string, doc []byte, fill func(beside string) error,
) (beside *Beside, err error) {
	for i := range besideTries {
		beside = &Beside{h: h.changes, path: catalog.Beside(path, i)}
		if err = h.createFilled(ctx, beside, path, doc, fill); !errors.Is(err, iofs.ErrExist) {
			break
		}
	}
	return beside, err
}

// besideTries is how many names are tried: others may be taken.
const besideTries = 100

// createFilled creates an array that is marked as unfinished until it is renamed. It has the rights
// of the one at like.
func (h *creation) createFilled(
	ctx context.Context, beside *Beside, like string, doc []byte, fill func(path string) error,
) error {
	path := beside.path
	mark, forget, err := h.store.Unfinished().Note(ctx, path)
	if err != nil {
		return &Error{Op: "create", Path: path, Err: err}
	}
	var marks []meta.Document
	if mark != nil {
		marks = append(marks, meta.Document{Name: store.UnfinishedMark, Data: mark})
	}
	h.beside.add(beside)
	if err := h.createLike(ctx, path, like, doc, marks...); err != nil {
		h.beside.end(func(other *Beside) bool { return other == beside })
		forget()
		return err
	}
	if err := fill(path); err != nil {
		return errors.Join(err, beside.Remove(context.WithoutCancel(ctx)))
	}
	return nil
}

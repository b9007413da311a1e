package live

import (
	"context"
	"errors"
	"fmt"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/unstored"
)

// This file is about the document of an array while the array is stored. A flush checks that the
// document still describes the array that was written to. It stores the length in the document
// after the objects.

// maxConflicts is how often another program may replace a document that is being replaced.
const maxConflicts = 100

// reconcile makes sure that the array is still the one that the draft was made
// of. Other attributes do not matter, and rows that others have appended are taken
// in; another layout is a conflict. The caller has found the array's home.
func (s *storer) reconcile(ctx context.Context) error {
	if err := s.refused(); err != nil {
		return err
	}
	for {
		s.home.Look(ctx)
		known := s.h.open.version(s.draft)
		n, err := s.home.Node(ctx)
		if err != nil {
			return err
		}
		taken := n.Version == known
		if !taken {
			taken, err = s.takeIn(n, known)
		}
		if err != nil {
			return err
		}
		if taken {
			return s.checkAhead(ctx)
		}
	}
}

// takeIn lets the draft be of the array as n describes it. The version known was that of the
// draft's document before n was read. If the draft's document has another version by now, takeIn
// reports false, because this version may be newer than n.
func (s *storer) takeIn(n *catalog.Node, known string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.h.open.version(s.draft) != known {
		return false, nil
	}
	if n.Kind == catalog.DirectoryNode {
		return false, fmt.Errorf("%w: its document is not there", catalog.ErrOrphan)
	}
	switch {
	case n.Kind != catalog.ArrayNode || n.Err != nil:
	case s.matches(n.Meta) || s.join(n.Meta):
		s.h.open.found(s.draft, n)
		s.ahead.IsDoubtful.Store(true)
		return true, nil
	case s.isShorter(s.live.Load().gen, n.Meta):
		return false, &unstored.TruncatedError{Had: s.rows.Load(), Has: n.Meta.Shape[0]}
	}
	return false, fmt.Errorf("%w: its document was replaced by another", catalog.ErrOrphan)
}

// putShape stores the length of axis 0, which was before when the objects were
// stored. Where another program makes the array longer meanwhile, that is taken in
// first, and may make it needless. A truncation has to be done again then.
func (s *storer) putShape(ctx context.Context, before, rows int64) error {
	for tries := 0; ; tries++ {
		now := s.rows.Load()
		switch {
		case now != before && rows < before:
			return errOvertaken
		case now != before && rows <= now:
			return nil
		}
		err := s.putRows(ctx, now, rows)
		if !errors.Is(err, store.ErrConflict) || tries == maxConflicts {
			return err
		}
		if rows < before {
			return errOvertaken
		}
		if err := s.reconcile(ctx); err != nil {
			return err
		}
	}
}

// putRows stores the length of axis 0, unless the stored one is not before.
func (s *storer) putRows(ctx context.Context, before, rows int64) error {
	s.reshaping.Lock()
	defer s.reshaping.Unlock()
	a := s.live.Load()
	key, doc, cond, err := s.home.Reshaped(ctx, meta.ShapeOfRows(a.gen.Meta.Shape, before),
		meta.ShapeOfRows(a.gen.Meta.Shape, rows))
	if err != nil {
		return err
	}
	if err := s.h.of.Catalog.DropConsolidated(ctx, s.path); err != nil {
		return err
	}
	if _, err := catalog.ReplaceIn(ctx, s.home.Store, key, doc, cond); err != nil {
		return err
	}
	s.rows.Store(rows) // whatever fails from here on, that is stored
	s.h.of.Durable.Note(s.path, key)
	n, err := s.home.Array(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.matches(n.Meta) { // otherwise another program has replaced it since
		s.h.open.found(s.draft, n)
	}
	return nil
}

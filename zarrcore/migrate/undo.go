package migrate

import (
	"context"
	"fmt"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Reverse plans to take back the last migration of the node at path. Documents that were changed or
// made since stand against it.
func Reverse(
	ctx context.Context, h *zarrcore.Hierarchy, st *store.Store, path string,
) (*Reversal, error) {
	j, err := readJournal(ctx, st, path)
	if err != nil {
		return nil, err
	}
	s := j.last()
	if s == nil {
		return nil, fmt.Errorf("%w: there is no %s", ErrNothing, below(path, JournalName))
	}
	r := &Reversal{Plan: Plan{Path: path, From: s.To, To: s.From, Arrays: s.Arrays,
		Groups: s.Groups, kept: s.Kept, journal: j}}
	for _, c := range s.Changes {
		r.Changes = append(r.Changes, Change{Key: c.Key, Old: c.New, New: c.Old})
	}
	if err := compare(ctx, st, r.Changes, true); err != nil {
		return nil, err
	}
	return r, r.checkNew(ctx, h)
}

// A Reversal is a plan to take a migration back.
type Reversal struct{ Plan }

// Apply carries it out. If it is interrupted, it can be planned and applied again.
func (r *Reversal) Apply(ctx context.Context, st *store.Store) error {
	j := r.journal
	if s := j.last(); s.Complete { // what comes now is to be seen as interrupted
		s.Complete = false
		if err := j.write(ctx, st); err != nil {
			return err
		}
	}
	if err := carryOut(ctx, st, r.Changes); err != nil {
		return err
	}
	j.Steps = j.Steps[:len(j.Steps)-1]
	return j.write(ctx, st)
}

// checkNew refuses to go back where nodes of the later format were made since: a group of the
// earlier one would not show them.
func (r *Reversal) checkNew(ctx context.Context, h *zarrcore.Hierarchy) error {
	known := map[string]bool{}
	for _, c := range r.Changes {
		known[c.Key[:max(strings.LastIndexByte(c.Key, '/'), 0)]] = true
	}
	for _, path := range r.kept {
		known[path] = true
	}
	return walk(ctx, h, r.Path, func(n *zarrcore.Node) error {
		if n.Kind == zarrcore.DirectoryNode || n.Format != r.From || known[n.Path] {
			return nil
		}
		return &NodeError{n.Path, fmt.Errorf("made after the migration, in format %d: %w", n.Format,
			ErrChanged)}
	})
}
